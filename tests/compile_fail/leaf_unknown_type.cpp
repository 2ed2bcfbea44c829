// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type cannot be saved. Three ways out
// EXPECT: (1) specialise zarrpoint::type_handler<T>
// EXPECT: examples/handlers/my_tensor_handler.hpp
// EXPECT: (2) give T a nested type zarrpoint_handler
// EXPECT: (3) make T array-like
#include <zarrpoint/handler/leaf.hpp>

struct my_tensor {
  float values[3];
};

void test() {
  my_tensor value{};
#if defined(ZP_OK)
  zarrpoint::leaf("w", value.values);
#else
  zarrpoint::leaf("w", value);
#endif
}
