// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/numcodecs/delta.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

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

}}  // namespace zarrpoint::v0
