// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a map is a group of leaves: include <zarrpoint/members.hpp>
// EXPECT: std::unordered_map whose keys are std::string
#include <zarrpoint/handler/leaf.hpp>

#include <string>
#include <unordered_map>

void test() {
  const std::unordered_map<std::string, float> table{{"a", 1}};
#if defined(ZP_OK)
  zarrpoint::leaf("w/a", table.at("a"));
#else
  zarrpoint::leaf("w", table);
#endif
}
