// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/real_cast.hpp>
#include <zarrpoint/codec/kit/real_number.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The whole number of steps of `2^drop` nearest to `magnitude`; `drop` is positive.
ZARRPOINT_INLINE std::uint64_t round_steps(std::uint64_t magnitude, int drop, bool negative,
                                           rounding how) {
  const bool all = drop >= 64;
  std::uint64_t kept = all ? 0 : magnitude >> drop;
  const std::uint64_t rest = all ? magnitude : magnitude & ~(~std::uint64_t{0} << drop);
  if (rest == 0) return kept;
  // Beyond 64 bits a half is more than there can be.
  const std::uint64_t half = drop > 64 ? 0 : std::uint64_t{1} << (drop - 1);
  const bool above = drop <= 64 && rest > half;
  const bool tie = drop <= 64 && rest == half;
  bool up = false;
  switch (how) {
    case rounding::nearest_even: up = above || (tie && (kept & 1) != 0); break;
    case rounding::nearest_away: up = above || tie; break;
    case rounding::towards_zero: break;
    case rounding::towards_positive: up = !negative; break;
    case rounding::towards_negative: up = negative; break;
  }
  return up ? kept + 1 : kept;
}

/// Nothing for a number that the rules leave without a place.
ZARRPOINT_INLINE std::optional<std::uint64_t> cast_to_integer(real_number value,
                                                              const real_format& to,
                                                              const cast_rules& rules) {
  if (value.what != real_number::kind::finite) return std::nullopt;
  std::uint64_t steps = value.magnitude;
  bool huge = false;  // 2^64 or more
  if (value.exponent < 0) {
    steps = round_steps(steps, -value.exponent, value.negative, rules.rounding);
  } else if (value.exponent > 0 && steps != 0) {
    huge = value.exponent >= 64 || steps >> (64 - value.exponent) != 0;
    steps = value.exponent >= 64 ? 0 : steps << value.exponent;
  }
  const std::uint64_t high = to.is_signed ? to.mask() >> 1 : to.mask();
  const std::uint64_t deepest = to.is_signed ? high + 1 : 0;
  const bool fits = !huge && steps <= (value.negative ? deepest : high);
  if (!fits && rules.beyond == out_of_range::refuse) return std::nullopt;
  if (!fits && rules.beyond == out_of_range::clamp)
    return (value.negative ? 0 - deepest : high) & to.mask();
  return (value.negative ? 0 - steps : steps) & to.mask();
}

ZARRPOINT_INLINE std::optional<std::uint64_t> cast_to_float(real_number value,
                                                            const real_format& to,
                                                            const cast_rules& rules) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double sign = value.negative ? -1 : 1;
  if (value.what == real_number::kind::nan) {
    if (!to.has_nan) return std::nullopt;
    return nan_bits(to.type);
  }
  if (value.what == real_number::kind::infinite) {
    if (!to.has_infinity) return std::nullopt;
    return to.write_float(sign * infinity);
  }
  double rounded = 0;
  if (value.magnitude != 0) {
    const int leading = static_cast<int>(std::bit_width(value.magnitude)) - 1 + value.exponent;
    const int step = std::max(leading, to.min_exponent) - to.mantissa;
    const int drop = step - value.exponent;
    // Wide enough for 64 bits with none to drop, as the exponents are chosen.
    const std::uint64_t steps =
        drop > 0 ? round_steps(value.magnitude, drop, value.negative, rules.rounding)
                 : value.magnitude;
    rounded = std::ldexp(static_cast<double>(steps), drop > 0 ? step : value.exponent);
  }
  const bool below = (!to.has_zero && rounded < to.min) || (!to.has_negative && value.negative);
  if (below) {
    if (rules.beyond != out_of_range::clamp) return std::nullopt;
    return to.write_float(to.min);
  }
  if (rounded > to.max) {
    if (rules.beyond != out_of_range::clamp) return std::nullopt;
    return to.write_float(sign * (to.has_infinity ? infinity : to.max));
  }
  return to.write_float(sign * rounded);
}

ZARRPOINT_INLINE std::optional<std::uint64_t> cast_real(const real_number& value,
                                                        const real_format& to,
                                                        const cast_rules& rules) {
  return to.is_float ? cast_to_float(value, to, rules) : cast_to_integer(value, to, rules);
}

}}}  // namespace zarrpoint::v0::detail
