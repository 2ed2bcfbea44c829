// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/numcodecs/astype.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<astype_codec> astype_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader,
                configuration_reader::open(configuration, {"encode_dtype", "decode_dtype"}));
  astype_codec out;
  ZARRPOINT_TRY(encoded, detail::read_filter_dtype(reader, "encode_dtype"));
  if (!encoded) return error{errc::invalid_argument, "\"encode_dtype\" is missing"};
  ZARRPOINT_TRY(decoded, detail::read_filter_dtype(reader, "decode_dtype"));
  out.types = {std::move(decoded), std::move(encoded)};
  return out;
}

ZARRPOINT_INLINE node astype_codec::configuration() const {
  node out{node::object{}};
  if (types.encoded) out.set("encode_dtype", types.encoded->text);
  if (types.decoded) out.set("decode_dtype", types.decoded->text);
  return out;
}

ZARRPOINT_INLINE result<astype_codec> astype_codec::resolve(const tensor_spec& decoded) const {
  ZARRPOINT_TRY(bound, types.resolve(decoded));
  return astype_codec{std::move(bound)};
}

ZARRPOINT_INLINE result<void> astype_codec::encode(const host_view& from,
                                                   const mutable_host_view& to,
                                                   codec_workspace& scratch) const {
  return types.encode(to, from, scratch, [](const auto& made, const auto& seen) {
    return detail::numpy_cast(made, seen);
  });
}

ZARRPOINT_INLINE result<void> astype_codec::decode(const host_view& from,
                                                   const mutable_host_view& to,
                                                   codec_workspace& scratch) const {
  return types.decode(to, from, scratch, [](const auto& made, const auto& seen) {
    return detail::numpy_cast(made, seen);
  });
}

ZARRPOINT_INLINE result<std::vector<std::byte>> astype_codec::encode_fill(
    bytes_view fill, const tensor_spec& decoded) const {
  return types.encode_fill(fill, decoded);
}

}}  // namespace zarrpoint::v0
