// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The filter `numcodecs.packbits`: bytes that are 0 or not as bits, the highest of a byte first,
/// after a byte that counts the unused bits at the end. The registered codec `packbits` has another
/// layout: see packbits.hpp.
struct numcodecs_packbits_codec {
  static constexpr std::string_view name = "numcodecs.packbits";

  static result<numcodecs_packbits_codec> from_configuration(const node& configuration);
  node configuration() const { return node(node::object{}); }

  result<numcodecs_packbits_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const;

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;

 private:
  static std::size_t unused(std::size_t count) { return (8 - count % 8) % 8; }
  static void put(const mutable_host_view& to, std::size_t i, std::byte value);
};

}}  // namespace zarrpoint::v0
