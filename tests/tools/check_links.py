#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps the documents true to the files that they point to: README.md, .github/*.md and docs/*.md.

Checks: each relative link leads to a file of the repository, each #anchor to a heading; each file
that is named in `code` exists (as it stands, or below include/zarrpoint or tests); each ```cpp block
of docs/ stands, but for white space, in the C++ file that the last link before it leads to; for each
of the ten tasks of docs/contributing.md a row of docs/index.md leads to its page and names its
header; each figure of speed in README.md and docs/performance.md stands in docs/benchmarks.md, in text also rounded or a
ratio as a percentage, and all of one row of a table in one row there; each public member of a report (`save_report`, `leaf_metadata`,
`verify_failure` and their like) stands in the table of docs/guide.md or docs/distributed.md that is headed by the
report's name, and nothing else does; the members of the options of `save` and `load` stand in those of docs/guide.md,
in the order of their declaration; docs/index.md, the site's home, begins with a sentence, a program of at most
fifteen lines and a picture, before any table. A line of "..." in a block stands for any text. (tests/tools/extract_readme.py compiles that
of README.md.)
So does each block, of any language, that follows a link to a file of tests/consumers in its section; blocks of
shell are compared with scripts alone, and others with other files. What is printed `, whole` has no line of "...".

    check_links.py [repository root]      prints one line per breach; exit status 1 if there is one
    check_links.py --self-test            shows that each rule catches its breach
"""

import re
import sys
import tempfile
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$")
CODE = re.compile(r"`([^`]+)`")
FILE_NAME = re.compile(r"[\w.-]+(/[\w.-]+)+\.(hpp|cpp|py|sh|md|txt)")
FIGURE = re.compile(r"\d[\d.,]* (?:GB/s|MB/s|ms|us|%)")
REPORT = re.compile(r"^struct (\w+_report|leaf_metadata|leaf_verification|verify_\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
OPTIONS = "save_options|leaf_rule|load_options|load_rule|limits|context"
OPTION = re.compile(rf"^struct ({OPTIONS}) \{{\n(.*?)^\}};", re.MULTILINE | re.DOTALL)
REPORT_PAGES = ("docs/guide.md", "docs/distributed.md", "docs/torch.md")
PLACES = ("", "include/zarrpoint/", "tests/")
SOURCES = (".hpp", ".cpp")
CONSUMERS = "tests/consumers/"


def blocks(text):
    """(line number, language or None, lines) of each code block, and of each line outside."""
    found, number, lines = [], 0, text.split("\n")
    while number < len(lines):
        if lines[number].lstrip().startswith("```"):
            language, start, body = lines[number].lstrip()[3:].strip(), number + 1, []
            number += 1
            while number < len(lines) and not lines[number].lstrip().startswith("```"):
                body.append(lines[number])
                number += 1
            found.append((start, language, body))
        else:
            found.append((number + 1, None, [lines[number]]))
        number += 1
    return found


def anchors(path):
    """The anchors of a document's headings, as GitHub makes them."""
    out = set()
    for _, language, lines in blocks(path.read_text(encoding="utf-8")):
        heading = HEADING.match(lines[0]) if language is None else None
        if heading:
            title = LINK.sub(lambda link: link[0][1 : link[0].index("]")], heading[1])
            name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            number, unique = 0, name
            while unique in out:
                number += 1
                unique = f"{name}-{number}"
            out.add(unique)
    return out


def link_error(root, document, target):
    """What is wrong with a link, or None; and the file it leads to."""
    if re.match(r"[a-z][a-z0-9+.-]*:", target):
        return None, None
    name, _, anchor = target.partition("#")
    path = (document.parent / name).resolve() if name else document
    if not path.is_relative_to(root):
        return f"{target} leads out of the repository", None
    if not path.exists():
        return f"{target} leads nowhere", None
    if anchor and (path.suffix != ".md" or anchor not in anchors(path)):
        return f"{target}: there is no such heading", path
    return None, path


def stands_in(block, source):
    """Whether the pieces of a block, which "..." lines divide, stand in a text in that order."""
    text, at = " ".join(source.split()), 0
    for piece in "\n".join(line.strip() for line in block).split("\n...\n"):
        piece = " ".join(piece.split())
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def rows(path):
    """(line number, pages without anchors, code) of each line of a table."""
    for number, language, lines in blocks(path.read_text(encoding="utf-8")):
        if language is None and lines[0].startswith("|"):
            pages = {target.partition("#")[0] for target in LINK.findall(lines[0])}
            yield number, pages, set(CODE.findall(lines[0]))


def task_errors(docs):
    """The tasks of contributing.md that index.md does not answer."""
    tasks, index = docs / "contributing.md", docs / "index.md"
    if not tasks.exists() or not index.exists():
        return []
    answers = list(rows(index))
    start = "**Ten tasks.**"
    text = tasks.read_text(encoding="utf-8").split("\n")
    first = next((i + 1 for i, line in enumerate(text) if line.startswith(start)), len(text))
    errors = []
    for number, pages, code in rows(tasks):
        headers = {name for name in code if name.endswith(".hpp")}
        if number < first or not pages or not headers:
            continue
        if not any(pages <= theirs and headers <= names for _, theirs, names in answers):
            errors.append(f"docs/contributing.md:{number}: no row of docs/index.md leads to this")
    return errors


def home_errors(index):
    """What the site's home lacks before its first table."""
    if not index.exists():
        return []
    sentence = program = picture = False
    for _, language, lines in blocks(index.read_text(encoding="utf-8")):
        if language is None and lines[0].startswith("|"):
            break
        if language is None:
            sentence = sentence or bool(re.match(r"[A-Z`].* \w+", lines[0]))
            picture = picture or lines[0].startswith("![")
        elif language == "cpp":
            program = program or len(lines) <= 15
    wanted = {"sentence": sentence, "program of at most fifteen lines": program, "picture": picture}
    return [f"docs/index.md: no {what} stands before the first table" for what, there in wanted.items() if not there]


def has_figure(figure, text):
    """Whether a text has a figure, with as many digits or more, or the ratio that a percentage is."""
    if re.search(rf"(?<![\d.,]){re.escape(figure)}", text):
        return True
    number, unit = figure.split(" ")
    if unit == "%":
        return re.search(rf"(?<![\d.,-])0\.{int(float(number)):02d}(?![\d-])", text) is not None
    if "," in number:
        return False
    digits = len(number.partition(".")[2])
    return any(f"{float(found):.{digits}f}" == number for found in re.findall(rf"(?<![\d.,-])(\d+\.\d+) {unit}", text))


def figure_errors(root):
    """The figures of README.md and performance.md that benchmarks.md does not have."""
    measured = root / "docs/benchmarks.md"
    if not measured.exists():
        return []
    text = measured.read_text(encoding="utf-8")
    lines, errors = [f" {line} " for line in text.split("\n")], []
    for name in ("README.md", "docs/performance.md"):
        path = root / name
        for number, language, body in blocks(path.read_text(encoding="utf-8")) if path.exists() else ():
            figures = FIGURE.findall(body[0]) if language is None else []
            if not figures:
                continue
            if body[0].startswith("|"):  # with the ratios
                wanted = figures + re.findall(r"(?<=\| )\d+\.\d+(?= \|)", body[0])
                good = any(all(f" {figure} " in line for figure in wanted) for line in lines)
            else:
                good = all(has_figure(figure, text) for figure in figures)
            if not good:
                errors.append(f"{name}:{number}: docs/benchmarks.md has no such figures")
    return errors


def members_of(body):
    """The names of the members of a struct, by the text between its braces."""
    statements = re.sub(r"//.*", "", body).split(";")
    heads = [re.split(r"[={(]", statement)[0].split() for statement in statements]
    return {head[-1] for head in heads if head}


def report_errors(root):
    """Reports whose members the tables of the pages do not name, one by one."""
    told, errors = {}, []  # report -> the names in the first column of its table
    for page in REPORT_PAGES:
        report = None
        for line in (root / page).read_text(encoding="utf-8").split("\n") if (root / page).is_file() else []:
            cells = line.strip().strip("|").split("|")
            if not line.startswith("|"):
                report = None
            elif report is None:
                heads = CODE.findall(cells[0])
                report = told.setdefault(heads[0], set()) if heads else set()
            else:
                report.update(name.removesuffix("()") for name in CODE.findall(cells[0]))
    for header in sorted((root / "include/zarrpoint").rglob("*.hpp")):
        for name, body in REPORT.findall(header.read_text(encoding="utf-8")):
            has, says = members_of(body), told.get(name, set())
            errors += [f"{header.relative_to(root)}: no table of {REPORT_PAGES[0]} names {name}::{one}" for one in sorted(has - says)]
            errors += [f"{REPORT_PAGES[0]}: {name} has no member {one}" for one in sorted(says - has)]
    return errors


def declared(body):
    """The names of the members of a struct, in their order."""
    code = re.sub(r"//[^\n]*", "", body)
    heads = [re.split(r"[={]", statement)[0].split() for statement in code.split(";")]
    return [head[-1] for head in heads if head]


def option_errors(root):
    """Options that the tables of the guide do not name in the order of their declaration."""
    told, name, errors = {}, None, []
    page = root / "docs/guide.md"
    for line in page.read_text(encoding="utf-8").split("\n") if page.is_file() else []:
        heads = CODE.findall(line.split("|")[1]) if line.startswith("|") else []
        if not line.startswith("|"):
            name = None
        elif name is None and heads:
            name = heads[0]
            told[name] = []
        elif name is not None:
            told[name] += heads
    for header in sorted((root / "include/zarrpoint").rglob("*.hpp")):
        for struct, body in OPTION.findall(header.read_text(encoding="utf-8")):
            if (has := declared(body)) != told.get(struct, []):
                errors.append(f"docs/guide.md: the table of {struct} must name {', '.join(has)}, in this order")
    return errors


def check(root):
    """The breaches, a line each."""
    root, errors = root.resolve(), []
    errors += task_errors(root / "docs") + figure_errors(root) + report_errors(root) + option_errors(root) + home_errors(root / "docs/index.md")
    for document in [root / "README.md", *sorted((root / ".github").glob("*.md")), *sorted((root / "docs").glob("*.md"))]:
        source = None  # what the last link to C++ leads to
        whole = False  # whether the paragraph before says so
        consumer = None  # what the last link of the section to a file of a consumer leads to
        for number, language, lines in blocks(document.read_text(encoding="utf-8")):
            say = lambda text: errors.append(f"{document.relative_to(root)}:{number}: {text}")
            if language is None:
                if HEADING.match(lines[0]):
                    consumer = None
                if lines[0].strip():
                    whole = "), whole" in lines[0]
                for target in LINK.findall(CODE.sub("", lines[0])):
                    error, path = link_error(root, document, target)
                    if error:
                        say(error)
                    elif path is not None and path.suffix in SOURCES:
                        source = path
                    elif path is not None and CONSUMERS in path.as_posix():
                        consumer = path
                for code in CODE.findall(lines[0]):
                    if FILE_NAME.fullmatch(code):
                        if not any((root / place / code).is_file() for place in PLACES):
                            say(f"there is no file {code}")
            elif whole and "..." in (line.strip() for line in lines):
                say("this block is not whole")
            elif language == "cpp" and document.parent != root:
                if source is None:
                    say("no link to the C++ file of this block stands before it")
                elif not stands_in(lines, source.read_text(encoding="utf-8")):
                    say(f"this block does not stand in {source.relative_to(root)}")
            elif (
                consumer is not None
                and (consumer.suffix == ".sh") == (language == "sh")
                and not stands_in(lines, consumer.read_text(encoding="utf-8"))
            ):
                say(f"this block does not stand in {consumer.relative_to(root)}")
    return errors


# ------------------------------------------------------------------------------------ self-test

HOME = "# Z\n\nIt saves.\n[p](../tests/a.cpp)\n```cpp\nint a;\n```\n![speed](a.svg)\n\n"
GOOD = {
    "README.md": "# A `b` c!\n[d](docs/d.md) [e](docs/d.md#e-f-1) [web](https://x.y/#z) [s](#a-b-c)\n"
    "`[no](link)`\n```cpp\nany();\n```\n",
    "docs/d.md": "# D\n## E, f\n## E f\n[back](../README.md) `core/a.hpp`: [a](../tests/a.cpp)\n"
    "```cpp\nint a;\n...\nint  c;\n```\n```sh\nrun [x](y)\n```\n",
    "docs/contributing.md": "| [x](../README.md) | `core/a.hpp` |\n**Ten tasks.**\n"
    "| [d](d.md#d) | `core/a.hpp` |\n",
    "docs/index.md": HOME + "| [d](d.md) | `core/a.hpp` |\n",
    "docs/a.svg": "",
    "docs/benchmarks.md": "| a | 1.5 GB/s | 0.8 |\n| b | 12.5 GB/s | 0.80 |\n| c | 12.6 GB/s | 0.7 |\n",
    "docs/performance.md": "1.5 GB/s, 13 GB/s: 80 %, and\n| a | 1.5 GB/s | 0.8 |\n",
    "docs/guide.md": "| `a_report` | |\n|---|---|\n| `a`, `b` | `x` |\n| `c()` | y |\n\n| `limits` | |\n|---|---|\n| `most` | 1 |\n| `least` | 2 |\n",
    "include/zarrpoint/core/a.hpp": "struct a_report {\n  std::map<int, int>  // of d\n      a{};\n  int b = 0;\n\n"
    "  int c() const;\n};\nstruct report_kit {\n  int e;\n};\nstruct limits {\n  int most = 1;  ///< a; b\n  std::optional<dims> least{};\n};\n",
    "tests/a.cpp": "int a;\nint b;\n  int c;\n",
}
BREACHES = [
    ("file", {"README.md": "[d](docs/none.md)"}, "README.md:1: docs/none.md leads nowhere"),
    ("anchor", {"README.md": "\n[d](docs/d.md#none)"}, "README.md:2: docs/d.md#none: there is no"),
    ("own anchor", {"README.md": "# A\n[d](#b)"}, "README.md:2: #b: there is no"),
    ("out", {"README.md": "[d](../x.md)"}, "leads out of the repository"),
    ("name", {"README.md": "`core/none.hpp`"}, "there is no file core/none.hpp"),
    ("block", {"docs/x.md": "[a](../tests/a.cpp)\n```cpp\nint d;\n```"}, "does not stand in tests/a.cpp"),
    ("order", {"docs/x.md": "[a](../tests/a.cpp)\n```cpp\nint c;\n...\nint a;\n```"}, "does not stand"),
    ("consumer", {"docs/x.md": "# A\n[a](../tests/consumers/a/run.sh)\n```sh\nb\n```\n",
                  "tests/consumers/a/run.sh": "a"}, "does not stand in tests/consumers/a/run.sh"),
    ("whole", {"docs/x.md": "[a](../tests/a.cpp), whole:\n```cpp\nint a;\n...\nint  c;\n```"},
     "docs/x.md:2: this block is not whole"),
    ("figure", {"README.md": "# A b c\n2.5 GB/s"}, "README.md:2: docs/benchmarks.md has no such"),
    ("figure, rounded to another", {"README.md": "# A b c\n1.4 GB/s"}, "README.md:2: docs/benchmarks.md has no such"),
    ("percentage", {"README.md": "# A b c\n81 %"}, "README.md:2: docs/benchmarks.md has no such"),
    ("figures of two rows", {"README.md": "| a | 1.5 GB/s | 0.7 |"}, "README.md:1: docs/benchmarks"),
    ("task", {"docs/contributing.md": "**Ten tasks.**\n| [d](d.md#d) | `core/a.hpp` |",
              "docs/index.md": HOME + "| [d](d.md) | `a.hpp` |\n| `core/a.hpp` | [x](../README.md) |"},
     "docs/contributing.md:2: no row of docs/index.md"),
    ("report", {"docs/guide.md": GOOD["docs/guide.md"].replace("| `c()` | y |\n", "")},
     "core/a.hpp: no table of docs/guide.md names a_report::c"),
    ("report of old", {"docs/guide.md": GOOD["docs/guide.md"].replace("| `c()`", "| `d` | |\n| `c()`")},
     "docs/guide.md: a_report has no member d"),
    ("two reports", {"docs/guide.md": GOOD["docs/guide.md"].replace("| `c()`", "\n| `b_report` | |\n| `c()`")},
     "names a_report::c"),
    ("home without a sentence", {"docs/index.md": HOME.replace("It saves.", "") + "| [d](d.md) | `core/a.hpp` |"},
     "docs/index.md: no sentence"),
    ("home without a program", {"docs/index.md": HOME.replace("int a;", "int a;" + "\n" * 15) + "| [d](d.md) | `core/a.hpp` |"},
     "docs/index.md: no program"),
    ("home, its picture too late", {"docs/index.md": HOME.replace("![", "| a |\n![") + "| [d](d.md) | `core/a.hpp` |"},
     "docs/index.md: no picture"),
    ("options in another order", {"docs/guide.md": GOOD["docs/guide.md"].replace("most", "x").replace("least", "most")},
     "docs/guide.md: the table of limits must name most, least"),
    ("no source", {"docs/x.md": "```cpp\nint a;\n```"}, "docs/x.md:1: no link to the C++ file"),
]  # fmt: skip


def self_test():
    failures = []

    def run(tree):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check(Path(folder))

    if errors := run(GOOD):
        failures.append(f"a good tree was refused: {errors}")
    for title, tree, expected in BREACHES:
        errors = run(GOOD | tree)
        if len(errors) != 1 or expected not in errors[0]:
            failures.append(f"{title}: expected one error with '{expected}', got {errors}")
    return failures


def main(arguments):
    if "--self-test" in arguments:
        failures = self_test()
        print("\n".join(failures) or f"check_links: {len(BREACHES) + 1} self-tests passed")
    else:
        failures = check(Path(arguments[0] if arguments else Path(__file__).parents[2]))
        for line in failures:
            print(f"error: {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
