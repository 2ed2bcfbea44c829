// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/shard_indexes.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/array/shard/shard_parts.hpp>
#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> check_expected(const array_state& of, const chunk_digests& digests,
                                             const std::string& key, const blob* object) {
  const auto refuse = [](std::string why) { return error{errc::corrupt, std::move(why)}; };
  const object_digest* expected = digests.find(key);
  if (expected == nullptr) return refuse("no checksum of it is known");
  if (expected->absent()) {
    if (object == nullptr) return {};
    return refuse("it exists, but it was not part of the save");
  }
  if (object == nullptr) return refuse("it is missing");
  if (object->size() != expected->size)
    return refuse("it has " + std::to_string(object->size()) + " bytes instead of the " +
                  std::to_string(expected->size) + " that were saved");
  if (expected->crc32c.size() != of.layout.inner_count())
    return refuse(std::to_string(expected->crc32c.size()) + " checksums are recorded for its " +
                  std::to_string(of.layout.inner_count()) + " inner chunks");
  return {};
}

ZARRPOINT_INLINE shard_entry stored_object::entry(std::size_t slot) const {
  return index == nullptr ? shard_entry{0, bytes->size()} : (*index)[slot];
}

ZARRPOINT_INLINE result<std::unique_ptr<stored_object>> stored_object::open(
    const array_state& of, const std::string& key, codec_workspace& scratch,
    const object_options& options) {
  using shard = shard_index_cache::shard;
  ZARRPOINT_TRY(full_key, of.key.child(key));
  const auto check = [&](const shard& found) -> result<void> {
    if (options.expected == nullptr) return {};
    return check_expected(of, *options.expected, key, found.bytes.get());
  };
  const auto open_it = [&]() -> result<shard> {
    ZARRPOINT_TRY(bytes, of.store.open(full_key));
    shard out{std::move(bytes)};
    if (out.bytes == nullptr || !of.sharded() || !check(out)) return out;
    const bool keep = options.keep && options.indexes == nullptr;
    ZARRPOINT_TRY(index, keep ? kept_index(of, full_key.str(), *out.bytes, scratch)
                              : read_index(*out.bytes, of.layout, scratch));
    out.index = std::move(index);
    return out;
  };
  const bool is_kept = of.sharded() && options.indexes != nullptr;
  ZARRPOINT_TRY(found, is_kept ? options.indexes->get(full_key.str(), open_it) : open_it());
  ZARRPOINT_CHECK(check(found));
  if (found.bytes == nullptr) return std::unique_ptr<stored_object>();
  if (of.sharded() &&
      found.index == nullptr) {  // refused by the reader that opened it, whose digests differ
    ZARRPOINT_TRY(index, read_index(*found.bytes, of.layout, scratch));
    found.index = std::move(index);
  }
  auto out = std::make_unique<stored_object>();
  out->bytes = std::move(found.bytes);
  out->index = std::move(found.index);
  return out;
}

ZARRPOINT_INLINE result<std::shared_ptr<const shard_index>> stored_object::kept_index(
    const array_state& of, std::string_view key, const blob& bytes, codec_workspace& scratch) {
  shard_indexes& kept = of.outer != nullptr ? of.outer->indexes : of.indexes;
  // Before the index is read: what is written from now on has another version.
  ZARRPOINT_TRY(version, version_of(bytes, *of.layout.shard()));
  if (!version) return read_index(bytes, of.layout, scratch);
  if (shard_index_cache* const cache = kept.get()) {
    if (auto found = cache->find(key, *version)) return found;
  }
  ZARRPOINT_TRY(index, read_index(bytes, of.layout, scratch));
  kept.make(of.how.limit.memory).keep(key, *version, *index);
  return index;
}

ZARRPOINT_INLINE result<std::optional<shard_index_cache::index_version>> stored_object::version_of(
    const blob& bytes, const shard_parts& shard) {
  using index_version = shard_index_cache::index_version;
  const std::optional<blob_version> object = bytes.version();
  if (!object || bytes.size() < shard.index_size) return std::optional<index_version>();
  index_version out{*object};
  // The time of a file is that of the beginning of a `write`, which may take seconds, or of the
  // first change of a mapping. So a file that is being rewritten in place may have its last time
  // already and the old index still. The checksum behind the index tells, too, for one small read.
  if (bytes.descriptor() >= 0) {
    std::array<std::byte, sizeof out.checksum> stored{};
    if (!shard.index_chain.ends_with_crc32c()) return std::optional<index_version>();
    const std::uint64_t end = shard.index_offset(bytes.size()) + shard.index_size;
    ZARRPOINT_CHECK(bytes.read(end - stored.size(), stored));
    out.checksum = load_le<std::uint32_t>(stored.data());
  }
  return std::optional(out);
}

ZARRPOINT_INLINE result<std::shared_ptr<const shard_index>> stored_object::read_index(
    const blob& bytes, const array_layout& layout, codec_workspace& scratch) {
  const shard_parts& shard = *layout.shard();
  const std::uint64_t size = bytes.size();
  if (size < shard.index_size) return too_short_for_index(size, shard.index_size);
  ZARRPOINT_TRY(stored, scratch.scratch(stored_slot, shard.index_size));
  ZARRPOINT_CHECK(bytes.read(shard.index_offset(size), stored));
  ZARRPOINT_TRY(index, decode_index(shard, stored, size, scratch));
  return detail::make_counted<const shard_index>(std::move(index));
}

}}}  // namespace zarrpoint::v0::detail
