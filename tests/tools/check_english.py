#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps turns of phrase that are hard to read out of comments, messages and pages.

    check_english.py [repository root]      prints one line per breach; exit status 1 if there is one
    check_english.py --self-test            shows that each rule catches its breach
    check_english.py --page FILE...         holds these pages to the rules of PAGES: for a page that is rewritten

The comments of headers, and of the command, have sentences of at most 30 words, too. Their tables and lists, which are
indented, are left out. In a sentence that begins with "Errors" each item, up to a semicolon, counts by itself.

The golden files, which others wrote, are left out, and so is this file.

Each page of PAGES is held to two more rules. A sentence has at most 30 words, where `code` counts as one word.
A line has at most 120 columns, but for what a program prints (blocks without a language); of a row of a table that
holds for each cell, without the targets of its links. A page that is rewritten gets its line there. In pages of
PROSE, which are for reference, blocks of code and rows of tables may be wider: they have what is printed, and figures.
"""

import re
import sys
import tempfile
from pathlib import Path

PLACES = ("include", "tools", "tests", "docs", "examples", "bench", ".github", "README.md")
KINDS = {".hpp", ".cpp", ".cuh", ".cu", ".py", ".sh", ".md", ".txt", ".cmake", ".yml"}
PAGES = (  # those that are rewritten, a line each
    ".github/CONTRIBUTING.md",
    ".github/SECURITY.md",
    "README.md",
    "docs/contributing.md",
    "docs/guide.md",
    "docs/quickstart.md",
    "docs/training.md",
    "docs/write_a_store.md",
)
PROSE = tuple(f"docs/{name}.md" for name in (
    "arrays benchmarks benchmarks-log casts cli codecs data_types deltas design devices distributed embedding errors format formats gcs "
    "handlers hierarchy index install known-issues migration orbax performance platforms reliability remote s3 scenarios "
    "stores torch tutorial versions weights"
).split())  # fmt: skip
MOST_WORDS, MOST_COLUMNS = 30, 120
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


def without_marks(text):
    """The words of a page's text: links are what they show, code is one word."""
    text = re.sub(r"`[^`]+`", "`code`", text)
    return re.sub(r"!?\[([^\]]*)\]\([^()\s]+\)", r"\1", text)


def cells_of(row):
    """The texts between the bars of a row, but for bars in code."""
    return [cell.strip() for cell in re.split(r"\|(?=(?:[^`]*`[^`]*`)*[^`]*$)", row.strip().strip("|"))]


def paragraphs(text):
    """(line number, text) of each paragraph, item of a list, heading and cell of a table, without code blocks."""
    begun, lines, fence = 0, [], None
    for number, line in enumerate([*text.split("\n"), ""], 1):
        mark = re.match(r"\s*(`{3,})", line)
        is_item = re.match(r"\s*(?:[-*]|\d+\.) ", line)
        is_row, is_heading = line.startswith("|"), line.startswith("#")
        if lines and (mark or is_item or is_row or is_heading or not line.strip()):
            yield begun, " ".join(lines)
            lines = []
        if mark and fence in (None, mark[1]):
            fence = mark[1] if fence is None else None
        elif fence is None and (is_row or is_heading):
            for cell in cells_of(line) if is_row else [line.strip("# ")]:
                yield number, cell
        elif fence is None and line.strip():
            begun = begun if lines else number
            lines.append(re.sub(r"^\s*(?:(?:[-*]|\d+\.) )?\s*", "", line))


def without_wide(text):
    """The same lines, but those of blocks of code and rows of tables are empty."""
    fenced, out = False, []
    for line in text.split("\n"):
        is_mark = line.lstrip().startswith("```")
        out.append("" if fenced or is_mark or line.startswith("|") else line)
        fenced ^= is_mark
    return out


def page_breaches(text, is_prose=False):
    """(line number, what is wrong) of a page of PAGES, or of PROSE."""
    fence = None  # of the block that a line is in; one without a language is what a program prints
    for number, line in enumerate(without_wide(text) if is_prose else text.split("\n"), 1):
        if line.startswith("```"):
            fence = line if fence is None else None
        parts = [re.sub(r"\]\([^()\s]+\)", "]", cell) for cell in cells_of(line)] if line.startswith("|") else [line]
        if (columns := max(map(len, parts))) > MOST_COLUMNS and fence != "```":
            yield number, f"{columns} columns: at most {MOST_COLUMNS} in a line, or in a cell of a table"
    yield from long_sentences(text)


def long_sentences(text):
    """(line number, what is wrong) of each sentence that is too long."""
    for number, paragraph in paragraphs(text):
        for sentence in re.split(r"(?<=[.!?])[\"*)]* +(?=[A-Z`\"*(\d])", without_marks(paragraph)):
            items = sentence.split("; ") if sentence.startswith("Errors") else [sentence]
            words = max(([word for word in item.split() if re.search(r"\w", word)] for item in items), key=len)
            if len(words) > MOST_WORDS:
                yield number, f'a sentence of {len(words)} words, at most {MOST_WORDS}: "{" ".join(words[:6])} ..."'


