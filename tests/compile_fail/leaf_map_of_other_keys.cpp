// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a map is a group of leaves that its keys name, and these are not std::string
// EXPECT: std::map<std::string, ...>
// EXPECT: two vectors
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/members.hpp>

#include <map>
#include <string>

void test() {
  const std::map<int, float> table;
#if defined(ZP_OK)
  zarrpoint::leaf("w", std::map<std::string, float>());
#else
  zarrpoint::leaf("w", table);
#endif
}
