// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a value of several leaves is loaded as a whole
// EXPECT: load its members one by one
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/members.hpp>

#include <vector>

void test(const zarrpoint::checkpoint& from) {
  const zarrpoint::box part({0}, {1});
#if defined(ZP_OK)
  static_cast<void>(from.load<std::vector<float>>("rows/0", part));
#else
  static_cast<void>(from.load<std::vector<std::vector<float>>>("rows", part));
#endif
}
