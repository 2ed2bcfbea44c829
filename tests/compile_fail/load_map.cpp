// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a map is a group of leaves
// EXPECT: std::vector<zarrpoint::leaf>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <map>
#include <string>
#include <vector>

void test(const zarrpoint::checkpoint& from) {
#if defined(ZP_OK)
  static_cast<void>(from.load<std::vector<float>>("w/a"));
#else
  static_cast<void>(from.load<std::map<std::string, std::vector<float>>>("w"));
#endif
}
