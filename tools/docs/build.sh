#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Builds the site in build/site: the pages of docs/, the files they lead to, and the API. Installs
# what is missing (Debian 12). A link that leads nowhere, or a page that is in no menu, is an error.
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh
need_packages doxygen clang-format-14 python3 python3-venv

python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
venv=build/docs-venv
if ! { [ -f "$venv/done" ] && cmp -s "$venv/done" tools/docs/requirements.txt; }; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r tools/docs/requirements.txt
  cp tools/docs/requirements.txt "$venv/done"
fi

rm -rf build/docs build/site
mkdir -p build/docs
doxygen tools/docs/Doxyfile
"$python" tools/docs/names.py build/docs/api --check
"$python" tools/docs/plot.py --check
"$python" tools/docs/assemble.py build/docs/pages
"$python" tools/docs/api_pages.py build/docs/api build/docs/pages/api
# The banner of mkdocs-material about a later MkDocs, which is not pinned here, is not a warning.
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict -f tools/docs/mkdocs.yml
"$python" tests/tools/check_site.py build/site
echo "the site is in build/site: open build/site/index.html"
