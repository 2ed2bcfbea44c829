// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <array>
#include <cfloat>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// `0.ddd... * 10^(exponent + 1)`: the first digit, which is not 0, counts 10^exponent, and the
/// last is not 0 either.
struct decimal_digits {
  std::array<char, 20> text{};
  std::size_t size = 0;
  int exponent = 0;

  std::string_view digits() const noexcept { return {text.data(), size}; }

  void drop_zeros() noexcept;
  /// The next larger number of as many digits.
  void increment() noexcept;
  /// The double nearest to it. Written without a point, which is another in some locales.
  double read_back() const noexcept;
};

/// The fewest digits that read back as `magnitude`, which is finite and above 0, and of those the
/// nearest to it: what `std::to_chars` gives, whose tables alone take 120 KiB of a small program.
decimal_digits shortest_digits(double magnitude) noexcept;

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/json/impl/shortest_double_impl.hpp>
#endif
