#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Every data type, codec and layout, written by zarrpoint and read by each peer, and back.

    run.py BUILD_FOLDER [--update] [--only TEXT]

with the Python that has the packages of tests/interop/requirements.txt. Builds driver.cpp, which is
zarrpoint at the other end of a pipe (py/ours.py), and exchanges the arrays of py/cases.py with the
implementations of py/peers.py. What is not the same needs a rule of py/rules.py that says why, and
each rule something to explain. docs/conformance.md must say what came out: --update writes it.
--only takes the arrays whose names hold TEXT, and compares no page.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "py"))

import documents
import exchange
import extended
import ours
import report
from rules import RULES

PAGE = Path(__file__).resolve().parents[2] / "docs/conformance.md"
SHOWN = 40


def unexplained(outcomes):
    return [o for o in outcomes if o.state != exchange.SAME and o.rule is None]


def unused(outcomes):
    used = {o.rule for o in outcomes}
    return [rule for number, rule in enumerate(RULES) if number not in used]


def check_page(outcomes, rows, update):
    """Whether the page says what came out."""
    old = PAGE.read_text(encoding="utf-8")
    before, rest = old.split(report.BEGIN)
    new = before + report.page(outcomes, rows) + rest.split(report.END)[1]
    if update:
        PAGE.write_text(new, encoding="utf-8")
    elif new != old:
        print("docs/conformance.md is out of date: run.py --update writes it")
        return False
    return True


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--update", action="store_true")
    arguments.add_argument("--only", default="")
    arguments = arguments.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder / "arrays", ignore_errors=True)
    (folder / "arrays").mkdir(parents=True)
    driver = ours.build(folder)
    outcomes = exchange.run(driver, folder / "arrays", min(os.cpu_count() or 1, 8), arguments.only)
    good = bool(outcomes)
    for o in unexplained(outcomes)[:SHOWN]:
        print(f"{o.peer}, {o.direction}: {o.case.name}: {o.state}: {o.detail}")
    for rule in [] if arguments.only else unused(outcomes):
        print(f"a rule that explains nothing: {', '.join(rule.peers)}: {rule.why}")
        good = False
    print(f"{len(outcomes)} exchanges, {len(unexplained(outcomes))} without an explanation")
    good = good and not unexplained(outcomes)
    if not arguments.only:
        rows, wrong = documents.results(ours.Ours(driver), folder / "arrays")
        print("\n".join([f"{len(rows)} unusual documents, {len(wrong)} not as expected", *wrong]))
        good = check_page(outcomes, rows, arguments.update) and good and not wrong
        grown, wrong = extended.results(ours.Ours(driver), folder / "arrays")
        print("\n".join([f"{grown} writes have let a shard grow, {len(wrong)} runs not as expected", *wrong]))
        good = good and not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
