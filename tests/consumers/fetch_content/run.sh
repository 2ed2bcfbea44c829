# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# From a checkout instead of the repository.
cmake -S . -B build -DFETCHCONTENT_SOURCE_DIR_ZARRPOINT="$PWD/zarrpoint" | tee configured.log
grep 'zarrpoint is imported: FALSE' configured.log
cmake --build build
./build/app

# The same project, where zarrpoint is installed.
cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build
cmake --install zarrpoint-build --prefix "$PWD/prefix"
cmake -S . -B build_installed -DCMAKE_PREFIX_PATH="$PWD/prefix" | tee configured.log
grep 'zarrpoint is imported: TRUE' configured.log
