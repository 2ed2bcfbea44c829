// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: zarrpoint_members takes this type as a function template, or for its base
// EXPECT: write a function for
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/members.hpp>

struct base {
  float x = 0;
};
auto zarrpoint_members(base& v) { return zarrpoint::members("x", v.x); }

struct derived : base {
  float y = 0;
};
#if defined(ZP_OK)
auto zarrpoint_members(derived& v) { return zarrpoint::members("x", v.x, "y", v.y); }
#endif

void test(const zarrpoint::checkpoint& from) { static_cast<void>(from.load<derived>("d")); }
