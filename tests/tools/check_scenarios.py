#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/scenarios.md and the tests together.

    check_scenarios.py            prints what does not fit; exit status 1 if there is anything
    check_scenarios.py --update   writes the files with tests of each scenario into the page

A test case carries scenarios when its name begins with their IDs: "SER-1, SER-2: ...". Every row
that is not `none` must have a test, and every ID in a test's name a row.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scenarios.md"
ROW = re.compile(r"^\| ([A-Z0-9]+-[0-9.]+|TOK) \| ([a-z, ]+) \| (.*?) \| (.*?) ?\|$")
CASE = re.compile(r'(?:TEST_CASE(?:_TEMPLATE)?|SUBCASE)\(\s*"((?:[^"\\]|\\.)*)"')
ID = re.compile(r"[A-Z]+[0-9]*-[0-9]+")
PREFIX = re.compile(rf"({ID.pattern}(?:, {ID.pattern})*)\b[^:]*:")


def tests_of_scenarios():
    """ID -> the names of the files with test cases that carry it."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("*_test.cpp")):
        for case in CASE.findall(path.read_text(encoding="utf-8")):
            start = PREFIX.match(case)
            for name in ID.findall(start[1]) if start else []:
                found.setdefault(name, set()).add(path.name.removesuffix("_test.cpp"))
    return found


def main(arguments):
    if arguments not in ([], ["--update"]):
        print(__doc__)
        return 2
    found = tests_of_scenarios()
    lines, problems, rows = [], [], {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if not row:
            lines.append(line)
            continue
        name, kind, text, stated = row.groups()
        rows[name] = kind
        files = ", ".join(sorted(found.get(name, ())))
        lines.append(f"| {name} | {kind} | {text} | {files} |")
        if kind != "none" and not files:
            problems.append(f"{name}: no test carries it")
        elif kind == "none" and files:
            problems.append(f"{name}: not ported, and yet tested by {files}")
        elif not arguments and stated != files:
            problems.append(f"{name}: the page says '{stated}', the tests are '{files}': --update")
    problems += [f"{name}: in the name of a test, and not in the page" for name in sorted(found)
                 if name not in rows]  # fmt: skip
    if len(rows) < 80:
        problems.append(f"only {len(rows)} rows in {PAGE.name}")
    if arguments:
        PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print("\n".join(problems) or f"{len(rows)} scenarios, all but those marked none with tests")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
