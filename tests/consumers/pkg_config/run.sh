# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

cmake -S zarrpoint -B zarrpoint-build --preset package
cmake --build zarrpoint-build
cmake --install zarrpoint-build --prefix "$PWD/prefix"
export PKG_CONFIG_PATH=$PWD/prefix/share/pkgconfig
test "$(pkg-config --print-requires zarrpoint)" = 'libzstd >= 1.5.4'

# shellcheck disable=SC2046
g++ -std=c++20 app.cpp $(pkg-config --cflags --libs zarrpoint) -o app

./app
