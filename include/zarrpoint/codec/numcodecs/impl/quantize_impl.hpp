// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/numcodecs/fixed_scale_offset.hpp>
#include <zarrpoint/codec/numcodecs/quantize.hpp>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<quantize_codec> quantize_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"digits", "dtype", "astype"}));
  quantize_codec out;
  ZARRPOINT_TRY(digits, reader.integer("digits", -max_digits, max_digits));
  if (!digits) return error{errc::invalid_argument, "\"digits\" is missing"};
  out.digits = *digits;
  ZARRPOINT_TRY(decoded, detail::read_filter_dtype(reader, "dtype"));
  ZARRPOINT_TRY(encoded, detail::read_filter_dtype(reader, "astype"));
  out.types = {std::move(decoded), std::move(encoded)};
  return out;
}

ZARRPOINT_INLINE node quantize_codec::configuration() const {
  node out{node::object{}};
  out.set("digits", digits);
  if (types.decoded) out.set("dtype", types.decoded->text);
  if (types.encoded) out.set("astype", types.encoded->text);
  return out;
}

ZARRPOINT_INLINE result<quantize_codec> quantize_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, types.resolve(decoded));
  if (!bound.decoded->type.is_floating() || !bound.encoded->type.is_floating())
    return error{errc::unsupported, "elements that are not floats"};
  return quantize_codec{digits, std::move(bound)};
}

ZARRPOINT_INLINE result<void> quantize_codec::encode(const host_view& from,
                                                     const mutable_host_view& to,
                                                     codec_workspace& scratch) const {
  const double power = std::pow(10.0, static_cast<double>(digits));
  const double scale = std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(power))));
  return types.encode(to, from, scratch, [&](const auto& made, const auto& seen) {
    return detail::for_each_block(made, seen, [&](const auto& target, const auto& source) {
      return quantize(target, source, scale);
    });
  });
}

ZARRPOINT_INLINE result<void> quantize_codec::decode(const host_view& from,
                                                     const mutable_host_view& to,
                                                     codec_workspace& scratch) const {
  return types.decode(to, from, scratch, [&](const auto& made, const auto& seen) {
    return detail::numpy_cast(made, seen);
  });
}

ZARRPOINT_INLINE result<std::vector<std::byte>> quantize_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  return types.encode_fill(fill, decoded);
}

ZARRPOINT_INLINE result<void> quantize_codec::quantize(const mutable_host_view& to,
                                                       const host_view& from, double scale) {
  const auto count = static_cast<std::size_t>(from.shape[0]);
  const dtype& type = from.type;
  detail::number_block block;
  double* const values = reinterpret_cast<double*>(block.storage.data());
  const mutable_host_view doubles = block.as(dtype_kind::float64, count);
  ZARRPOINT_CHECK(detail::numpy_cast(doubles, from));
  detail::round_to(type, &scale, 1);
  for (std::size_t i = 0; i < count; ++i) values[i] *= scale;
  detail::round_to(type, values, count);
  // A type too narrow for the scale divides by 0 or infinity, as NumPy does.
  for (std::size_t i = 0; i < count; ++i) values[i] = divide(std::nearbyint(values[i]), scale);
  detail::round_to(type, values, count);
  return detail::numpy_cast(to, as_const(doubles));
}

ZARRPOINT_INLINE double quantize_codec::divide(double value, double by) {
  if (by != 0) return value / by;
  return std::numeric_limits<double>::quiet_NaN();
}

}}  // namespace zarrpoint::v0
