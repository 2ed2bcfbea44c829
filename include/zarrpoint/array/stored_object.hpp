// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_state.hpp>
#include <zarrpoint/array/chunk_digests.hpp>
#include <zarrpoint/array/layout.hpp>
#include <zarrpoint/array/shard_index.hpp>
#include <zarrpoint/codec/any_codec.hpp>
#include <zarrpoint/codec/workspace.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/blob.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// A blob in memory: a shard that had to be decoded as a whole.
class decoded_blob final : public blob {
 public:
  decoded_blob(buffer memory, std::size_t size, std::string name)
      : memory_(std::move(memory)), size_(size), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return size_; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    std::copy_n(memory_.data() + offset, into.size(), into.data());
    return {};
  }
  std::string name() const override { return name_; }

 private:
  buffer memory_;
  std::size_t size_;
  std::string name_;
};

/// Undoes one bytes -> bytes codec whose output is of unknown size up to `limit`: the room grows
/// until it is enough.
inline result<void> decode_growing(const erased_bytes_codec& codec, buffer& memory,
                                   std::size_t& size, std::uint64_t limit,
                                   codec_workspace& scratch) {
  const bytes_view stored = memory.bytes().first(size);
  if (codec.in_place()) {
    ZARRPOINT_TRY(decoded, codec.decode_in_place(stored));
    // It lies in `memory` still, and may begin later.
    std::copy_n(decoded.data(), decoded.size(), memory.data());
    size = decoded.size();
    return {};
  }
  std::uint64_t room = codec.decoded_size(stored).value_or(stored.size() * std::uint64_t{4});
  room = std::min(std::max<std::uint64_t>(room, 4096), limit);
  for (;;) {
    ZARRPOINT_TRY(decoded, buffer::allocate(room, scratch.resource()));
    result<std::size_t> done = codec.decode(stored, decoded.bytes(), scratch);
    if (done) {
      size = *done;
      memory = std::move(decoded);
      return {};
    }
    if (done.failure().code != errc::out_of_range) return std::move(done).failure();
    if (room >= limit)
      return error{errc::corrupt, "decodes to more than the " + std::to_string(limit) +
                                      " bytes that the shard can have"};
    room = room > limit / 2 ? limit : room * 2;
  }
}

/// The most bytes of a shard: all inner chunks at their limit, each after a gap of a page, which is
/// as far as writers are known to align.
inline std::uint64_t shard_limit(const array_layout& layout) {
  std::uint64_t limit = 0;
  if (__builtin_add_overflow(layout.chain().stored_limit(), std::uint64_t{4096}, &limit) ||
      __builtin_mul_overflow(limit, layout.inner_count(), &limit) ||
      __builtin_add_overflow(limit, layout.shard()->index_size, &limit))
    return UINT64_MAX;
  return limit;
}

/// Whether an object (null: it is missing) is the one that `digests` speak of, as far as can be
/// told without reading it. Errors: `corrupt`.
inline result<void> check_expected(const array_state& of, const chunk_digests& digests,
                                   const std::string& key, const blob* object) {
  const auto refuse = [](std::string why) { return error{errc::corrupt, std::move(why)}; };
  const object_digest* expected = digests.find(key);
  if (expected == nullptr) return refuse("there is no digest of it");
  if (expected->absent()) {
    if (object == nullptr) return {};
    return refuse("it is stored, but was not when the digests were taken");
  }
  if (object == nullptr) return refuse("it is missing");
  if (object->size() != expected->size)
    return refuse("it has " + std::to_string(object->size()) + " bytes, and had " +
                  std::to_string(expected->size) + " when the digests were taken");
  if (expected->crc32c.size() != of.layout.inner_count())
    return refuse(std::to_string(expected->crc32c.size()) + " digests for its " +
                  std::to_string(of.layout.inner_count()) + " inner chunks");
  return {};
}

/// One object of an array, open for reading: its bytes, and where each inner chunk lies in them.
struct stored_object {
  std::unique_ptr<blob> bytes;
  shard_index index;  ///< of a shard

  shard_entry entry(std::size_t slot) const {
    return index.size() == 0 ? shard_entry{0, bytes->size()} : index[slot];
  }

  /// Null when the store has no such object. A shard's index is read and checked; one around which
  /// there are codecs is read and decoded as a whole. Given `digests`, one that does not fit them
  /// is refused before it is read.
  static result<std::unique_ptr<stored_object>> open(const array_state& of, const std::string& key,
                                                     codec_workspace& scratch,
                                                     const chunk_digests* digests = nullptr) {
    ZARRPOINT_TRY(full_key, of.key.child(key));
    ZARRPOINT_TRY(found, of.store.open(full_key));
    if (digests != nullptr) ZARRPOINT_CHECK(check_expected(of, *digests, key, found.get()));
    if (found == nullptr) return std::unique_ptr<stored_object>();
    auto out = std::make_unique<stored_object>();
    out->bytes = std::move(found);
    if (of.sharded()) {
      ZARRPOINT_CHECK(out->undo_suffix(of.layout, scratch));
      ZARRPOINT_CHECK(out->read_index(of.layout, scratch));
    }
    return out;
  }

 private:
  result<void> undo_suffix(const array_layout& layout, codec_workspace& scratch) {
    const std::vector<any_codec>& suffix = layout.shard()->suffix;
    if (suffix.empty()) return {};
    std::size_t size = bytes->size();
    ZARRPOINT_TRY(memory, buffer::allocate(size, scratch.resource()));
    ZARRPOINT_CHECK(bytes->read(0, memory.bytes()));
    std::uint64_t limit = shard_limit(layout);
    if (limit == UINT64_MAX) limit = scratch.variable_limit();
    for (auto codec = suffix.rbegin(); codec != suffix.rend(); ++codec) {
      ZARRPOINT_CHECK(decode_growing(*codec->if_bytes_to_bytes(), memory, size, limit, scratch)
                          .at(codec->name()));
    }
    bytes = std::make_unique<decoded_blob>(std::move(memory), size, bytes->name());
    return {};
  }

  result<void> read_index(const array_layout& layout, codec_workspace& scratch) {
    const shard_layout& shard = *layout.shard();
    const std::uint64_t size = bytes->size();
    if (size < shard.index_size)
      return error{errc::corrupt, std::to_string(size) +
                                      " bytes are too few for the shard index of " +
                                      std::to_string(shard.index_size)};
    const std::uint64_t offset = shard.index_offset(size);
    ZARRPOINT_TRY(stored, scratch.scratch(stored_slot, shard.index_size));
    ZARRPOINT_CHECK(bytes->read(offset, stored));
    ZARRPOINT_TRY(made, shard_index::make(layout.inner_count(), scratch.resource()));
    index = std::move(made);
    const mutable_host_view words =
        dense_view(index.words().data(), shard.index_chain.chunk_spec());
    ZARRPOINT_CHECK(shard.index_chain.decode(stored, words, scratch).at("shard index"));
    return index.check(size, offset, shard.index_size, scratch.resource());
  }
};

}  // namespace zarrpoint::inline v0::detail
