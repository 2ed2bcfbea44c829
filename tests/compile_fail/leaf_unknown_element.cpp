// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type cannot be saved
// EXPECT: Element types of your own need zarrpoint::dtype_of<T>
#include <zarrpoint/handler/leaf.hpp>

#include <vector>

struct half {
  unsigned short bits;
};
#if defined(ZP_OK)
template <>
inline constexpr zarrpoint::dtype zarrpoint::dtype_of<half> = zarrpoint::dtype_kind::float16;
#endif

void test() {
  std::vector<half> values;
  zarrpoint::leaf("w", values);
}
