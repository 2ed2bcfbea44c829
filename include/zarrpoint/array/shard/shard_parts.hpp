// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/array/shard/impl/shard_parts_impl.hpp>
#endif
