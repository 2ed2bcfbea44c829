// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/streamed_copy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace streamed_copy_test {

TEST_CASE("copy_streamed: any place and size, and nothing around them") {
  std::vector<std::byte> from(700);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
  for (const std::size_t size : {0U, 1U, 15U, 16U, 63U, 64U, 65U, 128U, 300U, 500U}) {
    for (std::size_t to_at = 0; to_at < 65; ++to_at) {
      for (const std::size_t from_at : {0U, 1U, 16U, 63U}) {
        std::vector<std::byte> expected(700, std::byte{0xee});
        std::vector<std::byte> actual = expected;
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_at), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to_at));
        zarrpoint::detail::copy_streamed(actual.data() + to_at, from.data() + from_at, size);
        zarrpoint::detail::end_streaming();
        REQUIRE(actual == expected);
      }
    }
  }
}

}  // namespace streamed_copy_test
