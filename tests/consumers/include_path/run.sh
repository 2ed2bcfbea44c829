# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0

g++ -std=c++20 -I zarrpoint/include app.cpp -lzstd -o app

./app
