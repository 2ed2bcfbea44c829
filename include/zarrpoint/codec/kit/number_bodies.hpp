// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/checksums.hpp>
#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/real_number.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace zarrpoint { inline namespace v0 { namespace detail {

// -------------------------------------------------------------------------------------- filter.hpp

ZARRPOINT_INLINE dtype numpy_number(char kind, std::size_t size) {
  const bool is_power = size == 1 || size == 2 || size == 4 || size == 8;
  if (kind == 'b' && size == 1) return dtype_kind::bool_;
  if ((kind == 'i' || kind == 'u') && is_power) return integer_of_size(kind == 'i', size);
  if (kind == 'f' && is_power && size > 1) return float_of_size(size);
  if (kind == 'c' && size == 8) return dtype_kind::complex64;
  if (kind == 'c' && size == 16) return dtype_kind::complex128;
  return {};
}

ZARRPOINT_INLINE result<filter_dtype> parse_filter_dtype(std::string_view text) {
  filter_dtype out{{}, false, std::string(text)};
  const std::optional<dtype> named = parse_dtype(text);
  if (named && is_numpy_number(*named)) {
    out.type = *named;
    return out;
  }
  std::string_view rest = text;
  const bool has_order = rest.starts_with('<') || rest.starts_with('>') || rest.starts_with('|');
  if (has_order) rest.remove_prefix(1);
  std::size_t size = 0;
  if (rest.size() > 1) {
    const auto [end, status] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), size);
    if (status == std::errc() && end == rest.data() + rest.size())
      out.type = numpy_number(rest.front(), size);
  }
  if (!out.type.valid())
    return error{errc::unsupported, "a filter cannot work on elements of type " + in_quotes(text)};
  out.swapped = text.front() == '>' && out.type.scalar_size() > 1;
  return out;
}

ZARRPOINT_INLINE void filter_types::fields(configuration_fields& all, std::string_view decoded_key,
                                           std::string_view encoded_key) {
  for (const auto& [key, type] : {std::pair{decoded_key, &decoded}, {encoded_key, &encoded}}) {
    if (*type) all.put(key, (*type)->text);
    const json* const found = all.find(key);
    if (found == nullptr || found->is_null()) continue;
    std::string text;
    all.text(key, text);
    if (found->if_string() == nullptr) continue;
    result<filter_dtype> parsed = parse_filter_dtype(text).at(in_quotes(key));
    if (parsed)
      *type = *std::move(parsed);
    else
      all.fail(parsed.failure());
  }
}

ZARRPOINT_INLINE result<tensor_spec> viewed_spec(const tensor_spec& chunk, const dtype& as) {
  ZARRPOINT_TRY(bytes, byte_count(chunk));
  if (chunk.type.size() == 0)
    return error{errc::unsupported, "a filter needs elements of a fixed size"};
  if (chunk.type.size() == as.size()) return tensor_spec{as, chunk.shape};
  if (bytes % as.size() != 0)
    return error{errc::invalid_argument, "a chunk of " + std::to_string(bytes) +
                                             " bytes is not a whole number of elements of type " +
                                             std::string(to_string(as))};
  return tensor_spec{as, {static_cast<index_t>(bytes / as.size())}};
}

ZARRPOINT_INLINE result<std::byte*> filter_memory::take(buffer& held, std::size_t bytes) {
  if (held.size() < bytes) {
    held = {};
    ZARRPOINT_TRY(grown, buffer::allocate(bytes, *resource));
    held = std::move(grown);
  }
  return held.bytes().data();
}

ZARRPOINT_INLINE result<host_view> dense_elements(const host_view& view, const filter_dtype& as,
                                                  codec_workspace& scratch) {
  ZARRPOINT_TRY(bytes, byte_count(view.spec()));
  const tensor_spec run{as.type, {static_cast<index_t>(bytes / as.type.size())}};
  if (is_dense(view) && !as.swapped) return dense_view(view.data, run);
  auto& memory = scratch.state<filter_memory>();
  ZARRPOINT_TRY(data, memory.take(memory.in, bytes));
  copy_elements(dense_view(data, view.spec()), view);
  if (as.swapped) byteswap_elements({data, bytes}, as.type.scalar_size());
  return dense_view(std::as_const(data), run);
}

ZARRPOINT_INLINE void tidy_elements(mutable_bytes bytes, const dtype& type) {
  if (type == dtype_kind::bool_) {
    for (std::byte& b : bytes) b = b == std::byte{0} ? b : std::byte{1};
  } else if (type.is_below_byte()) {
    for (std::byte& b : bytes) b &= static_cast<std::byte>((1U << type.bits()) - 1);
  }
}

