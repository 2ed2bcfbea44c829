// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: zarrpoint_members takes this type as a function template
// EXPECT: a class template has it as a friend
#include <zarrpoint/members.hpp>

namespace mine {
template <class T>
struct point {
  T x, y;
#if defined(ZP_OK)
  friend auto zarrpoint_members(point& v) { return zarrpoint::members("x", v.x, "y", v.y); }
#endif
};
#if !defined(ZP_OK)
template <class T>
auto zarrpoint_members(point<T>& v) {
  return zarrpoint::members("x", v.x, "y", v.y);
}
#endif
}  // namespace mine

void test() {
  const mine::point<float> value{1, 2};
  zarrpoint::leaf("p", value);
}
