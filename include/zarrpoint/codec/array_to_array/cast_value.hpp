// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/real_number.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The codec `cast_value` of the registry: integers and floats as numbers of another type, and back
/// by the same rules. A number is looked up in the scalar map first; else it is rounded as told,
/// and one out of range is clamped, wrapped or, by default, an error.
struct cast_value_codec {
  static constexpr std::string_view name = "cast_value";

  /// What stands for what, by the key of `real_format`: sorted.
  using scalar_map = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  dtype type;
  detail::cast_rules rules;
  node map;               ///< `scalar_map`, or null
  scalar_map encode_map;  ///< these two are known once the type is
  scalar_map decode_map;

  static result<cast_value_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<cast_value_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return {type, decoded.shape}; }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  static constexpr std::string_view rounding_names[] = {
      "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"};

  static result<detail::cast_rules> read_rules(std::string_view rounding, std::string_view beyond);

  result<scalar_map> read_map(std::string_view key, const detail::real_format& from,
                              const detail::real_format& to) const;

  result<void> run(const mutable_host_view& to, const host_view& from, codec_workspace& scratch,
                   const scalar_map& known, errc code) const;
};

}}  // namespace zarrpoint::v0
