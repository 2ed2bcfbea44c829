// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/lz4_block.hpp>
#include <zarrpoint/codec/numcodecs/lz4_codec.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<lz4_codec> lz4_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"acceleration"}));
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  ZARRPOINT_TRY(acceleration, reader.integer("acceleration", -most, most));
  lz4_codec out;
  if (acceleration) out.acceleration = static_cast<int>(*acceleration);
  return out;
}

ZARRPOINT_INLINE std::uint64_t lz4_codec::encoded_bound(std::uint64_t decoded) const {
  const std::uint64_t block = detail::lz4_bound(decoded);
  return block > UINT64_MAX - header ? UINT64_MAX : block + header;
}

ZARRPOINT_INLINE result<std::size_t> lz4_codec::encode(bytes_view from, mutable_bytes to,
                                                       codec_workspace& scratch) const {
  if (to.size() < header) return error{errc::out_of_range, "the output does not fit"};
  ZARRPOINT_TRY(written, detail::lz4_encode(from, to.subspan(header), scratch));
  store_le<std::uint32_t>(to.data(), static_cast<std::uint32_t>(from.size()));
  return header + written;
}

ZARRPOINT_INLINE result<std::size_t> lz4_codec::decode(bytes_view from, mutable_bytes to,
                                                       codec_workspace&) const {
  const std::optional<std::uint64_t> size = decoded_size(from);
  if (!size) return error{errc::corrupt, "the size at the beginning is missing"};
  if (*size > to.size())
    return error{errc::out_of_range, std::to_string(*size) + " bytes where " +
                                         std::to_string(to.size()) + " are expected"};
  result<std::size_t> written =
      detail::lz4_decode(from.subspan(header), to.first(static_cast<std::size_t>(*size)));
  if (written && *written == *size) return *written;
  if (!written && written.failure().code != errc::out_of_range) return written;
  return error{errc::corrupt, "the block does not decode to the " + std::to_string(*size) +
                                  " bytes that its header states"};
}

ZARRPOINT_INLINE std::optional<std::uint64_t> lz4_codec::decoded_size(bytes_view stored) const {
  if (stored.size() < header) return std::nullopt;
  const auto size = load_le<std::uint32_t>(stored.data());
  if (size > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
    return std::nullopt;
  return size;
}

}}  // namespace zarrpoint::v0
