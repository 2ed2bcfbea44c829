// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/numcodecs/fixed_scale_offset.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE void round_to(const dtype& type, double* values, std::size_t count) {
  if (type == dtype_kind::float32) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<double>(static_cast<float>(values[i]));
  } else if (type == dtype_kind::float16) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<double>(static_cast<float>(float16(values[i])));
  }
}

ZARRPOINT_INLINE mutable_host_view number_block::as(const dtype& type, std::size_t count) {
  return dense_view(reinterpret_cast<std::byte*>(storage.data()),
                    {type, {static_cast<index_t>(count)}});
}

}  // namespace detail

ZARRPOINT_INLINE result<fixed_scale_offset_codec> fixed_scale_offset_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader,
                configuration_reader::open(configuration, {"offset", "scale", "dtype", "astype"}));
  fixed_scale_offset_codec out;
  for (const auto& [key, value] : {std::pair{"offset", &out.offset}, {"scale", &out.scale}}) {
    const node* const found = reader.find(key);
    if (found == nullptr || !found->is_number() || !std::isfinite(*found->to_double()))
      return error{errc::invalid_argument, std::string("\"") + key + "\" is not a number"};
    *value = *found;
  }
  if (*out.scale.to_double() == 0) return error{errc::invalid_argument, "\"scale\" is 0"};
  ZARRPOINT_TRY(decoded, detail::read_filter_dtype(reader, "dtype"));
  ZARRPOINT_TRY(encoded, detail::read_filter_dtype(reader, "astype"));
  out.types = {std::move(decoded), std::move(encoded)};
  return out;
}

ZARRPOINT_INLINE node fixed_scale_offset_codec::configuration() const {
  node out{node::object{}};
  if (scale.is_number()) out.set("scale", scale);
  if (offset.is_number()) out.set("offset", offset);
  if (types.decoded) out.set("dtype", types.decoded->text);
  if (types.encoded) out.set("astype", types.encoded->text);
  return out;
}

ZARRPOINT_INLINE result<fixed_scale_offset_codec> fixed_scale_offset_codec::resolve(
    const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, types.resolve(decoded));
  for (const auto* one : {&bound.decoded, &bound.encoded}) {
    if ((*one)->type.is_complex()) return error{errc::unsupported, "cannot scale complex numbers"};
  }
  const dtype type = bound.decoded->type;
  for (const node* one : {&offset, &scale}) {
    if (type.is_integer() && one->is_integer() && !fits(*one, type))
      return error{errc::invalid_argument,
                   "\"offset\" or \"scale\" does not fit " + std::string(to_string(type))};
  }
  return fixed_scale_offset_codec{offset, scale, std::move(bound)};
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::encode(const host_view& from,
                                                               const mutable_host_view& to,
                                                               codec_workspace& scratch) const {
  return types.encode(to, from, scratch, [&](const auto& made, const auto& seen) {
    return detail::for_each_block(made, seen, [&](const auto& target, const auto& source) {
      return forward(target, source);
    });
  });
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::decode(const host_view& from,
                                                               const mutable_host_view& to,
                                                               codec_workspace& scratch) const {
  return types.decode(to, from, scratch, [&](const auto& made, const auto& seen) {
    return detail::for_each_block(made, seen, [&](const auto& target, const auto& source) {
      return backward(target, source);
    });
  });
}

ZARRPOINT_INLINE result<std::vector<std::byte>> fixed_scale_offset_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  return types.encode_fill(fill, decoded);
}

ZARRPOINT_INLINE bool fixed_scale_offset_codec::fits(const node& number, const dtype& type) {
  const int unused = 64 - static_cast<int>(type.bits());
  if (type.is_unsigned_integer()) {
    const auto value = number.to_uint64();
    return value && *value <= UINT64_MAX >> unused;
  }
  const auto value = number.to_int64();
  return value && *value <= INT64_MAX >> unused && *value >= INT64_MIN >> unused;
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::forward(const mutable_host_view& to,
                                                                const host_view& from) const {
  const auto count = static_cast<std::size_t>(from.shape[0]);
  const dtype& type = from.type;
  detail::number_block block;
  double* const values = reinterpret_cast<double*>(block.storage.data());
  const mutable_host_view doubles = block.as(dtype_kind::float64, count);
  if (!type.is_floating() && offset.is_integer()) {
    // In the type itself, where integers wrap; a bool counts as an int64.
    const dtype whole = type == dtype_kind::bool_ ? dtype(dtype_kind::int64) : type;
    detail::number_block narrow;
    ZARRPOINT_CHECK(detail::numpy_cast(block.as(dtype_kind::uint64, count), from));
    const std::uint64_t times = scale.is_integer() ? bits_of(scale) : 1;
    for (std::size_t i = 0; i < count; ++i)
      block.storage[i] = (block.storage[i] - bits_of(offset)) * times;
    ZARRPOINT_CHECK(
        detail::numpy_cast(narrow.as(whole, count), as_const(block.as(dtype_kind::uint64, count))));
    if (scale.is_integer()) return detail::numpy_cast(to, as_const(narrow.as(whole, count)));
    ZARRPOINT_CHECK(detail::numpy_cast(doubles, as_const(narrow.as(whole, count))));
  } else {
    ZARRPOINT_CHECK(detail::numpy_cast(doubles, from));
    const double less = in_type(offset, type);
    for (std::size_t i = 0; i < count; ++i) values[i] -= less;
    detail::round_to(type, values, count);
  }
  const double times = in_type(scale, type);
  for (std::size_t i = 0; i < count; ++i) values[i] *= times;
  detail::round_to(type, values, count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::nearbyint(values[i]);
  return detail::numpy_cast(to, as_const(doubles));
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::backward(const mutable_host_view& to,
                                                                 const host_view& from) const {
  const auto count = static_cast<std::size_t>(from.shape[0]);
  const dtype& type = from.type;
  detail::number_block block;
  double* const values = reinterpret_cast<double*>(block.storage.data());
  const mutable_host_view doubles = block.as(dtype_kind::float64, count);
  ZARRPOINT_CHECK(detail::numpy_cast(doubles, from));
  const double by = in_type(scale, type);
  for (std::size_t i = 0; i < count; ++i) values[i] /= by;
  detail::round_to(type, values, count);
  const double more = in_type(offset, type);
  for (std::size_t i = 0; i < count; ++i) values[i] += more;
  detail::round_to(type, values, count);
  return detail::numpy_cast(to, as_const(doubles));
}

ZARRPOINT_INLINE double fixed_scale_offset_codec::in_type(const node& number, const dtype& type) {
  double value = number.to_double().value_or(0);
  detail::round_to(type, &value, 1);
  return value;
}

ZARRPOINT_INLINE std::uint64_t fixed_scale_offset_codec::bits_of(const node& number) {
  const auto value = number.to_int64();
  return value ? static_cast<std::uint64_t>(*value) : number.to_uint64().value_or(0);
}

}}  // namespace zarrpoint::v0
