// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>

#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Where in a shard its index stands.
enum class index_location : std::uint8_t { end, start };

/// The codec `sharding_indexed`: a chunk is stored as inner chunks and an index of where each lies
/// (Zarr v3 codecs, "Sharding codec" 1.0). It is not a codec of a chain: the array layer reads
/// inner chunks on their own.
struct sharding_config {
  static constexpr std::string_view name = "sharding_indexed";
  /// So many may lie within each other.
  static constexpr std::size_t most_levels = 8;

  dims chunk_shape;                ///< of an inner chunk; divides the shape of the shard
  std::vector<codec_spec> codecs;  ///< of an inner chunk
  std::vector<codec_spec> index_codecs = default_index_codecs();
  index_location location = index_location::end;

  /// Little-endian integers and their crc32c: what every reader understands.
  static std::vector<codec_spec> default_index_codecs();

  /// Errors: `corrupt`, `unsupported`, naming the member.
  static result<sharding_config> from_configuration(const json& configuration);

  /// Errors: `invalid_argument` for an empty list of codecs.
  result<json> configuration() const;

  /// As an entry of `array_metadata::codecs`.
  result<codec_spec> to_spec() const;

  friend bool operator==(const sharding_config&, const sharding_config&) = default;

 private:
  static result<sharding_config> parse(const json& configuration, const json::object& members);
};

/// How the inner chunks of one shard are stored: what an array with shards, and a shard within a
/// shard, have in common.
struct shard_parts {
  std::vector<codec_spec> codecs;  ///< of an inner chunk, as the metadata say
  codec_chain chain;               ///< of an inner chunk
  codec_chain index_chain;         ///< of the index as uint64[inner chunks, 2]
  std::uint64_t index_size;        ///< stored bytes of the index
  index_location location;

  /// Whether inner chunks are shards themselves.
  bool is_nested() const;
  /// Where the index stands in a shard of `object_size` bytes, which is not less than `index_size`.
  std::uint64_t index_offset(std::uint64_t object_size) const noexcept;
};

namespace detail {

/// Decodes and checks the index of a shard of `object_size` bytes.
result<shard_index> decode_index(const shard_parts& parts, bytes_view stored,
                                 std::uint64_t object_size, codec_workspace& scratch);

error too_short_for_index(std::uint64_t size, std::uint64_t index_size);

}  // namespace detail

}}  // namespace zarrpoint::v0