ZARRPOINT_INLINE result<filter_types> filter_types::resolve(const tensor_spec& chunk) const {
  filter_types out = *this;
  if (!out.decoded) {
    if (!is_numpy_number(chunk.type))
      return error{errc::unsupported, "a filter cannot work on elements of type " +
                                          std::string(to_string(chunk.type))};
    out.decoded = filter_dtype{chunk.type, false, std::string(to_string(chunk.type))};
  }
  if (!out.encoded) out.encoded = filter_dtype{out.decoded->type, false, out.decoded->text};
  ZARRPOINT_CHECK(viewed_spec(chunk, out.decoded->type));
  return out;
}

ZARRPOINT_INLINE tensor_spec filter_types::encoded_spec(const tensor_spec& chunk) const {
  const result<tensor_spec> seen = viewed_spec(chunk, decoded->type);
  return {encoded->type, seen ? seen->shape : chunk.shape};
}

ZARRPOINT_INLINE result<std::vector<std::byte>> filter_types::encode_fill(
    bytes_view fill, const tensor_spec& chunk) const {
  if (fill.size() != chunk.type.size() || decoded->type.size() != fill.size())
    return error{errc::unsupported,
                 "the filter changes the element type, so it cannot be applied to the fill value"};
  std::vector<std::byte> out(encoded->type.size());
  ZARRPOINT_CHECK(numpy_cast(dense_view(out.data(), {encoded->type, {1}}),
                             dense_view(fill.data(), {decoded->type, {1}})));
  return out;
}

ZARRPOINT_INLINE result<void> run_filter(const mutable_host_view& to, const filter_dtype& made,
                                         const host_view& from, const filter_dtype& seen,
                                         codec_workspace& scratch, filter_step f) {
  ZARRPOINT_TRY(source, dense_elements(from, seen, scratch));
  ZARRPOINT_TRY(bytes, byte_count(to.spec()));
  const bool in_place = is_dense(to);
  std::byte* data = to.data;
  if (!in_place) {
    auto& memory = scratch.state<filter_memory>();
    ZARRPOINT_TRY(taken, memory.take(memory.out, bytes));
    data = taken;
  }
  const index_t count = static_cast<index_t>(bytes / made.type.size());
  const mutable_host_view target = dense_view(data, tensor_spec{made.type, {count}});
  ZARRPOINT_CHECK(f(target, source));
  if (made.swapped) byteswap_elements({data, bytes}, made.type.scalar_size());
  if (made.type != to.type) tidy_elements({data, bytes}, to.type);
  if (!in_place) copy_elements(to, dense_view(std::as_const(data), to.spec()));
  return {};
}

ZARRPOINT_INLINE bool is_numpy_number(const dtype& type) {
  if (!type.is_number() || type.is_below_byte()) return false;
  if (type == dtype_kind::bfloat16) return false;
  return type.is_complex() ? type.size() >= 8 : !type.is_floating() || type.size() >= 2;
}

ZARRPOINT_INLINE dtype float_of_size(std::size_t bytes) {
  if (bytes <= 2) return dtype_kind::float16;
  return bytes <= 4 ? dtype_kind::float32 : dtype_kind::float64;
}

ZARRPOINT_INLINE dtype integer_of_size(bool is_signed, std::size_t bytes) {
  switch (bytes) {
    case 1: return is_signed ? dtype_kind::int8 : dtype_kind::uint8;
    case 2: return is_signed ? dtype_kind::int16 : dtype_kind::uint16;
    case 4: return is_signed ? dtype_kind::int32 : dtype_kind::uint32;
    default: return is_signed ? dtype_kind::int64 : dtype_kind::uint64;
  }
}

/// The float that holds a number of `type` in arithmetic with other floats.
ZARRPOINT_INLINE dtype least_float(const dtype& type) {
  if (type.is_floating()) return type;
  if (type == dtype_kind::bool_) return dtype_kind::float16;
  return float_of_size(2 * type.size());
}

ZARRPOINT_INLINE dtype promote(const dtype& a, const dtype& b) {
  if (a == b) return a;
  if (a.is_complex() || b.is_complex()) {
    const dtype part = promote(least_float(a.component()), least_float(b.component()));
    return part == dtype_kind::float64 ? dtype_kind::complex128 : dtype_kind::complex64;
  }
  if (a == dtype_kind::bool_) return b;
  if (b == dtype_kind::bool_) return a;
  if (a.is_floating() || b.is_floating())
    return float_of_size(std::max(least_float(a).size(), least_float(b).size()));
  const std::size_t widest = std::max(a.size(), b.size());
  if (a.is_signed_integer() == b.is_signed_integer())
    return integer_of_size(a.is_signed_integer(), widest);
  const std::size_t natural = a.is_signed_integer() ? b.size() : a.size();
  if (natural < widest) return integer_of_size(true, widest);
  return widest == 8 ? dtype(dtype_kind::float64) : integer_of_size(true, 2 * widest);
}

