// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/chain.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace byte_size_test {

using zarrpoint::detail::byte_size;

TEST_CASE("byte_size: other encoders may need twice as much and a little more") {
  CHECK(byte_size{1000, true}.limit() == 1000);
  CHECK(byte_size{1000, false}.limit() == 2000 + 65536);
  CHECK(byte_size{0, false}.limit() == 65536);
}

TEST_CASE("byte_size: no sum overflows") {
  CHECK(byte_size{}.limit() == UINT64_MAX);
  CHECK(byte_size{UINT64_MAX / 2, false}.limit() == UINT64_MAX / 2);
  const std::uint64_t largest = (UINT64_MAX - 65536) / 2;
  CHECK(byte_size{largest, false}.limit() == 2 * largest + 65536);
  CHECK(byte_size{largest + 1, false}.limit() == largest + 1);
}

}  // namespace byte_size_test
