# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build --target single_header
mkdir -p third_party
mv zarrpoint-build/single_include third_party/zarrpoint
# A copy of one's own, as a second library of the program may bring it.
cp -r third_party/zarrpoint copy

g++ -std=c++20 -I third_party -c app.cpp -o app.o
objcopy --redefine-sym main=_Z11readme_mainv app.o
g++ -std=c++20 -I third_party -I . -c other.cpp -o other.o
g++ app.o other.o -lzstd -lz -o app

./app
