#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the tables of docs/guide.md and docs/errors.md and the headers together.

    check_tables.py                prints what does not fit; exit status 1 if there is anything
    check_tables.py --self-test    shows that each way to be wrong is noticed

A table whose first heading is the name of a struct, as `save_options`, names all of its members, in the order of their
declaration. Where the second heading is "default", true, false, numbers and `texts` there are those of the header.

Each section of docs/errors.md ends with the files and folders that raise its kind of error: each that does is there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEMBER = re.compile(r"^[\w:<>,*&\s]+?[\s>*](\w+)\s*(?:=\s*(.*)|\{(.*)\})?$", re.DOTALL)
POWERS = {"KiB": 10, "MiB": 20, "GiB": 30}


def members_of(name, text):
    """(name, default as it is written) of each data member, or None where there is no such struct."""
    text = re.sub(r"//[^\n]*", "", text)
    begin = re.search(rf"^struct {name} \{{$", text, re.MULTILINE)
    if not begin:
        return None
    body = text[begin.end() : text.index("\n};", begin.end())]
    while (shorter := re.sub(r"\{[^{}]*\}", "{}", body)) != body and "\n" in "".join(re.findall(r"\{[^{}]*\}", body)):
        body = shorter  # bodies of functions
    found = []
    for part in body.split(";"):
        member = MEMBER.match(part.strip())
        if member and "(" not in part.split("=")[0] and "friend" not in part:
            found.append((member[1], (member[2] or member[3] or "").strip()))
    return found


def value_of(text):
    """A default as both sides say it, or None for one that is said in words."""
    text = text.strip().replace("std::size_t", "").replace("std::uint64_t", "")
    if text in ("true", "false") or re.fullmatch(r"\d+", text):
        return text
    if shift := re.fullmatch(r"\{(\d+)\} << (\d+)", text):
        return str(int(shift[1]) << int(shift[2]))
    if size := re.fullmatch(r"(\d+) ([KMG]iB)", text):
        return str(int(size[1]) << POWERS[size[2]])
    if power := re.fullmatch(r"2\^(\d+)", text):
        return str(1 << int(power[1]))
    quoted = re.fullmatch(r"\"(.*)\"|`([^`(]*)`", text)
    return quoted[1] or quoted[2] if quoted else None


def tables_of(page):
    """(struct, whether it has defaults, rows as lists of cells) of each table about a struct."""
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in block.strip().split("\n")]
        if head := re.fullmatch(r"`(\w+)`", rows[0][0].strip()):
            yield head[1], rows[0][1].strip() == "default", rows[2:]


def check(page, headers):
    errors = []
    for name, has_defaults, rows in tables_of(page):
        found = next(filter(None, (members_of(name, text) for text in headers)), None)
        if found is None:
            continue
        told = [(member, row[1]) for row in rows for member in re.findall(r"`(\w+)`", row[0])]
        if [member for member, _ in told] != [member for member, _ in found]:
            if any("()" in row[0] for row in rows):
                continue  # one with functions tells what it likes
            errors.append(f"{name}: the table has {[m for m, _ in told]}, the header {[m for m, _ in found]}")
            continue
        for (member, said), (_, default) in zip(told, found):
            if has_defaults and value_of(default) is not None and value_of(default) != value_of(said):
                errors.append(f"{name}::{member}: the table says {said}, the header {default}")
    return errors


def check_errors(page, headers):
    """`headers`: (path below include/zarrpoint, text) of each."""
    problems = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        kind = re.match(r"`(\w+)`", section)
        if not kind:
            continue
        told = re.findall(r"`([\w/.]+)`", "\n".join(re.findall(r"^\| [^|]* \| (`.*`) \|$", section, re.MULTILINE)))
        raised = rf"errc::{kind[1]}\b"
        for path, text in headers:
            code = re.sub(r"//[^\n]*", "", text)
            if re.search(raised + r"\s*,", code) and not any(path == one or path.startswith(one + "/") for one in told):
                problems.append(f"{kind[1]}: {path} raises it and is not in the table")
        by_helper = rf"{raised}|\b{kind[1]}\("
        for one in told:
            if not any((path == one or path.startswith(one + "/")) and re.search(by_helper, text) for path, text in headers):
                problems.append(f"{kind[1]}: {one} does not raise it")
    return problems


STRUCT = "struct how {\n  int a = 3;  ///< x; y\n  std::size_t b = std::size_t{2} << 20;\n  bool c = true;\n  list d{};\n};\n"
TABLE = "| `how` | default | what |\n|---|---|---|\n| `a` | 3 | x |\n| `b` | 2 MiB | x |\n| `c` | true | x |\n| `d` | none | x |\n"


def self_test():
    bad = [TABLE.replace("| 3 |", "| 4 |"), TABLE.replace("2 MiB", "2 KiB"), TABLE.replace("true", "false"),
           TABLE.replace("`d`", "`e`"), TABLE.replace("| `d` | none | x |\n", "")]  # fmt: skip
    page = "## `io`\n\n| raised by | in |\n|---|---|\n| a | `a/b.hpp` |\n| c | `c`, `d` |\n"
    raised = [(path, "return {errc::io, text};") for path in ("a/b.hpp", "c/e.hpp", "d/f.hpp")]
    if check_errors(page, raised) or not check_errors(page, raised[1:]) or not check_errors(page, [*raised, ("g.hpp", raised[0][1])]):
        return ["the pages of errors are not compared"]
    failures = [f"good tables are refused: {errors}" for errors in [check(TABLE, [STRUCT])] if errors]
    return failures + [f"not noticed: {table}" for table in bad if not check(table, [STRUCT])]


def main(arguments):
    library = ROOT / "include/zarrpoint"
    headers = [(path.relative_to(library).as_posix(), path.read_text(encoding="utf-8")) for path in sorted(library.rglob("*.[hc]*"))
               if path.suffix in (".hpp", ".cuh", ".cu")]  # fmt: skip
    guide, page = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("guide.md", "errors.md"))
    if arguments == ["--self-test"]:
        errors = self_test()
    else:
        errors = [f"docs/guide.md: {line}" for line in check(guide, [text for _, text in headers])]
        errors += [f"docs/errors.md: {line}" for line in check_errors(page, headers)]
    for line in errors:
        print(f"error: {line}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
