// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/filter.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// The filter `numcodecs.astype`: elements of `decode_dtype` cast to `encode_dtype` as NumPy does,
/// and back.
struct astype_codec {
  static constexpr std::string_view name = "numcodecs.astype";

  detail::filter_types types;

  static result<astype_codec> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader,
                  configuration_reader::open(configuration, {"encode_dtype", "decode_dtype"}));
    astype_codec out;
    ZARRPOINT_TRY(encoded, detail::read_filter_dtype(reader, "encode_dtype"));
    if (!encoded) return error{errc::invalid_argument, "\"encode_dtype\" is missing"};
    ZARRPOINT_TRY(decoded, detail::read_filter_dtype(reader, "decode_dtype"));
    out.types = {std::move(decoded), std::move(encoded)};
    return out;
  }
  node configuration() const {
    node out{node::object{}};
    if (types.encoded) out.set("encode_dtype", types.encoded->text);
    if (types.decoded) out.set("decode_dtype", types.decoded->text);
    return out;
  }

  result<astype_codec> resolve(const tensor_spec& decoded) const {
    ZARRPOINT_TRY(bound, types.resolve(decoded));
    return astype_codec{std::move(bound)};
  }
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return types.encoded_spec(decoded); }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const {
    return types.encode(to, from, scratch, [](const auto& made, const auto& seen) {
      return detail::numpy_cast(made, seen);
    });
  }
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const {
    return types.decode(to, from, scratch, [](const auto& made, const auto& seen) {
      return detail::numpy_cast(made, seen);
    });
  }
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const {
    return types.encode_fill(fill, decoded);
  }
};

}  // namespace zarrpoint::inline v0
