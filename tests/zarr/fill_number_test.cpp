// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/fill_value.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace fill_number_test {

using namespace zarrpoint;

// Every form is in fill_value_test.cpp.
TEST_CASE("a scalar's bits in native order, of any size") {
  std::array<std::byte, 8> memory{};
  for (const std::size_t size : {1U, 2U, 4U, 8U}) {
    const std::uint64_t bits = 0x8877665544332211U >> (64 - 8 * size);
    detail::store_native(memory.data(), bits, size);
    CHECK(detail::load_native(memory.data(), size) == bits);
  }
  CHECK(detail::parse_time_fill(json("NaT")).value() == std::uint64_t{1} << 63);
}

}  // namespace fill_number_test
