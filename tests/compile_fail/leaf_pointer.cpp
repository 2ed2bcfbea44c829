// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a pointer does not say how many elements there are
#include <zarrpoint/handler/leaf.hpp>

#include <span>

void test() {
  float values[8] = {};
  float* first = values;
#if defined(ZP_OK)
  zarrpoint::leaf("w", std::span(first, 8));
#else
  zarrpoint::leaf("w", first);
#endif
}
