// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/numcodecs/astype.hpp>
#include <zarrpoint/codec/numcodecs/delta.hpp>
#include <zarrpoint/codec/numcodecs/fixed_scale_offset.hpp>
#include <zarrpoint/core/config.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------------- astype.hpp

ZARRPOINT_INLINE result<astype_codec> astype_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader,
                configuration_reader::open(configuration, {"encode_dtype", "decode_dtype"}));
  astype_codec out;
  ZARRPOINT_TRY(encoded, detail::read_filter_dtype(reader, "encode_dtype"));
  if (!encoded) return error{errc::invalid_argument, "\"encode_dtype\" is missing"};
  ZARRPOINT_TRY(decoded, detail::read_filter_dtype(reader, "decode_dtype"));
  out.types = {std::move(decoded), std::move(encoded)};
  return out;
}

ZARRPOINT_INLINE node astype_codec::configuration() const {
  node out{node::object{}};
  if (types.encoded) out.set("encode_dtype", types.encoded->text);
  if (types.decoded) out.set("decode_dtype", types.decoded->text);
  return out;
}

ZARRPOINT_INLINE result<astype_codec> astype_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, types.resolve(decoded));
  return astype_codec{std::move(bound)};
}

ZARRPOINT_INLINE result<void> astype_codec::encode(const host_view& from,
                                                   const mutable_host_view& to,
                                                   codec_workspace& scratch) const {
  return types.encode(to, from, scratch, [](const auto& made, const auto& seen) {
    return detail::numpy_cast(made, seen);
  });
}

ZARRPOINT_INLINE result<void> astype_codec::decode(const host_view& from,
                                                   const mutable_host_view& to,
                                                   codec_workspace& scratch) const {
  return types.decode(to, from, scratch, [](const auto& made, const auto& seen) {
    return detail::numpy_cast(made, seen);
  });
}

ZARRPOINT_INLINE result<std::vector<std::byte>> astype_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  return types.encode_fill(fill, decoded);
}

// --------------------------------------------------------------------------------------- delta.hpp

namespace detail {

/// Whether elements are true.
ZARRPOINT_INLINE void to_truths(std::uint8_t* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] != 0 ? 1 : 0;
}

/// Makes differences or sums of `count` values of a block; `last` has those before it.
using lane_step = void (*)(std::byte* values, std::size_t count, std::byte* last);

template <bool Sum, class T, std::size_t Lanes>
void step_lanes(std::byte* values, std::size_t count, std::byte* last) {
  T before[Lanes];  // not in memory that the values may lie in, for all that a compiler knows
  std::memcpy(before, last, sizeof before);
  if constexpr (Sum) {
    sums<T, Lanes>(reinterpret_cast<T*>(values), count, before);
  } else {
    differences<T, Lanes>(reinterpret_cast<T*>(values), count, before);
  }
  std::memcpy(last, before, sizeof before);
}

/// The step of a NumPy type: its numbers are one value each, or two, and integers those without a
/// sign, in which sums and differences wrap.
template <bool Sum>
lane_step lane_step_of(const dtype& type) {
  if (type == dtype_kind::complex64) return step_lanes<Sum, float, 2>;
  if (type.is_complex()) return step_lanes<Sum, double, 2>;
  if (type == dtype_kind::float16) return step_lanes<Sum, float16, 1>;
  if (type == dtype_kind::float32) return step_lanes<Sum, float, 1>;
  if (type.is_floating()) return step_lanes<Sum, double, 1>;
  if (type == dtype_kind::bool_) return step_lanes<Sum, bool, 1>;
  switch (type.size()) {
    case 1: return step_lanes<Sum, std::uint8_t, 1>;
    case 2: return step_lanes<Sum, std::uint16_t, 1>;
    case 4: return step_lanes<Sum, std::uint32_t, 1>;
    default: return step_lanes<Sum, std::uint64_t, 1>;
  }
}

/// Casts blocks of `from` to `wide`, makes them differences or sums, and casts those to `to`.
ZARRPOINT_INLINE result<void> step_blocks(const mutable_host_view& to, const host_view& from,
                                          const dtype& wide, lane_step step) {
  constexpr std::size_t block = 256;
  constexpr std::size_t most = 2 * sizeof(double);
  alignas(most) std::byte memory[block * most];
  alignas(most) std::byte last[most];
  const auto count = static_cast<std::size_t>(from.shape[0]);
  const std::size_t lanes = wide.is_complex() ? 2 : 1;
  for (std::size_t i = 0; i < count; i += block) {
    const dims shape{static_cast<index_t>(std::min(block, count - i))};
    const auto values = static_cast<std::size_t>(shape[0]) * lanes;
    ZARRPOINT_CHECK(numpy_cast(dense_view(memory, {wide, shape}),
                               dense_view(from.data + i * from.type.size(), {from.type, shape})));
    if (wide == dtype_kind::bool_) to_truths(reinterpret_cast<std::uint8_t*>(memory), values);
    // The first element stays as it is: 0.0 and -0.0 would make 0.0.
    const std::size_t skip = i == 0 ? 1 : 0;
    if (skip != 0) std::memcpy(last, memory, wide.size());
    step(memory + skip * wide.size(), values - skip * lanes, last);
    ZARRPOINT_CHECK(numpy_cast(dense_view(to.data + i * to.type.size(), {to.type, shape}),
                               dense_view(std::as_const(memory), {wide, shape})));
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<delta_codec> delta_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"dtype", "astype"}));
  delta_codec out;
  ZARRPOINT_TRY(decoded, detail::read_filter_dtype(reader, "dtype"));
  ZARRPOINT_TRY(encoded, detail::read_filter_dtype(reader, "astype"));
  out.types = {std::move(decoded), std::move(encoded)};
  return out;
}

ZARRPOINT_INLINE node delta_codec::configuration() const {
  node out{node::object{}};
  if (types.decoded) out.set("dtype", types.decoded->text);
  if (types.encoded) out.set("astype", types.encoded->text);
  return out;
}

ZARRPOINT_INLINE result<delta_codec> delta_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, types.resolve(decoded));
  return delta_codec{std::move(bound)};
}

ZARRPOINT_INLINE result<void> delta_codec::encode(const host_view& from,
                                                  const mutable_host_view& to,
                                                  codec_workspace& scratch) const {
  return types.encode(to, from, scratch, [&](const auto& made, const auto& seen) {
    return detail::step_blocks(made, seen, seen.type, detail::lane_step_of<false>(seen.type));
  });
}

ZARRPOINT_INLINE result<void> delta_codec::decode(const host_view& from,
                                                  const mutable_host_view& to,
                                                  codec_workspace& scratch) const {
  return types.decode(to, from, scratch, [&](const auto& made, const auto& seen) {
    const dtype wide = detail::promote(seen.type, made.type);
    return detail::step_blocks(made, seen, wide, detail::lane_step_of<true>(wide));
  });
}

ZARRPOINT_INLINE result<std::vector<std::byte>> delta_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  return types.encode_fill(fill, decoded);
}

// -------------------------------------------------------------------------- fixed_scale_offset.hpp

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

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/number_bodies.hpp>
#endif
