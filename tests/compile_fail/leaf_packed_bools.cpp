// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: std::vector<bool> packs its bits
#include <zarrpoint/handler/leaf.hpp>

#include <array>
#include <vector>

void test() {
#if defined(ZP_OK)
  zarrpoint::leaf("mask", std::array<bool, 8>{});
#else
  zarrpoint::leaf("mask", std::vector<bool>(8));
#endif
}
