// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Rounds a double to a floating type, as each step of arithmetic in that type does.
void round_to(const dtype& type, double* values, std::size_t count);

inline constexpr std::size_t filter_block = 256;

/// A block of numbers on the stack, as elements of any NumPy type that is not complex.
struct number_block {
  std::array<std::uint64_t, filter_block> storage;

  mutable_host_view as(const dtype& type, std::size_t count);
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

}  // namespace detail

/// The filter `numcodecs.fixedscaleoffset`: `(x - offset) * scale` in the arithmetic of NumPy for
/// elements of `dtype`, rounded to the nearest integer, ties to even, and cast to `astype`, where
/// integers that do not fit wrap. Decoded as `e / scale + offset` and cast to `dtype`.
struct fixed_scale_offset_codec {
  static constexpr std::string_view name = "numcodecs.fixedscaleoffset";

  node offset;
  node scale;
  detail::filter_types types;

  static result<fixed_scale_offset_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<fixed_scale_offset_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return types.encoded_spec(decoded); }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  static bool fits(const node& number, const dtype& type);

  /// One block of `x` to `e`.
  result<void> forward(const mutable_host_view& to, const host_view& from) const;
  /// One block of `e` to `x`: integers are divided as doubles, floats in their own type.
  result<void> backward(const mutable_host_view& to, const host_view& from) const;
  static double in_type(const node& number, const dtype& type);
  static std::uint64_t bits_of(const node& number);
};

/// The filter `numcodecs.quantize`: floats rounded to the multiples of a power of two that keep
/// `digits` decimal digits after the point. Decoding gives them as they are.
struct quantize_codec {
  static constexpr std::string_view name = "numcodecs.quantize";

  std::int64_t digits = 0;
  detail::filter_types types;

  static result<quantize_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<quantize_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return types.encoded_spec(decoded); }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  /// Where the powers of ten and of two are still normal doubles.
  static constexpr std::int64_t max_digits = 300;

  static result<void> quantize(const mutable_host_view& to, const host_view& from, double scale);
  static double divide(double value, double by);
};

}}  // namespace zarrpoint::v0
