// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <cstring>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

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

}  // namespace detail

/// The filter `numcodecs.delta`: the first element of a chunk and the differences of those that
/// follow, in the type `dtype`, stored as `astype`. Integers wrap; floats do not come back exactly
/// in general: the sums are those of NumPy.
struct delta_codec {
  static constexpr std::string_view name = "numcodecs.delta";

  detail::filter_types types;

  static result<delta_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<delta_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return types.encoded_spec(decoded); }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;
};

}}  // namespace zarrpoint::v0