ZARRPOINT_INLINE result<void> numpy_cast(const mutable_host_view& to, const host_view& from) {
  const bool from_float = from.type.is_floating() || from.type.is_complex();
  if (!from_float || !to.type.is_integer()) return cast_elements(to, from);
  const std::size_t part = from.type.scalar_size();
  const float_reader read = float_reader_of(from.type.component());
  const auto count = static_cast<std::size_t>(element_count(from.shape).value_or(0));
  const auto convert_all = [&]<class T>() {
    for (std::size_t i = 0; i < count; ++i) {
      const T value = numpy_truncate<T>(read(load_native(from.data + i * from.type.size(), part)));
      std::memcpy(to.data + i * sizeof(T), &value, sizeof(T));
    }
  };
  visit_common(to.type.kind(), [&]<class T>() {
    if constexpr (std::integral<T> && !std::same_as<T, bool>) convert_all.template operator()<T>();
  });
  return {};
}

// --------------------------------------------------------------------------------- real_number.hpp

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

ZARRPOINT_INLINE result<std::uint64_t> read_real(const json& value, const real_format& format) {
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

namespace zarrpoint { inline namespace v0 {

// ----------------------------------------------------------------------------------- checksums.hpp

ZARRPOINT_INLINE std::uint32_t crc32(bytes_view data) noexcept { return detail::crc32(0, data); }

ZARRPOINT_INLINE std::uint32_t adler32(bytes_view data) noexcept {
  constexpr std::uint32_t modulus = 65521;
  constexpr std::size_t run = 5552;  // the most bytes before the second sum may overflow
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  while (!data.empty()) {
    const bytes_view piece = data.first(std::min(run, data.size()));
    for (const std::byte next : piece) {
      low += static_cast<std::uint32_t>(next);
      high += low;
    }
    low %= modulus;
    high %= modulus;
    data = data.subspan(piece.size());
  }
  return high << 16 | low;
}

ZARRPOINT_INLINE std::uint32_t fletcher32(bytes_view data) noexcept {
  constexpr std::size_t run = 2 * 360;  // the most bytes before the second sum may overflow
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const auto fold = [&] {
    first = (first & 0xffff) + (first >> 16);
    second = (second & 0xffff) + (second >> 16);
  };
  while (data.size() >= 2) {
    const bytes_view piece = data.first(std::min(run, data.size() - data.size() % 2));
    for (std::size_t i = 0; i < piece.size(); i += 2) {
      first += static_cast<std::uint32_t>(piece[i]) << 8 | static_cast<std::uint32_t>(piece[i + 1]);
      second += first;
    }
    fold();
    data = data.subspan(piece.size());
  }
  if (!data.empty()) {
    first += static_cast<std::uint32_t>(data[0]) << 8;
    second += first;
    fold();
  }
  fold();
  return second << 16 | first;
}

ZARRPOINT_INLINE std::uint32_t jenkins_lookup3(bytes_view data, std::uint32_t initial) noexcept {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(data.size()) + initial;
  std::uint32_t b = a;
  std::uint32_t c = a;
  while (data.size() > 12) {
    a += load_le<std::uint32_t>(data.data());
    b += load_le<std::uint32_t>(data.data() + 4);
    c += load_le<std::uint32_t>(data.data() + 8);
    a = (a - c) ^ std::rotl(c, 4), c += b;
    b = (b - a) ^ std::rotl(a, 6), a += c;
    c = (c - b) ^ std::rotl(b, 8), b += a;
    a = (a - c) ^ std::rotl(c, 16), c += b;
    b = (b - a) ^ std::rotl(a, 19), a += c;
    c = (c - b) ^ std::rotl(b, 4), b += a;
    data = data.subspan(12);
  }
  if (data.empty()) return c;
  std::array<std::byte, 12> last{};
  std::copy(data.begin(), data.end(), last.begin());
  a += load_le<std::uint32_t>(last.data());
  b += load_le<std::uint32_t>(last.data() + 4);
  c += load_le<std::uint32_t>(last.data() + 8);
  c = (c ^ b) - std::rotl(b, 14);
  a = (a ^ c) - std::rotl(c, 11);
  b = (b ^ a) - std::rotl(a, 25);
  c = (c ^ b) - std::rotl(b, 16);
  a = (a ^ c) - std::rotl(c, 4);
  b = (b ^ a) - std::rotl(a, 14);
  return (c ^ b) - std::rotl(b, 24);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#include <zarrpoint/core/checksum/bodies.hpp>
#endif
