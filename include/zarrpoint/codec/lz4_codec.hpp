// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/concepts.hpp>
#include <zarrpoint/codec/configuration.hpp>
#include <zarrpoint/codec/lz4_block.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint::inline v0 {

/// The codec `numcodecs.lz4`: the number of decoded bytes as a little-endian int32, then one LZ4
/// block. N5 has another format of that name.
struct lz4_codec {
  static constexpr std::string_view name = "numcodecs.lz4";
  static constexpr bool fixed_size = false;
  static constexpr std::size_t header = sizeof(std::uint32_t);

  int acceleration = 1;  ///< of the encoder of numcodecs; changes nothing here

  static result<lz4_codec> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"acceleration"}));
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    ZARRPOINT_TRY(acceleration, reader.integer("acceleration", -most, most));
    lz4_codec out;
    if (acceleration) out.acceleration = static_cast<int>(*acceleration);
    return out;
  }
  node configuration() const { return node::object{{"acceleration", node(acceleration)}}; }

  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    const std::uint64_t block = lz4_bound(decoded);
    return block > UINT64_MAX - header ? UINT64_MAX : block + header;
  }
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    if (to.size() < header) return error{errc::out_of_range, "the output does not fit"};
    ZARRPOINT_TRY(written, lz4_encode(from, to.subspan(header), scratch));
    store_le<std::uint32_t>(to.data(), static_cast<std::uint32_t>(from.size()));
    return header + written;
  }
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const {
    const std::optional<std::uint64_t> size = decoded_size(from);
    if (!size) return error{errc::corrupt, "no size at the beginning"};
    if (*size > to.size())
      return error{errc::out_of_range, std::to_string(*size) + " bytes where " +
                                           std::to_string(to.size()) + " are expected"};
    result<std::size_t> written =
        lz4_decode(from.subspan(header), to.first(static_cast<std::size_t>(*size)));
    if (written && *written == *size) return *written;
    if (!written && written.failure().code != errc::out_of_range) return written;
    return error{errc::corrupt, "the block does not make the " + std::to_string(*size) +
                                    " bytes that its head says"};
  }
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const {
    if (stored.size() < header) return std::nullopt;
    const auto size = load_le<std::uint32_t>(stored.data());
    if (size > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
      return std::nullopt;
    return size;
  }
};

}  // namespace zarrpoint::inline v0
