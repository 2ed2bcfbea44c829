#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the site in SITE can be read and searched from files, without a server or a network.

    check_site.py SITE

Each page loads the stand-in for a Worker and nothing from elsewhere; the search index is a script, since a page of
file:// may not read a JSON file; and words are found, by node where it is installed.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

SEARCH = Path(__file__).with_name("search_site.js")
WORDS = {"safetensors": "migration.html", "hyperslab_of_nothing": None}  # and a page that has it


def page_errors(site):
    """The pages that load something from elsewhere, or do not load the stand-in."""
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        text, name = page.read_text(encoding="utf-8"), page.relative_to(site)
        for address in re.findall(r'<(?:script|img|iframe)[^>]* src="?(https?:[^" >]*)', text):
            yield f"{name} loads {address}"
        if not re.search(r'<script [^>]*src="?[./]*iframe-worker\.js', text):
            yield f"{name} does not load iframe-worker.js"
    if len(pages) < 10:
        yield f"{site} has {len(pages)} pages"


def search_errors(site):
    """The words that the site's search does not find."""
    index = site / "search/search_index.js"
    if not index.is_file() or not index.read_text(encoding="utf-8").startswith("var __index ="):
        yield "search/search_index.js is missing, or not a script"
        return
    if shutil.which("node") is None:
        print("check_site: node is not installed: no search was tried")
        return
    for word, page in WORDS.items():
        done = subprocess.run(["node", SEARCH, site, word], capture_output=True, text=True, check=False)
        found = {line.partition("#")[0] for line in done.stdout.splitlines()}
        if done.returncode != 0 or (found if page is None else page not in found):
            yield f'a search for "{word}" gives {sorted(found)[:5]} {done.stderr[-500:]}'


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    site = Path(arguments[0])
    errors = [*page_errors(site), *search_errors(site)]
    print("\n".join(errors) or "check_site: the site is whole, and searched from files")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
