#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps turns of phrase that are hard to read out of comments, messages and pages.

    check_english.py [repository root]      prints one line per breach; exit status 1 if there is one
    check_english.py --self-test            shows that each rule catches its breach

The golden files, which others wrote, are left out, and so is this file.
"""

import re
import sys
import tempfile
from pathlib import Path

PLACES = ("include", "tools", "tests", "docs", "examples", "bench", "README.md")
KINDS = {".hpp", ".cpp", ".cuh", ".cu", ".py", ".sh", ".md", ".txt", ".cmake", ".yml"}
LEFT_OUT = ("tests/golden/", "tests/tools/check_english.py")
COMPARED = "longer|more|less|fewer|larger|smaller|greater|shorter|faster|slower|later|earlier|worse|better"
RULES = [  # pattern, what to write instead
    (rf"(?<!\bthere )(?<!\bthere can )(?<!\bthere need )(?<!\bthere may )\b(?:is|are|be) no (?!(?:{COMPARED})\b)(?=[a-z])", '"is not a"'),
    (r"\bwhoever\b", '"the one that", "no matter who"'),
    (r"\b(?:for|by) who\b", '"for callers that"'),
    (r"\bbe it\b", '"even if"'),
    (r"\b(?:is|are) meant\b", '"expected", or what it is'),
    (r"\bstands? twice\b", '"is there twice"'),
    (r"\bhas not the\b", '"does not have the"'),
]
COMPILED = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in RULES]
MARGIN = re.compile(r"\n[ \t]*(?:///?|#|\*)?[ \t]*")  # the end of a line, and what a comment's next begins with


def breaches(text):
    """(line number, what stands there, what to write) of each breach; sentences go on over lines."""
    starts, joined = [], []
    for line in MARGIN.split(text):
        starts.append(sum(map(len, joined)) + len(joined))
        joined.append(line)
    flat = " ".join(joined)
    for pattern, instead in COMPILED:
        for found in pattern.finditer(flat):
            number = sum(start <= found.start() for start in starts)
            yield number, flat[found.start() : found.end() + 12], instead


def check(root):
    errors = []
    for place in PLACES:
        files = [root / place] if (root / place).is_file() else sorted((root / place).rglob("*"))
        for path in files:
            name = path.relative_to(root).as_posix()
            if path.suffix in KINDS and path.is_file() and not name.startswith(LEFT_OUT):
                for number, words, instead in breaches(path.read_text(encoding="utf-8")):
                    errors.append(f'{name}:{number}: "{words.strip()}": write {instead}')
    return errors


# ------------------------------------------------------------------------------------ self-test

GOOD = (
    "// There is no file; it is no longer here, and is no more than that.\n/// Where there\n/// are no chunks, there can be no fault. "
    "It is not a key. This has not been done.\n"
)
BAD = ["x\n// It is no key.", "/// Names that are\n/// no keys.", "It may be no text.", "For whoever waits", "not for who moves them",
       "by who wrote it", "a value, be it one", '"GLOB is meant"', "it stands twice", "zarr has not\nthe codec"]  # fmt: skip


def self_test():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docs/a.md")
        path.parent.mkdir()
        path.write_text(GOOD, encoding="utf-8")
        if errors := check(Path(folder)):
            failures.append(f"good text was refused: {errors}")
        for text in BAD:
            path.write_text(text, encoding="utf-8")
            if len(check(Path(folder))) != 1:
                failures.append(f"{text}: expected one error, got {check(Path(folder))}")
    if [number for number, _, _ in breaches("a\n\nb be it\n")] != [3]:
        failures.append("the line is not told")
    return failures


def main(arguments):
    if "--self-test" in arguments:
        failures = self_test()
        print("\n".join(failures) or f"check_english: {len(BAD) + 2} self-tests passed")
    else:
        failures = check(Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve())
        for line in failures:
            print(f"error: {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