def comments_of(text):
    """The comments of a header, on the lines where they stand; what is indented in them is left out."""
    lines = text.split("\n")
    return "\n".join(found[1] if (found := re.match(r"\s*///?<? ?((?! ).*)", line)) else "" for line in lines)


def check_pages(root, names):
    errors = []
    for name in names:
        if not (root / name).is_file():
            errors.append(f"{name}: stands in PAGES and is not there")
            continue
        for number, wrong in page_breaches((root / name).read_text(encoding="utf-8"), name in PROSE):
            errors.append(f"{name}:{number}: {wrong}")
    return errors


def check(root, pages=PAGES + PROSE):
    errors = check_pages(root, pages)
    for place in PLACES:
        files = [root / place] if (root / place).is_file() else sorted((root / place).rglob("*"))
        for path in files:
            name = path.relative_to(root).as_posix()
            if path.suffix in KINDS and path.is_file() and not name.startswith(LEFT_OUT):
                if place in ("include", "tools") and path.suffix in (".hpp", ".cpp", ".cuh", ".cu"):
                    for number, wrong in long_sentences(comments_of(path.read_text(encoding="utf-8"))):
                        errors.append(f"{name}:{number}: {wrong}")
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


FEW, MANY = "It has " + "a " * 27 + "word", "It has " + "a " * 28 + "word"  # of 30 and 31 words
GOOD_PAGES = [
    f"# Head\n\n{FEW}.\n{FEW}:\n\n- {FEW}\n- {FEW}\n1. {FEW}\n", f"| {FEW} | {FEW}. |", f"```sh\n{MANY}\n```",
    f"It has `{MANY}` here.", f"[{FEW}](b)", "x" * 120, f"| [a]({'x' * 120}) | b |", f"| {'x' * 100} | {'x' * 100} |",
    f"```\n{'x' * 121}\n```", f"{FEW}\n# {FEW}\n{FEW}", f"\"{FEW}.\"\n{FEW}.",
]  # fmt: skip
BAD_PAGES = [  # and the line that is told
    (f"a\n\n{MANY}.", 3), (f"It has `one`, and\n{FEW}", 1), (f"- {MANY}", 1), (f"| a | {MANY} |", 1), ("\n" + "x" * 121, 2),
    (f"| {'x' * 121} |", 1), (f"```\n```\n```sh\n{'x' * 121}\n```", 4), (f"- a\n- b\n{FEW}\n", 2), (f"a. [it {FEW}](b)", 1),
]  # fmt: skip


def page_failures():
    failures = [f"{text}: {list(page_breaches(text))}" for text in GOOD_PAGES if list(page_breaches(text))]
    if list(page_breaches(f"```\n{'x' * 121}\n```\n| {'x' * 121} |", is_prose=True)):
        failures.append("a page of PROSE is refused for what is wide in it")
    if len(list(page_breaches(f"{'x' * 121}\n\n{MANY}", is_prose=True))) != 2:
        failures.append("a page of PROSE is not held to the rules")
    for text, line in BAD_PAGES:
        if [number for number, _ in page_breaches(text)] != [line]:
            failures.append(f"{text}: expected one error on line {line}, got {list(page_breaches(text))}")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.md").write_text(MANY, encoding="utf-8")
        if len(check(Path(folder), ("a.md", "b.md"))) != 2:
            failures.append("a page of the list is not held to its rules, or a lost one not told")
    return failures


def self_test():
    failures = page_failures()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docs/a.md")
        path.parent.mkdir()
        path.write_text(GOOD, encoding="utf-8")
        if errors := check(Path(folder), ()):
            failures.append(f"good text was refused: {errors}")
        for text in BAD:
            path.write_text(text, encoding="utf-8")
            if len(errors := check(Path(folder), ())) != 1:
                failures.append(f"{text}: expected one error, got {errors}")
    header = f"// One.\n#pragma once\n\n// {MANY}.\n//   - {MANY}\n\nint a;  // {MANY}.\n  /// {MANY}.\n\n// Errors: {FEW[7:]}; {FEW}.\n"
    if [number for number, _ in long_sentences(comments_of(header))] != [4, 8]:
        failures.append("the comments of a header are not held to their rule, or more than those are")
    if [number for number, _, _ in breaches("a\n\nb be it\n")] != [3]:
        failures.append("the line is not told")
    return failures


def main(arguments):
    if "--self-test" in arguments:
        failures = self_test()
        tests = len(BAD) + len(GOOD_PAGES) + len(BAD_PAGES) + 4
        print("\n".join(failures) or f"check_english: {tests} self-tests passed")
    elif arguments[:1] == ["--page"]:
        failures = check_pages(Path.cwd(), arguments[1:])
        print("\n".join(failures) or f"{len(arguments) - 1} pages are as they should be")
    else:
        failures = check(Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve())
        for line in failures:
            print(f"error: {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
