// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/numcodecs/delta.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Whether elements are true.
ZARRPOINT_INLINE void to_truths(std::uint8_t* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] != 0 ? 1 : 0;
}

/// Calls `f.operator()<T, Lanes>()`: the numbers of a NumPy type are `Lanes` values of `T` each,
/// and integers those without a sign, in which sums and differences wrap.
template <class F>
void visit_lanes(const dtype& type, F&& f) {
  if (type.is_complex()) {
    if (type == dtype_kind::complex64) return f.template operator()<float, 2>();
    return f.template operator()<double, 2>();
  }
  if (type.is_floating()) {
    if (type == dtype_kind::float16) return f.template operator()<float16, 1>();
    if (type == dtype_kind::float32) return f.template operator()<float, 1>();
    return f.template operator()<double, 1>();
  }
  if (type == dtype_kind::bool_) return f.template operator()<bool, 1>();
  switch (type.size()) {
    case 1: return f.template operator()<std::uint8_t, 1>();
    case 2: return f.template operator()<std::uint16_t, 1>();
    case 4: return f.template operator()<std::uint32_t, 1>();
    default: return f.template operator()<std::uint64_t, 1>();
  }
}

/// Casts blocks of `from` to `wide`, makes them differences or sums, and casts those to `to`.
template <bool Sum>
result<void> step_blocks(const mutable_host_view& to, const host_view& from, const dtype& wide) {
  constexpr std::size_t block = 256;
  const auto count = static_cast<std::size_t>(from.shape[0]);
  result<void> status;
  visit_lanes(wide, [&]<class T, std::size_t Lanes>() {
    T last[Lanes] = {};
    std::array<T, block * Lanes> values;
    bool is_first = true;
    for (std::size_t i = 0; i < count && status; i += block) {
      const dims shape{static_cast<index_t>(std::min(block, count - i))};
      const auto lanes = static_cast<std::size_t>(shape[0]) * Lanes;
      const auto memory = reinterpret_cast<std::byte*>(values.data());
      status = numpy_cast(dense_view(memory, {wide, shape}),
                          dense_view(from.data + i * from.type.size(), {from.type, shape}));
      if (!status) return;
      if constexpr (std::same_as<T, bool>)
        to_truths(reinterpret_cast<std::uint8_t*>(memory), lanes);
      // The first element stays as it is: 0.0 and -0.0 would make 0.0.
      const std::size_t skip = is_first ? Lanes : 0;
      if (is_first) std::copy_n(values.data(), Lanes, last);
      if constexpr (Sum) {
        sums<T, Lanes>(values.data() + skip, lanes - skip, last);
      } else {
        differences<T, Lanes>(values.data() + skip, lanes - skip, last);
      }
      is_first = false;
      status = numpy_cast(dense_view(to.data + i * to.type.size(), {to.type, shape}),
                          dense_view(std::as_const(memory), {wide, shape}));
    }
  });
  return status;
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
    return detail::step_blocks<false>(made, seen, seen.type);
  });
}

ZARRPOINT_INLINE result<void> delta_codec::decode(const host_view& from,
                                                  const mutable_host_view& to,
                                                  codec_workspace& scratch) const {
  return types.decode(to, from, scratch, [&](const auto& made, const auto& seen) {
    return detail::step_blocks<true>(made, seen, detail::promote(seen.type, made.type));
  });
}

ZARRPOINT_INLINE result<std::vector<std::byte>> delta_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  return types.encode_fill(fill, decoded);
}

}}  // namespace zarrpoint::v0
