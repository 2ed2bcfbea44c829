#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Tests what the compiler says of wrong programs.

Each tests/compile_fail/*.cpp is compiled twice by $CXX (g++ if unset): with -DZP_OK it must pass, so
that it fails for the reason it is about; without, it must fail, the first error must contain the
text of its first `// EXPECT: ` line, and the whole output those of the others, but no text of a
`// REFUSE: ` line. Of `// EXPECT(1): `, `// EXPECT(2): ` each is a case, compiled with -DZP_CASE=1 and so on.

    compile_fail.py [file...]
    compile_fail.py --self-test           shows that each way to be wrong is noticed
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CXX", "g++").split()
FLAGS = ["-std=c++20", "-DZARRPOINT_COMPILED", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"]
EXPECT = re.compile(r"^// EXPECT(?:\((\d+)\))?: (.+)$", re.MULTILINE)
REFUSE = re.compile(r"^// REFUSE: (.+)$", re.MULTILINE)


def compile_file(path, *flags):
    """(whether it compiled, what the compiler said)"""
    command = [*COMPILER, *FLAGS, *flags, str(path)]
    # A message in another language would not be found.
    run = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False
    )
    return run.returncode == 0, run.stdout + run.stderr


def check(path):
    """What is wrong with the test, or None."""
    text = Path(path).read_text(encoding="utf-8")
    cases = {}
    for case, expected in EXPECT.findall(text):
        cases.setdefault(case, []).append(expected)
    if not cases:
        return "has no line '// EXPECT: text'"
    passed, output = compile_file(path, "-DZP_OK", *(["-DZP_CASE=0"] if "" not in cases else []))
    if not passed:
        return f"does not compile with -DZP_OK:\n{output}"
    for case, expected in cases.items():
        if problem := check_case(path, case, expected, REFUSE.findall(text)):
            return f"case {case}: {problem}" if case else problem
    return None


def check_case(path, case, expected, refused):
    """What is wrong with one case of a test, or None."""
    passed, output = compile_file(path, *([f"-DZP_CASE={case}"] if case else []))
    if passed:
        return "compiles, but should not"
    first = next((line for line in output.splitlines() if "error:" in line), "")
    if expected[0] not in first:
        return f"the first error is not '{expected[0]}':\n{output}"
    for text in expected[1:]:
        if text not in output:
            return f"the compiler does not say '{text}':\n{output}"
    for text in refused:
        if text in output:
            return f"the compiler says '{text}':\n{output}"
    return None


def run(paths):
    """The number of failures."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(check, paths))
    for path, problem in zip(paths, problems):
        if problem:
            print(f"error: {path}: {problem}")
    return sum(problem is not None for problem in problems)


SELF_TESTS = [
    ("int f();\n", "has no line"),
    ('// EXPECT: no\nstatic_assert(false, "no");\n', "with -DZP_OK"),
    ("// EXPECT: no\nint f();\n", "should not"),
    ('// EXPECT: x\n#ifndef ZP_OK\nstatic_assert(false, "no");\n#endif\n', "first error"),
    ('// EXPECT: no\n// EXPECT: why\n#ifndef ZP_OK\nstatic_assert(false, "no");\n#endif\n', "'why'"),
    ('// EXPECT: no\n#ifndef ZP_OK\nstatic_assert(false, "no");\n#endif\n', None),
    ('// EXPECT: no\n// REFUSE: no\n#ifndef ZP_OK\nstatic_assert(false, "no");\n#endif\n', "says 'no'"),
    ('// EXPECT(1): no\n#if ZP_CASE\nstatic_assert(false, "no");\n#endif\n', None),
    ('// EXPECT(1): no\n// EXPECT(2): no\nstatic_assert(ZP_CASE != 1, "no");\n', "case 2: compiles"),
]


def self_test():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "test.cpp")
        for text, expected in SELF_TESTS:
            path.write_text(text, encoding="utf-8")
            problem = check(path)
            if (problem is None) != (expected is None) or (expected and expected not in problem):
                print(f"error: expected '{expected}', got '{problem}' of:\n{text}")
                failures += 1
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        failures, count = self_test(), len(SELF_TESTS)
    else:
        paths = [Path(a) for a in arguments] or sorted((ROOT / "tests/compile_fail").glob("*.cpp"))
        failures, count = run(paths), len(paths)
    print(f"compile_fail: {count - failures} of {count} passed with {' '.join(COMPILER)}")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
