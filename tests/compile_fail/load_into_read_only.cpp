// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: the target is read-only
#include <zarrpoint/checkpoint/load/checkpoint.hpp>

#include <span>
#include <vector>

void test(const zarrpoint::checkpoint& from) {
#if defined(ZP_OK)
  std::vector<float> memory(8);
  static_cast<void>(from.load_into("w", memory));
#else
  const std::vector<float> memory(8);
  static_cast<void>(from.load_into("w", memory));
#endif
}
