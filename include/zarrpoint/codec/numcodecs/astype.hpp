// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The filter `numcodecs.astype`: elements of `decode_dtype` cast to `encode_dtype` as NumPy does,
/// and back.
struct astype_codec {
  static constexpr std::string_view name = "numcodecs.astype";

  detail::filter_types types;

  static result<astype_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<astype_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return types.encoded_spec(decoded); }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;
};

}}  // namespace zarrpoint::v0
