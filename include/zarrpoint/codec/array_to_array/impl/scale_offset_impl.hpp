// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_array/scale_offset.hpp>
#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/real_number.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<scale_offset_codec> scale_offset_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"offset", "scale"}));
  scale_offset_codec out;
  if (const node* const found = reader.find("offset")) out.offset = *found;
  if (const node* const found = reader.find("scale")) out.scale = *found;
  return out;
}

ZARRPOINT_INLINE node scale_offset_codec::configuration() const {
  node out{node::object{}};
  if (offset) out.set("offset", *offset);
  if (scale) out.set("scale", *scale);
  return out;
}

ZARRPOINT_INLINE result<scale_offset_codec> scale_offset_codec::resolve(
    const tensor_spec& decoded) const {
  if (!detail::is_real(decoded.type))
    return error{errc::unsupported,
                 "cannot scale elements of type " + std::string(to_string(decoded.type))};
  const detail::real_format format(decoded.type);
  scale_offset_codec out = *this;
  if (offset) {
    ZARRPOINT_TRY(bits, detail::read_real(*offset, format).at("\"offset\""));
    out.offset_bits = bits;
  }
  if (scale) {
    ZARRPOINT_TRY(bits, detail::read_real(*scale, format).at("\"scale\""));
    if (format.key(bits) == 0 && format.value(bits).magnitude == 0)
      return error{errc::invalid_argument, "\"scale\" is 0"};
    out.scale_bits = bits;
  }
  return out;
}

ZARRPOINT_INLINE result<void> scale_offset_codec::encode(const host_view& from,
                                                         const mutable_host_view& to,
                                                         codec_workspace& scratch) const {
  return run(to, from, scratch, true);
}

ZARRPOINT_INLINE result<void> scale_offset_codec::decode(const host_view& from,
                                                         const mutable_host_view& to,
                                                         codec_workspace& scratch) const {
  return run(to, from, scratch, false);
}

ZARRPOINT_INLINE result<std::vector<std::byte>> scale_offset_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  const detail::real_format format(decoded.type);
  std::vector<std::byte> out(fill.size());
  ZARRPOINT_TRY(bits, step(format, detail::load_bits(fill.data(), fill.size()), true));
  detail::store_bits(out.data(), bits, out.size());
  return out;
}

ZARRPOINT_INLINE result<void> scale_offset_codec::run(const mutable_host_view& to,
                                                      const host_view& from,
                                                      codec_workspace& scratch,
                                                      bool forward) const {
  const detail::filter_dtype same{from.type, false, {}};
  const detail::real_format format(from.type);
  return detail::run_filter(
      to, same, from, same, scratch, [&](const auto& made, const auto& seen) -> result<void> {
        const std::size_t size = seen.type.size();
        const auto count = static_cast<std::size_t>(seen.shape[0]);
        for (std::size_t i = 0; i < count; ++i) {
          ZARRPOINT_TRY(bits, step(format, detail::load_bits(seen.data + i * size, size), forward));
          detail::store_bits(made.data + i * size, bits, size);
        }
        return {};
      });
}

ZARRPOINT_INLINE result<std::uint64_t> scale_offset_codec::step(const detail::real_format& format,
                                                                std::uint64_t bits,
                                                                bool forward) const {
  return format.is_float ? step_float(format, bits, forward) : step_integer(format, bits, forward);
}

ZARRPOINT_INLINE result<std::uint64_t> scale_offset_codec::step_float(
    const detail::real_format& format, std::uint64_t bits, bool forward) const {
  double value = format.read_float(bits);
  const double by = scale ? format.read_float(scale_bits) : 1;
  const double less = offset ? format.read_float(offset_bits) : 0;
  bool holds = true;
  const auto round = [&](double exact) {
    const bool was_number = std::isfinite(value);
    value = format.read_float(format.write_float(exact));
    if (!was_number) return;
    // Without infinities what is too large would become the largest number.
    holds = holds && std::isfinite(value) && (format.has_nan || std::fabs(exact) <= format.max);
  };
  if (forward) {
    if (offset) round(value - less);
    if (scale) round(value * by);
  } else {
    if (scale) round(value / by);
    if (offset) round(value + less);
  }
  if (!holds) return not_held(format, forward);
  return offset || scale ? format.write_float(value) : bits & format.mask();
}

ZARRPOINT_INLINE result<std::uint64_t> scale_offset_codec::step_integer(
    const detail::real_format& format, std::uint64_t bits, bool forward) const {
  __extension__ using wide = __int128;
  const auto widened = [&](std::uint64_t of) {
    const std::uint64_t whole = format.extended(of);
    return format.is_signed ? static_cast<wide>(static_cast<std::int64_t>(whole))
                            : static_cast<wide>(whole);
  };
  const wide low = format.is_signed ? -(wide{1} << (format.width - 1)) : 0;
  const wide high = low + static_cast<wide>(format.mask());
  const auto holds = [&](wide value) { return value >= low && value <= high; };
  wide value = widened(bits);
  const wide less = offset ? widened(offset_bits) : 0;
  const wide by = scale ? widened(scale_bits) : 1;
  if (forward) {
    value -= less;
    if (!holds(value)) return not_held(format, forward);
    // Two numbers of 64 bits without a sign may have a product of 128.
    if (__builtin_mul_overflow(value, by, &value)) return not_held(format, forward);
  } else {
    if (value % by != 0) return not_held(format, forward);
    value /= by;
    if (!holds(value)) return not_held(format, forward);
    value += less;
  }
  if (!holds(value)) return not_held(format, forward);
  return static_cast<std::uint64_t>(value) & format.mask();
}

ZARRPOINT_INLINE error scale_offset_codec::not_held(const detail::real_format& format,
                                                    bool forward) {
  return {forward ? errc::invalid_argument : errc::corrupt,
          "a scaled number does not fit " + std::string(to_string(format.type))};
}

}}  // namespace zarrpoint::v0
