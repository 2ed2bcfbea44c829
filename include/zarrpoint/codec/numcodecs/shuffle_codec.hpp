// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/kit/shuffle.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.shuffle`: byte shuffle of the whole chunk, which must be a whole number of
/// `elementsize` bytes. Without one it is the size of the array's elements, as in zarr-python.
struct shuffle_codec {
  static constexpr std::string_view name = "numcodecs.shuffle";
  static constexpr bool fixed_size = true;

  std::optional<std::size_t> element_size;  ///< 0 and 1 leave the bytes as they are

  static result<shuffle_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<shuffle_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const;
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const { return stored.size(); }

 private:
  static constexpr std::size_t default_size = 4;  ///< of numcodecs

  std::size_t step() const;
  result<void> check(bytes_view from, mutable_bytes to, errc code) const;
};

}}  // namespace zarrpoint::v0
