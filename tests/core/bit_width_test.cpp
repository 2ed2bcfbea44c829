// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/core/types/bit_width.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>

namespace zp = zarrpoint;

TEST_CASE("bit_width: around each power of two, as the standard library has it") {
  static_assert(zp::detail::bit_width(0) == 0 && zp::detail::bit_width(255) == 8);
  static_assert(zp::detail::bit_width_by_halves(~std::uint64_t{0}) == 64);
  for (int bit = 0; bit < 64; ++bit) {
    for (int beside = -1; beside <= 1; ++beside) {
      const std::uint64_t value =
          (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(std::int64_t{beside});
      CAPTURE(value);
      CHECK(zp::detail::bit_width_by_halves(value) == static_cast<int>(std::bit_width(value)));
      CHECK(zp::detail::bit_width(value) == static_cast<int>(std::bit_width(value)));
    }
  }
}
