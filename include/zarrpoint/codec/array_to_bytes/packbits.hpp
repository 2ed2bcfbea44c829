// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `packbits` of the registry: the bits `first_bit` to `last_bit` of every number, or of
/// both parts of a complex one, one after another, the lowest bit first. A byte before or after
/// them may count the unused bits at the end. Signed integers come back sign-extended.
struct packbits_codec {
  static constexpr std::string_view name = "packbits";
  static constexpr bool fixed_size = true;
  enum class padding : std::uint8_t { none, first_byte, last_byte };

  padding counted = padding::none;
  std::optional<int> first_bit;
  std::optional<int> last_bit;

  /// The members have other names in the registry's JSON schema, which are read too.
  void fields(configuration_fields& all);

  result<packbits_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(const tensor_spec& decoded) const;

  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const;
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const;

 private:
  /// How the parts of elements of a type are cut.
  struct layout {
    layout(const packbits_codec& codec, const dtype& type);

    std::uint64_t extended(std::uint64_t cut) const;

    std::size_t size;
    std::size_t parts;
    int bits;
    int first;
    int width;
    bool is_signed;
  };

  result<std::uint64_t> total_bits(const tensor_spec& spec) const;
  result<std::byte> unused_bits(const tensor_spec& spec) const;
};

}}  // namespace zarrpoint::v0
