#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the recipe for ConanCenter and the port for vcpkg, ready to send.

    recipes.py OWNER/NAME ARCHIVE FOLDER [URL]

ARCHIVE is what GitHub has for the tag of this version, v0.2.0 and the like; its checksums are put in.
URL is where Conan gets it, by default that address of GitHub. FOLDER gets the files where the two
repositories have them:

    conan-center-index/recipes/zarrpoint/   a copy goes to a branch of conan-center-index
    vcpkg/ports/zarrpoint/                  likewise; `vcpkg x-add-version zarrpoint` writes the versions

They are made from conanfile.py, test_package and tools/vcpkg, so that nothing is said at two places.
"""

import hashlib
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version():
    header = (ROOT / "include/zarrpoint/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define ZARRPOINT_VERSION_\w+ (\d+)", header))


def replaced(text, *pairs):
    for old, new in pairs:
        if text.count(old) != 1:
            raise SystemExit(f"recipes.py: expected once, found {text.count(old)} times: {old!r}")
        text = text.replace(old, new)
    return text


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def conan_center(repository, archive, folder, url):
    """The recipe of a checkout, but the sources come from the archive, and the version from the index."""
    recipe = (ROOT / "conanfile.py").read_text(encoding="utf-8")
    own_version = re.search(r"    def set_version\(self\):\n.*?\n\n", recipe, re.DOTALL)[0]
    own_sources = re.search(r"    exports_sources = \(\n.*?\n    \).*?\n", recipe, re.DOTALL)[0]
    recipe = replaced(
        recipe,
        (own_version, ""),
        ("import re\n", ""),
        ("from conan import ConanFile\n", "from conan import ConanFile\nfrom conan.errors import ConanInvalidConfiguration\n"),
        ("import copy, load, save", "import copy, get, save"),
        (own_sources, ""),
        ('    exports = "include/zarrpoint/version.hpp"\n', ""),
        ('    license = "Apache-2.0"\n', '    license = "Apache-2.0"\n    url = "https://github.com/conan-io/conan-center-index"\n'
                                        f'    homepage = "https://github.com/{repository}"\n'),
        ("        basic_layout(self)\n", '        basic_layout(self, src_folder="src")\n'),
        ("        check_min_cppstd(self, 20)\n",
         "        check_min_cppstd(self, 20)\n"
         '        if self.settings.os != "Linux":\n'
         '            raise ConanInvalidConfiguration(f"{self.ref} runs on Linux only")\n\n'
         "    def source(self):\n"
         '        get(self, **self.conan_data["sources"][self.version], strip_root=True)\n'),
    )  # fmt: skip
    recipe = recipe.split("\n", 2)[2]  # the index has a licence of its own
    here = folder / "conan-center-index/recipes/zarrpoint"
    put(here / "config.yml", f'versions:\n  "{version()}":\n    folder: all\n')
    put(here / "all/conandata.yml", f'sources:\n  "{version()}":\n    url: "{url}"\n'
        f'    sha256: "{hashlib.sha256(archive).hexdigest()}"\n')  # fmt: skip
    put(here / "all/conanfile.py", recipe)
    for path in (ROOT / "test_package").iterdir():
        if path.is_file():
            put(here / "all/test_package" / path.name, path.read_text(encoding="utf-8").split("\n", 2)[2])


def vcpkg(repository, archive, folder):
    """The overlay port, but the sources come from the archive."""
    port = ROOT / "tools/vcpkg/ports/zarrpoint"
    here = folder / "vcpkg/ports/zarrpoint"
    text = (port / "portfile.cmake").read_text(encoding="utf-8")
    of_checkout = re.search(r"# SPDX.*?endif\(\)\n\n", text, re.DOTALL)[0]
    put(here / "portfile.cmake", replaced(text, (of_checkout, f"""vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO {repository}
  REF "v${{VERSION}}"
  SHA512 {hashlib.sha512(archive).hexdigest()}
  HEAD_REF main)

""")))  # fmt: skip
    manifest = (port / "vcpkg.json").read_text(encoding="utf-8")
    put(here / "vcpkg.json", replaced(manifest, ('  "license":', f'  "homepage": "https://github.com/{repository}",\n  "license":')))
    shutil.copyfile(port / "usage", here / "usage")


def main(arguments):
    if len(arguments) not in (3, 4) or arguments[0].count("/") != 1:
        raise SystemExit(__doc__)
    repository, archive, folder = arguments[0], Path(arguments[1]).read_bytes(), Path(arguments[2])
    address = f"https://github.com/{repository}/archive/refs/tags/v{version()}.tar.gz"
    conan_center(repository, archive, folder, arguments[3] if len(arguments) == 4 else address)
    vcpkg(repository, archive, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
