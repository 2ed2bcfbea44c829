// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a value of several leaves is not a target
// EXPECT: load_into with each of its members
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/members.hpp>

struct numbers {
  int a = 0, b = 0;
  friend auto zarrpoint_members(numbers& v) { return zarrpoint::members("a", v.a, "b", v.b); }
};

void test(const zarrpoint::checkpoint& from) {
  numbers value;
#if defined(ZP_OK)
  static_cast<void>(from.load_into("n/a", value.a));
#else
  static_cast<void>(from.load_into("n", value));
#endif
}
