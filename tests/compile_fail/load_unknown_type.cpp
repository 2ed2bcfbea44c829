// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type cannot be loaded. Three ways out
// EXPECT: (1) specialise zarrpoint::type_handler<T>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <vector>

struct my_tensor {};

void test(const zarrpoint::checkpoint& from) {
#if defined(ZP_OK)
  static_cast<void>(from.load<std::vector<float>>("w"));
#else
  static_cast<void>(from.load<my_tensor>("w"));
#endif
}
