// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: std::vector<bool> packs its bits
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <array>
#include <vector>

void test(const zarrpoint::checkpoint& from) {
#if defined(ZP_OK)
  static_cast<void>(from.load<std::array<bool, 8>>("mask"));
#else
  static_cast<void>(from.load<std::vector<bool>>("mask"));
#endif
}
