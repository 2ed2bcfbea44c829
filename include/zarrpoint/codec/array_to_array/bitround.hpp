// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <array>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `bitround` of the registry, and `numcodecs.bitround`: floats keep `keepbits` bits of
/// their mantissa, rounded to nearest, ties to even, which may carry into the exponent; complex
/// numbers both parts; integers and times keep `keepbits` bits from the highest that is set. As
/// many bits as there are, or more, change nothing. Decoding gives the elements as they are.
struct bitround_codec {
  static constexpr std::string_view name = "bitround";
  static constexpr std::array<std::string_view, 1> aliases{"numcodecs.bitround"};

  int keepbits = 0;

  static result<bitround_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<bitround_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return decoded; }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to, codec_workspace&) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  /// 0 for types that are not floats of two bytes or more.
  static int mantissa_bits(const dtype& type);

  void round(const mutable_host_view& to, const host_view& from) const;
};

}}  // namespace zarrpoint::v0
