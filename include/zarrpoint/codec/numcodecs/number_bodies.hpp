// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/numcodecs/number_filters.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------ number_filters.hpp

ZARRPOINT_INLINE void astype_codec::fields(configuration_fields& all) {
  types.fields(all, "decode_dtype", "encode_dtype");
  if (all.reads() && !types.encoded) all.fail("\"encode_dtype\" is missing");
}

namespace detail {

/// `values[i] - values[i - lanes]`, with `last` before the first ones, and kept for the next block.
template <class T, std::size_t Lanes>
void differences(T* values, std::size_t count, T* last) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = values[i];
    T& before = last[i % Lanes];
    if constexpr (std::same_as<T, bool>) {
      values[i] = value != before;
    } else {
      values[i] = static_cast<T>(value - before);
    }
    before = value;
  }
}
template <class T, std::size_t Lanes>
void sums(T* values, std::size_t count, T* sum) {
  for (std::size_t i = 0; i < count; ++i) {
    T& total = sum[i % Lanes];
    if constexpr (std::same_as<T, bool>) {
      total = total || values[i];
    } else {
      total = static_cast<T>(total + values[i]);
    }
    values[i] = total;
  }
}

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

ZARRPOINT_INLINE result<void> delta_codec::forward(const mutable_host_view& to,
                                                   const host_view& from) {
  return detail::step_blocks(to, from, from.type, detail::lane_step_of<false>(from.type));
}

ZARRPOINT_INLINE result<void> delta_codec::backward(const mutable_host_view& to,
                                                    const host_view& from) {
  const dtype wide = detail::promote(from.type, to.type);
  return detail::step_blocks(to, from, wide, detail::lane_step_of<true>(wide));
}

namespace detail {

inline constexpr std::size_t filter_block = 256;

/// A block of numbers on the stack, as elements of any NumPy type that is not complex.
struct number_block {
  std::array<std::uint64_t, filter_block> storage;

  double* doubles() { return reinterpret_cast<double*>(storage.data()); }
  mutable_host_view as(const dtype& type, std::size_t count) {
    return dense_view(reinterpret_cast<std::byte*>(storage.data()),
                      {type, {static_cast<index_t>(count)}});
  }
};

/// Calls `f(to, from)` with blocks of two dense runs of equal length.
template <class F>
result<void> for_each_block(const mutable_host_view& to, const host_view& from, F&& f) {
  const auto count = static_cast<std::size_t>(from.shape[0]);
  for (std::size_t i = 0; i < count; i += filter_block) {
    const dims shape{static_cast<index_t>(std::min(filter_block, count - i))};
    ZARRPOINT_CHECK(f(dense_view(to.data + i * to.type.size(), {to.type, shape}),
                      dense_view(from.data + i * from.type.size(), {from.type, shape})));
  }
  return {};
}

/// Rounds doubles to a floating type, as each step of arithmetic in that type does.
ZARRPOINT_INLINE void round_to(const dtype& type, double* values, std::size_t count) {
  if (type == dtype_kind::float32) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<double>(static_cast<float>(values[i]));
  } else if (type == dtype_kind::float16) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<double>(static_cast<float>(float16(values[i])));
  }
}

/// Calls `f(values, count)` with blocks of `from` as doubles, which it makes those of `to`.
template <class F>
result<void> map_doubles(const mutable_host_view& to, const host_view& from, const F& f) {
  return for_each_block(to, from, [&](const auto& made, const auto& seen) -> result<void> {
    const auto count = static_cast<std::size_t>(seen.shape[0]);
    number_block block;
    const mutable_host_view doubles = block.as(dtype_kind::float64, count);
    ZARRPOINT_CHECK(numpy_cast(doubles, seen));
    f(block.doubles(), count);
    return numpy_cast(made, as_const(doubles));
  });
}

ZARRPOINT_INLINE bool fits(const json& number, const dtype& type) {
  const int unused = 64 - static_cast<int>(type.bits());
  if (type.is_unsigned_integer()) {
    const auto value = number.to_uint64();
    return value && *value <= UINT64_MAX >> unused;
  }
  const auto value = number.to_int64();
  return value && *value <= INT64_MAX >> unused && *value >= INT64_MIN >> unused;
}

ZARRPOINT_INLINE double in_type(const json& number, const dtype& type) {
  double value = number.to_double().value_or(0);
  detail::round_to(type, &value, 1);
  return value;
}

ZARRPOINT_INLINE std::uint64_t bits_of(const json& number) {
  const auto value = number.to_int64();
  return value ? static_cast<std::uint64_t>(*value) : number.to_uint64().value_or(0);
}

}  // namespace detail

