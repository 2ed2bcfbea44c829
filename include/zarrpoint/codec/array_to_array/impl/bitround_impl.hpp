// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/bitround.hpp>
#include <zarrpoint/codec/kit/filter.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Rounds to the bits above the lowest `drop`, 0 < `drop` < the width, ties to even.
template <class U>
U round_bits(U bits, int drop) {
  const U half = static_cast<U>((U{1} << (drop - 1)) - 1 + (bits >> drop & 1));
  return static_cast<U>(static_cast<U>(bits + half) >> drop << drop);
}

/// Rounds an integer to `keep` bits from the highest that is set.
template <class U>
U round_integer_bits(U bits, int keep) {
  const int drop = static_cast<int>(std::bit_width(bits)) - keep;
  if (drop <= 0) return bits;
  const U half = static_cast<U>((U{1} << (drop - 1)) - 1 + (bits >> drop & 1));
  // What would not fit stays the largest multiple.
  const U sum =
      bits > static_cast<U>(~U{0} - half) ? static_cast<U>(~U{0}) : static_cast<U>(bits + half);
  return static_cast<U>(sum >> drop << drop);
}

}  // namespace detail

ZARRPOINT_INLINE result<bitround_codec> bitround_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"keepbits"}));
  ZARRPOINT_TRY(keepbits, reader.integer("keepbits", 0, INT32_MAX));
  if (!keepbits) return error{errc::invalid_argument, "\"keepbits\" is missing"};
  return bitround_codec{static_cast<int>(*keepbits)};
}

ZARRPOINT_INLINE node bitround_codec::configuration() const {
  node out{node::object{}};
  out.set("keepbits", keepbits);
  return out;
}

ZARRPOINT_INLINE result<bitround_codec> bitround_codec::resolve(const tensor_spec& decoded) const {
  const dtype& type = decoded.type;
  const int mantissa = mantissa_bits(type);
  const bool is_whole = (type.is_integer() && !type.is_below_byte()) || type.is_time();
  if (mantissa == 0 && !is_whole)
    return error{errc::unsupported,
                 "cannot round the bits of elements of type " + std::string(to_string(type))};
  if (is_whole && keepbits == 0)
    return error{errc::invalid_argument,
                 "\"keepbits\" must not be 0 for elements of type " + std::string(to_string(type))};
  return *this;
}

ZARRPOINT_INLINE result<void> bitround_codec::encode(const host_view& from,
                                                     const mutable_host_view& to,
                                                     codec_workspace& scratch) const {
  const detail::filter_dtype same{from.type, false, {}};
  return detail::run_filter(to, same, from, same, scratch, [&](const auto& made, const auto& seen) {
    round(made, seen);
    return result<void>();
  });
}

ZARRPOINT_INLINE result<void> bitround_codec::decode(const host_view& from,
                                                     const mutable_host_view& to,
                                                     codec_workspace&) const {
  copy_elements(to, from);
  return {};
}

ZARRPOINT_INLINE result<std::vector<std::byte>> bitround_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  std::vector<std::byte> out(fill.size());
  round(dense_view(out.data(), {decoded.type, {1}}), dense_view(fill.data(), {decoded.type, {1}}));
  return out;
}

ZARRPOINT_INLINE int bitround_codec::mantissa_bits(const dtype& type) {
  const dtype part = type.component();
  if (part == dtype_kind::float16) return 10;
  if (part == dtype_kind::bfloat16) return 7;
  if (part == dtype_kind::float32) return 23;
  return part == dtype_kind::float64 ? 52 : 0;
}

ZARRPOINT_INLINE void bitround_codec::round(const mutable_host_view& to,
                                            const host_view& from) const {
  const int mantissa = mantissa_bits(from.type);
  const std::size_t part = from.type.scalar_size();
  const std::size_t parts = from.type.size() / part;
  const auto count = static_cast<std::size_t>(from.shape[0]) * parts;
  const auto round_all = [&]<class U>(U) {
    for (std::size_t i = 0; i < count; ++i) {
      U bits = 0;
      std::memcpy(&bits, from.data + i * part, part);
      if (mantissa == 0) {
        bits = detail::round_integer_bits(bits, keepbits);
      } else if (keepbits < mantissa) {
        bits = detail::round_bits(bits, mantissa - keepbits);
      }
      std::memcpy(to.data + i * part, &bits, part);
    }
  };
  switch (part) {
    case 1: return round_all(std::uint8_t{});
    case 2: return round_all(std::uint16_t{});
    case 4: return round_all(std::uint32_t{});
    default: return round_all(std::uint64_t{});
  }
}

}}  // namespace zarrpoint::v0
