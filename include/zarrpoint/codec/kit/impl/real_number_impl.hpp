// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/real_number.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/float_bits.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE real_number real_number::of_double(double value) {
  real_number out;
  out.negative = std::signbit(value);
  if (std::isnan(value)) {
    out.what = kind::nan;
  } else if (std::isinf(value)) {
    out.what = kind::infinite;
  } else if (value != 0) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    out.magnitude = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    out.exponent = exponent - 53;
  }
  return out;
}

ZARRPOINT_INLINE real_number real_number::of_int64(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return {value < 0 ? 0 - bits : bits, 0, value < 0, kind::finite};
}

ZARRPOINT_INLINE bool is_real(const dtype& type) { return type.is_integer() || type.is_floating(); }

ZARRPOINT_INLINE std::uint64_t load_bits(const std::byte* from, std::size_t size) {
  std::uint64_t bits = 0;
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(reinterpret_cast<std::byte*>(&bits) + skip, from, size);
  return bits;
}

ZARRPOINT_INLINE void store_bits(std::byte* to, std::uint64_t bits, std::size_t size) {
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(to, reinterpret_cast<const std::byte*>(&bits) + skip, size);
}

ZARRPOINT_INLINE real_format::real_format(const dtype& of)
    : type(of), width(static_cast<int>(of.bits())) {
  is_signed = of.is_signed_integer();
  is_float = of.is_floating();
  if (!is_float) return;
  read_float = float_reader_of(of);
  write_float = float_writer_of(of);
  visit_float(of, [this]<class T>(T) {
    using limits = std::numeric_limits<T>;
    has_nan = limits::has_quiet_NaN;
    has_infinity = limits::has_infinity;
    has_negative = limits::is_signed;
    mantissa = limits::digits - 1;
    min_exponent = limits::min_exponent - 1;
    max = static_cast<double>(limits::max());
    min = static_cast<double>(limits::denorm_min());
  });
  has_zero = type != dtype_kind::float8_e8m0fnu;
}

ZARRPOINT_INLINE std::uint64_t real_format::extended(std::uint64_t bits) const {
  bits &= mask();
  if (is_signed && (bits >> (width - 1) & 1) != 0) bits |= ~mask();
  return bits;
}

ZARRPOINT_INLINE real_number real_format::value(std::uint64_t bits) const {
  if (is_float) return real_number::of_double(read_float(bits));
  const std::uint64_t whole = extended(bits);
  if (is_signed) return real_number::of_int64(static_cast<std::int64_t>(whole));
  return {whole, 0, false, real_number::kind::finite};
}

ZARRPOINT_INLINE std::uint64_t real_format::key(std::uint64_t bits) const {
  if (!is_float) return bits & mask();
  const double number = read_float(bits);
  if (number == 0) return 0;
  if (std::isnan(number)) return ~std::uint64_t{0};
  return std::bit_cast<std::uint64_t>(number);
}

ZARRPOINT_INLINE result<std::uint64_t> read_real(const node& value, const real_format& format) {
  const std::string type(to_string(format.type));
  const auto refuse = [&] {
    return error{errc::invalid_argument, "the value is not a number of type " + type};
  };
  if (const std::string* const text = value.if_string()) {
    if (!format.is_float) return refuse();
    if (*text == "NaN" && format.has_nan) return nan_bits(format.type);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (format.has_infinity && (*text == "Infinity" || *text == "+Infinity"))
      return format.write_float(infinity);
    if (format.has_infinity && *text == "-Infinity") return format.write_float(-infinity);
    std::uint64_t bits = 0;
    const char* const end = text->data() + text->size();
    if (!text->starts_with("0x") || text->size() != 2 + 2 * format.type.size()) return refuse();
    const auto [last, status] = std::from_chars(text->data() + 2, end, bits, 16);
    if (status != std::errc() || last != end) return refuse();
    return bits & format.mask();
  }
  if (!value.is_number()) return refuse();
  if (format.is_float) {
    const double number = *value.to_double();
    if (!std::isfinite(number)) return refuse();
    const std::uint64_t bits = format.write_float(number);
    const double kept = format.read_float(bits);
    if (!std::isfinite(kept) || std::fabs(number) > 2 * format.max) return refuse();
    return bits;
  }
  std::optional<std::int64_t> whole = value.to_int64();
  std::optional<std::uint64_t> natural = value.to_uint64();
  if (!value.is_integer()) {
    // 2.0 is an integer too.
    const double number = *value.to_double();
    if (number != std::floor(number) || std::fabs(number) >= 0x1p63) return refuse();
    whole = static_cast<std::int64_t>(number);
    if (number >= 0) natural = static_cast<std::uint64_t>(number);
  }
  const std::uint64_t bits = natural ? *natural : static_cast<std::uint64_t>(whole.value_or(0));
  const bool fits = format.is_signed
                        ? whole && format.extended(bits) == static_cast<std::uint64_t>(*whole)
                        : natural && *natural <= format.mask();
  if (!fits) return refuse();
  return bits & format.mask();
}

}}}  // namespace zarrpoint::v0::detail
