#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""The command `zarrpoint` against numpy, zarr-python and safetensors.

    run.py COMMAND FOLDER [test names]     with the Python that has the interop packages

COMMAND is the built command; FOLDER is emptied and written to. With ZARRPOINT_FIXTURES naming a
folder of more files, those are gone through as well, and counted.
"""

import os
import shutil
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(arguments):
    if len(arguments) < 2:
        print(__doc__)
        return 2
    folder = Path(arguments[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["ZARRPOINT_CLI"] = str(Path(arguments[0]).resolve())
    os.environ["ZARRPOINT_CLI_FOLDER"] = str(folder)
    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        os.environ.pop(name, None)
    sys.path.insert(0, str(HERE))
    loader = unittest.TestLoader()
    if arguments[2:]:
        tests = loader.loadTestsFromNames(arguments[2:])
    else:
        tests = loader.discover(str(HERE), pattern="test_*.py")
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(tests)
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
