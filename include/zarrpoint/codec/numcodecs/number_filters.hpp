// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The filter `numcodecs.astype`: elements of `decode_dtype` cast to `encode_dtype` as NumPy does,
/// and back.
struct astype_codec : detail::number_filter<astype_codec> {
  static constexpr std::string_view name = "numcodecs.astype";

  void fields(configuration_fields& all);
  static result<void> forward(const mutable_host_view& to, const host_view& from) {
    return detail::numpy_cast(to, from);
  }
  static result<void> backward(const mutable_host_view& to, const host_view& from) {
    return detail::numpy_cast(to, from);
  }
};

/// The filter `numcodecs.delta`: the first element of a chunk and the differences of those that
/// follow, in the type `dtype`, stored as `astype`. Integers wrap; floats do not come back exactly
/// in general: the sums are those of NumPy.
struct delta_codec : detail::number_filter<delta_codec> {
  static constexpr std::string_view name = "numcodecs.delta";

  void fields(configuration_fields& all) { types.fields(all, "dtype", "astype"); }
  static result<void> forward(const mutable_host_view& to, const host_view& from);
  static result<void> backward(const mutable_host_view& to, const host_view& from);
};

/// The filter `numcodecs.fixedscaleoffset`: `(x - offset) * scale` in the arithmetic of NumPy for
/// elements of `dtype`. It is rounded to the nearest integer, ties to even, and cast to `astype`,
/// where integers that do not fit wrap. Decoded as `e / scale + offset`, integers as doubles and
/// floats in their own type, and cast to `dtype`.
struct fixed_scale_offset_codec : detail::number_filter<fixed_scale_offset_codec> {
  static constexpr std::string_view name = "numcodecs.fixedscaleoffset";

  json offset;
  json scale;

  void fields(configuration_fields& all);
  result<void> check() const;
  result<void> forward(const mutable_host_view& to, const host_view& from) const;
  result<void> backward(const mutable_host_view& to, const host_view& from) const;
};

/// The filter `numcodecs.quantize`: floats rounded to the multiples of a power of two that keep
/// `digits` decimal digits after the point. Decoding gives them as they are.
struct quantize_codec : detail::number_filter<quantize_codec> {
  static constexpr std::string_view name = "numcodecs.quantize";

  std::int64_t digits = 0;

  void fields(configuration_fields& all);
  result<void> check() const;
  result<void> forward(const mutable_host_view& to, const host_view& from) const;
  static result<void> backward(const mutable_host_view& to, const host_view& from) {
    return detail::numpy_cast(to, from);
  }
};

}}  // namespace zarrpoint::v0
