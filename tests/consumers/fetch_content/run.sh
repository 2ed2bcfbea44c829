# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

# As printed: the repository as somebody clones it, without tags, has the commit.
git clone -q --no-tags "file://$(readlink -f zarrpoint)" origin
test -z "$(git -C origin tag)"
commit=$(sed -n 's/^  GIT_TAG \([0-9a-f]\{40\}\) .*/\1/p' CMakeLists.txt)
if ! git -C origin merge-base --is-ancestor "$commit" HEAD; then
  test "$(git -C zarrpoint rev-parse --is-shallow-repository)" = true
  echo "NOT CHECKED: a shallow clone can't tell whether the printed commit exists; its own takes its place"
  sed -i "s/$commit/$(git -C origin rev-parse HEAD)/" CMakeLists.txt
fi
cmake -S . -B build_printed -DZARRPOINT_REPOSITORY="file://$PWD/origin" | tee configured.log
grep 'zarrpoint is imported: FALSE' configured.log
cmake --build build_printed
./build_printed/app

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
