# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

port=zarrpoint/tools/vcpkg/ports/zarrpoint
cmake -DPORT_FOLDER="$PWD/$port" -DINSTALLED="$PWD/installed" -P install_port.cmake

# The rules of vcpkg for a port of headers: a copyright, a usage file, no lib and no debug folder, no
# absolute path; nothing but headers and what finds them.
test -s installed/share/zarrpoint/copyright
cmp installed/share/zarrpoint/usage $port/usage
test "$(ls installed)" = "include
share"
test "$(ls installed/share)" = "pkgconfig
zarrpoint"
if grep -rIF "$PWD" installed; then exit 1; fi
find installed -type d -empty | tee empty.log
test ! -s empty.log

# What vcpkg demands of the two manifests.
python3 - zarrpoint/vcpkg.json $port/vcpkg.json <<'END'
import json, re, sys
for path in sys.argv[1:]:
    manifest = json.load(open(path))
    parts = [manifest, *manifest["features"].values()]
    always = [d if isinstance(d, str) else d["name"] for d in manifest["dependencies"]]
    assert [name for name in always if not name.startswith("vcpkg-")] == ["zstd"], (path, always)
    assert manifest["license"] == "Apache-2.0" and manifest["name"] == "zarrpoint", path
    for part in parts:
        names = [d if isinstance(d, str) else d["name"] for d in part["dependencies"]]
        assert part["description"] and names == sorted(set(names)), (path, names)
        assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names), names
END

# The program, with the lines of the usage file, and found where vcpkg's toolchain looks.
sed -n 's/^  //p' $port/usage | sed 's/main/app/' | while read -r line; do
  grep -Fx "$line" CMakeLists.txt
done
cmake -S . -B build -Dzarrpoint_DIR="$PWD/installed/share/zarrpoint"
cmake --build build
./build/app

# The port for the registry, with the archive that its checksum is of, installs the same files.
tar -chzf archive.tar.gz zarrpoint/include zarrpoint/examples/*/my_*.hpp zarrpoint/tools/cmake zarrpoint/CMakeLists.txt zarrpoint/CMakePresets.json zarrpoint/LICENSE
python3 zarrpoint/tools/packaging/recipes.py owner/zarrpoint archive.tar.gz recipes
cmake -DPORT_FOLDER="$PWD/recipes/vcpkg/ports/zarrpoint" -DINSTALLED="$PWD/registry" -DARCHIVE="$PWD/archive.tar.gz" -P install_port.cmake
diff -r installed registry
