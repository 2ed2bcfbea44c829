#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles headers alone, so that each brings what it uses, and tests; makes no code.

    check_syntax.py WHAT COMPILER [flags...]    e.g. check_syntax.py headers,checkpoint g++ -O1

WHAT is a list of `headers` (all of them), `tests` (all) and names of folders of tests.

Prints what the compiler said about those that failed; exit status 1 if there is one.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Werror"]


def failure(command, name, source=None):
    """Runs `command` on `source` or on nothing; returns what the compiler said if it failed."""
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{name}:\n{done.stderr}"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__)
        return 2
    what, *arguments = arguments
    what = what.split(",")
    include, tests = ROOT / "include", ROOT / "tests"
    command = [*arguments, "-std=c++20", *WARNINGS, f"-I{include}", f"-I{tests}", "-fsyntax-only"]
    # doctest asks for this where there are no exceptions.
    command += ["-DDOCTEST_CONFIG_NO_EXCEPTIONS_BUT_WITH_ALL_ASSERTS"]
    command += [f'-DZARRPOINT_TEST_GOLDEN="{tests}/golden"']
    jobs = []
    for path in sorted(include.rglob("*.hpp") if "headers" in what else []):
        header = path.relative_to(include).as_posix()
        jobs.append(([*command, "-xc++", "-"], header, f"#include <{header}>\n" * 2))
    for path in sorted(tests.rglob("*_test.cpp")):
        if "tests" not in what and path.relative_to(tests).parts[0] not in what:
            continue
        jobs.append(([*command, str(path)], path.relative_to(ROOT).as_posix()))
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        failures = [text for text in workers.map(lambda job: failure(*job), jobs) if text]
    print("\n".join(failures) or f"{len(jobs)} headers and tests compile")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
