# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

venv=$PWD/../conan_venv
if ! cmp -s requirements.txt "$venv/done"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r requirements.txt
  cp requirements.txt "$venv/done"
fi
PATH=$venv/bin:$PATH
# test_package is built here, and not in the checkout.
layout=tools.cmake.cmake_layout:test_folder=$PWD/test

# Without a network: Debian's packages are those of the platform.
export CONAN_HOME=$PWD/home_debian
conan remote disable '*'
conan create zarrpoint -c "$layout" --profile:all profile_debian
version=$(sed -n 's/#define ZARRPOINT_VERSION_[A-Z]* //p' zarrpoint/include/zarrpoint/version.hpp |
  paste -sd .)
conan list "zarrpoint/$version:*" | tee list.log
# One package for all settings, since it holds headers only.
test "$(grep -c '^ *[0-9a-f]\{40\}$' list.log)" = 1
grep da39a3ee5e6b4b0d3255bfef95601890afd80709 list.log

conan install . --profile:all profile_debian --output-folder build-debian
cmake -S . -B build-debian -DCMAKE_TOOLCHAIN_FILE=conan_toolchain.cmake -DCMAKE_BUILD_TYPE=Debug
cmake --build build-debian
./build-debian/app

# The names that the packages of the public index have for CMake: stubs of them.
export CONAN_HOME=$PWD/home_stubs
conan remote disable '*'
conan export stub --name zstd --version 1.5.7
conan create zarrpoint --test-folder '' --profile:all profile_stubs --build missing
conan install . --profile:all profile_stubs --output-folder build-stubs --build missing
cmake -S . -B build-stubs -DCMAKE_TOOLCHAIN_FILE=conan_toolchain.cmake -DCMAKE_BUILD_TYPE=Debug
cmake --build build-stubs
./build-stubs/app

# The recipe for ConanCenter, with an archive as GitHub has it.
tar -chzf archive.tar.gz zarrpoint/include zarrpoint/examples/*/my_*.hpp zarrpoint/tools/cmake zarrpoint/LICENSE
python3 zarrpoint/tools/packaging/recipes.py owner/zarrpoint archive.tar.gz recipes "file://$PWD/archive.tar.gz"
export CONAN_HOME=$PWD/home_debian
conan create recipes/conan-center-index/recipes/zarrpoint/all --version "$version" --profile:all profile_debian
