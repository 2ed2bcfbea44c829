// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/numcodecs/fixed_scale_offset.hpp>
#include <zarrpoint/core/config.hpp>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/numcodecs/impl/quantize_impl.hpp>
#endif
