#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Copies docs/*.md and its pictures for the site, where links to other files of the repository need
a page to lead to.

    assemble.py OUTPUT_FOLDER

A link out of docs/ leads to a page under source/ that shows the file; one to README.md, to the index.
That each link leads to a file that exists is checked by tests/tools/check_links.py.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^()\s#]+)(#[^()\s]*)?\)")
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cuh": "cpp", ".cu": "cpp", ".py": "python", ".sh": "sh", ".json": "json"}


def source_page(path, output):
    """Shows a file of the repository, or what a folder holds; gives the page's name below the output folder."""
    name = path.relative_to(ROOT)
    page = output / "source" / f"{name}.md"
    if not page.exists():
        page.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            text = "\n".join(sorted(inner.name for inner in path.iterdir()))
        else:
            text = path.read_text(encoding="utf-8").rstrip("\n")
        fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", text))]))
        language = LANGUAGES.get(path.suffix, "text")
        page.write_text(f"# {name}\n\n{fence}{language}\n{text}\n{fence}\n", encoding="utf-8")
    return page.relative_to(output).as_posix()


def rewritten(document, output):
    def target(match):
        name, anchor = match[1], match[2] or ""
        path = (document.parent / name).resolve()
        if re.match(r"[a-z][a-z0-9+.-]*:", name) or path.parent == document.parent:
            return match[0]
        if path == ROOT / "README.md":
            return f"](index.md{anchor})"
        return f"]({source_page(path, output)})"

    lines, in_block = [], False
    for line in document.read_text(encoding="utf-8").split("\n"):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        if line.startswith("|"):  # GitHub wants \\| in the code of a table, Python-Markdown does not
            line = re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), line)
        lines.append(line if in_block else LINK.sub(target, line))
    return "\n".join(lines)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    output = Path(arguments[0]).resolve()
    output.mkdir(parents=True, exist_ok=True)
    for document in sorted((ROOT / "docs").glob("*.md")):
        (output / document.name).write_text(rewritten(document, output), encoding="utf-8")
    for header in sorted((ROOT / "include").rglob("*.[hc]*")):  # the API pages lead to them
        source_page(header, output)
    for picture in sorted((ROOT / "docs").glob("*.svg")):
        shutil.copy(picture, output / picture.name)
    for name in ("extra.css", "iframe-worker.js"):
        shutil.copy(ROOT / "tools/docs" / name, output / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
