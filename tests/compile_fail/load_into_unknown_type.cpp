// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: this type cannot be loaded or read into
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <span>

void test(const zarrpoint::checkpoint& from) {
  float memory[8];
#if defined(ZP_OK)
  static_cast<void>(from.load_into("w", std::span(memory)));
#else
  static_cast<void>(from.load_into("w", &memory[0]));
#endif
}
