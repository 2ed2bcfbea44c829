// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace array_class_test { namespace {

using namespace zarrpoint;

TEST_CASE("an array is a value that can be copied, and is never empty") {
  static_assert(std::is_copy_constructible_v<array>);
  static_assert(std::is_copy_assignable_v<array>);
  static_assert(!std::is_default_constructible_v<array>);
  const mapped_view nothing;
  CHECK(nothing.elements.data == nullptr);
  CHECK(nothing.memory.bytes().empty());
}

}}  // namespace array_class_test
