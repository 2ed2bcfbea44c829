#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the first C++ program of README.md, so that it keeps its promise.

    extract_readme.py BUILD_FOLDER [compiler flags...]
    extract_readme.py --program FILE     only writes it, for those who build it in other ways

The program is built as the README says, with the include folder and zstd and nothing else, and run
in an empty folder. Exit status 1 when there is none, or it does not compile, or it fails.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(arguments):
    if not arguments or arguments[0] == "--program" and len(arguments) != 2:
        print(__doc__)
        return 2
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    program = re.search(r"^```cpp\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    if program is None:
        print("README.md has no ```cpp block")
        return 1
    if arguments[0] == "--program":
        Path(arguments[1]).write_text(program[1], encoding="utf-8")
        return 0
    build = Path(arguments[0]).resolve()
    shutil.rmtree(build, ignore_errors=True)
    (build / "run").mkdir(parents=True)
    source, binary = build / "readme.cpp", build / "readme"
    source.write_text(program[1], encoding="utf-8")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", *arguments[1:]]
    compiled = subprocess.run(
        ["g++", *flags, "-I", "include", source, "-lzstd", "-o", binary], cwd=ROOT, check=False
    )
    return compiled.returncode or subprocess.run([binary], cwd=build / "run", check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
