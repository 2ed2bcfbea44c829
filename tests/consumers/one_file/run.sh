# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

python3 zarrpoint/tools/single_header.py third_party/zarrpoint

g++ -std=c++20 -I third_party app.cpp -lzstd -o app

./app

# Its bodies in one unit, and declarations in the others.
printf '#define ZARRPOINT_IMPLEMENTATION\n#include <zarrpoint/zarrpoint.hpp>\n' >bodies.cpp
g++ -std=c++20 -I third_party -c bodies.cpp
g++ -std=c++20 -DZARRPOINT_COMPILED -I third_party app.cpp bodies.o -lzstd -o declared
./declared
