// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_parts.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bool shard_parts::is_nested() const {
  return std::any_of(codecs.begin(), codecs.end(),
                     [](const codec_spec& one) { return one.name == sharding_config::name; });
}

ZARRPOINT_INLINE std::uint64_t shard_parts::index_offset(std::uint64_t object_size) const noexcept {
  return location == index_location::end ? object_size - index_size : 0;
}

namespace detail {

ZARRPOINT_INLINE result<shard_index> decode_index(const shard_parts& parts, bytes_view stored,
                                                  std::uint64_t object_size,
                                                  codec_workspace& scratch) {
  const auto count = static_cast<std::uint64_t>(parts.index_chain.chunk_spec().shape[0]);
  ZARRPOINT_TRY(index, shard_index::make(count, scratch.resource()));
  const mutable_host_view words = dense_view(index.words().data(), parts.index_chain.chunk_spec());
  ZARRPOINT_CHECK(parts.index_chain.decode(stored, words, scratch).at("shard index"));
  ZARRPOINT_CHECK(index.check(object_size, parts.index_offset(object_size), parts.index_size,
                              scratch.resource()));
  return std::move(index);
}

ZARRPOINT_INLINE error too_short_for_index(std::uint64_t size, std::uint64_t index_size) {
  return {errc::corrupt, std::to_string(size) + " bytes are too few for the shard index of " +
                             std::to_string(index_size)};
}

}  // namespace detail

}}  // namespace zarrpoint::v0
