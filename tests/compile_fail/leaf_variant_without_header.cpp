// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT: zarrpoint: include <zarrpoint/members.hpp> to save and load optionals and variants
#include <zarrpoint/handler/leaf.hpp>

#include <variant>

void test() {
  const std::variant<float, int> value = 1.0F;
#if defined(ZP_OK)
  zarrpoint::leaf("w", std::get<float>(value));
#else
  zarrpoint::leaf("w", value);
#endif
}
