// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/float_bits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

// Integers and floats of a type known at run time, without loss: what the codecs that change values
// count with.

/// An integer or a float: `magnitude * 2^exponent` with a sign, or no number at all.
struct real_number {
  enum class kind : std::uint8_t { finite, infinite, nan };

  std::uint64_t magnitude = 0;
  int exponent = 0;
  bool negative = false;
  kind what = kind::finite;

  static real_number of_double(double value);
  static real_number of_int64(std::int64_t value);
};

bool is_real(const dtype& type);

/// Reads and writes the bits of the numbers of one type.
struct real_format {
  dtype type;
  int width;  ///< bits of a number
  bool is_signed = false;
  bool is_float = false;
  bool has_nan = false;
  bool has_infinity = false;
  bool has_negative = true;  ///< for floats
  bool has_zero = true;
  int mantissa = 0;
  int min_exponent = 0;  ///< of the smallest normal number
  double max = 0;        ///< the largest number of a float
  double min = 0;        ///< the smallest one above zero
  float_reader read_float = nullptr;
  float_writer write_float = nullptr;

  explicit real_format(const dtype& of);

  std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - width); }
  /// The integer that bits stand for, in 64 bits.
  std::uint64_t extended(std::uint64_t bits) const;
  real_number value(std::uint64_t bits) const;
  /// Equal for bits that stand for equal numbers: both zeros are one, and all NaNs.
  std::uint64_t key(std::uint64_t bits) const;
};

/// The bits of a number as fill values spell it. That is a JSON number, "NaN", "Infinity",
/// "-Infinity", or the hex digits of the bits of a float (Zarr v3 data types, "Fill value").
result<std::uint64_t> read_real(const json& value, const real_format& format);

// Numbers of one type as numbers of another, with every rule said (registered codec "cast_value").

enum class rounding : std::uint8_t {
  nearest_even,
  towards_zero,
  towards_positive,
  towards_negative,
  nearest_away,
};

enum class out_of_range : std::uint8_t { refuse, clamp, wrap };

struct cast_rules {
  detail::rounding rounding = detail::rounding::nearest_even;
  out_of_range beyond = out_of_range::refuse;
};

/// The bits of the number in another type, or nothing when the rules say that it has no place
/// there.
std::optional<std::uint64_t> cast_real(const real_number& value, const real_format& to,
                                       const cast_rules& rules);

}}}  // namespace zarrpoint::v0::detail