ZARRPOINT_INLINE void fixed_scale_offset_codec::fields(configuration_fields& all) {
  for (const auto& [key, value] : {std::pair{"scale", &scale}, {"offset", &offset}}) {
    if (value->is_number()) all.put(key, *value);
    if (!all.reads()) continue;
    const json* const found = all.find(key);
    if (found == nullptr || !found->is_number() || !std::isfinite(*found->to_double())) {
      all.fail(std::string("\"") + key + "\" is not a number");
    } else {
      *value = *found;
    }
  }
  if (scale.is_number() && *scale.to_double() == 0) all.fail("\"scale\" is 0");
  types.fields(all, "dtype", "astype");
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::check() const {
  for (const auto* one : {&types.decoded, &types.encoded}) {
    if ((*one)->type.is_complex()) return error{errc::unsupported, "cannot scale complex numbers"};
  }
  const dtype& type = types.decoded->type;
  for (const json* one : {&offset, &scale}) {
    if (type.is_integer() && one->is_integer() && !detail::fits(*one, type))
      return error{errc::invalid_argument,
                   "\"offset\" or \"scale\" does not fit " + std::string(to_string(type))};
  }
  return {};
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::forward(const mutable_host_view& to,
                                                                const host_view& from) const {
  const dtype type = from.type;
  const double times = detail::in_type(scale, type);
  const auto scale_doubles = [&](double* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] *= times;
    detail::round_to(type, values, count);
    for (std::size_t i = 0; i < count; ++i) values[i] = std::nearbyint(values[i]);
  };
  if (type.is_floating() || !offset.is_integer()) {
    const double less = detail::in_type(offset, type);
    return detail::map_doubles(to, from, [&](double* values, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) values[i] -= less;
      detail::round_to(type, values, count);
      scale_doubles(values, count);
    });
  }
  // In the type itself, where integers wrap; a bool counts as an int64.
  const dtype whole = type == dtype_kind::bool_ ? dtype(dtype_kind::int64) : type;
  const std::uint64_t less = detail::bits_of(offset);
  const std::uint64_t by = scale.is_integer() ? detail::bits_of(scale) : 1;
  return detail::for_each_block(to, from, [&](const auto& made, const auto& seen) -> result<void> {
    const auto count = static_cast<std::size_t>(seen.shape[0]);
    detail::number_block block;
    detail::number_block narrow;
    const mutable_host_view wide = block.as(dtype_kind::uint64, count);
    ZARRPOINT_CHECK(detail::numpy_cast(wide, seen));
    for (std::size_t i = 0; i < count; ++i) block.storage[i] = (block.storage[i] - less) * by;
    const mutable_host_view wrapped = narrow.as(whole, count);
    ZARRPOINT_CHECK(detail::numpy_cast(wrapped, as_const(wide)));
    if (scale.is_integer()) return detail::numpy_cast(made, as_const(wrapped));
    return detail::map_doubles(made, as_const(wrapped), scale_doubles);
  });
}

ZARRPOINT_INLINE result<void> fixed_scale_offset_codec::backward(const mutable_host_view& to,
                                                                 const host_view& from) const {
  const dtype type = from.type;
  const double by = detail::in_type(scale, type);
  const double more = detail::in_type(offset, type);
  return detail::map_doubles(to, from, [&](double* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] /= by;
    detail::round_to(type, values, count);
    for (std::size_t i = 0; i < count; ++i) values[i] += more;
    detail::round_to(type, values, count);
  });
}

ZARRPOINT_INLINE void quantize_codec::fields(configuration_fields& all) {
  constexpr std::int64_t most = 300;  // where the powers of ten and of two are still normal doubles
  all.need("digits");
  all.integer("digits", digits, -most, most);
  types.fields(all, "dtype", "astype");
}

ZARRPOINT_INLINE result<void> quantize_codec::check() const {
  if (types.decoded->type.is_floating() && types.encoded->type.is_floating()) return {};
  const dtype& other =
      types.decoded->type.is_floating() ? types.encoded->type : types.decoded->type;
  return error{errc::unsupported,
               "quantize works on floats; this array has " + std::string(to_string(other))};
}

ZARRPOINT_INLINE result<void> quantize_codec::forward(const mutable_host_view& to,
                                                      const host_view& from) const {
  const double power = std::pow(10.0, static_cast<double>(digits));
  double scale = std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(power))));
  const dtype type = from.type;
  detail::round_to(type, &scale, 1);
  return detail::map_doubles(to, from, [&](double* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] *= scale;
    detail::round_to(type, values, count);
    // A type too narrow for the scale divides by 0 or infinity, as NumPy does.
    for (std::size_t i = 0; i < count; ++i) {
      const double whole = std::nearbyint(values[i]);
      values[i] = scale != 0 ? whole / scale : std::numeric_limits<double>::quiet_NaN();
    }
    detail::round_to(type, values, count);
  });
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/number_bodies.hpp>
#endif
