// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: a character is text, not a number
#include <zarrpoint/handler/leaf.hpp>

void test() {
#if defined(ZP_OK)
  zarrpoint::leaf("grade", "a");
#else
  zarrpoint::leaf("grade", 'a');
#endif
}
