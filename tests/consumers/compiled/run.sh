# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build
cmake --install zarrpoint-build --prefix "$PWD/prefix"
mv prefix "moved here"

# The library is built here, from the installed sources.
cmake -S . -B build -DCMAKE_PREFIX_PATH="$PWD/moved here" -DCMAKE_PROJECT_app_INCLUDE="$PWD/parent_state.cmake"
cmake --build build
./build/app
./build/mixed

# By hand: the units of the library, and its macro for the program. With CMake's flags, so that they
# are compiled once.
headers=$PWD/moved\ here/include
for unit in "$headers"/zarrpoint/compiled/*.cpp; do
  echo "$unit"
done | xargs -d '\n' -P 2 -n 1 g++ -std=gnu++20 -DZARRPOINT_COMPILED -isystem "$headers" -fPIC -c
g++ -std=c++20 -DZARRPOINT_COMPILED -I "$headers" app.cpp ./*.o -lzstd -o by_hand
./by_hand
