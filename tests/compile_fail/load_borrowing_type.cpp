// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type can be saved but not made
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <span>
#include <vector>

void test(const zarrpoint::checkpoint& from) {
#if defined(ZP_OK)
  static_cast<void>(from.load<std::vector<float>>("w"));
#else
  static_cast<void>(from.load<std::span<float>>("w"));
#endif
}
