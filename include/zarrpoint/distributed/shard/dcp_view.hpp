// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What torch's distributed checkpoints ask of the shards of a process: what there is to write, in
// which boxes its tensors come, and which shard an index means. A view of `shard_metadata` and
// `sharded_object`; it reads and writes nothing. It answers as Megatron-Core's
// `LocalShardsContainer` does, for programs with a writer of their own; no save of ours needs it.

#include <zarrpoint/distributed/shard/sharded_object.hpp>

namespace zarrpoint { inline namespace v0 {

/// Names a shard of a key.
struct metadata_index {
  std::string key{};
  std::optional<dims> offset{};
  /// Where the shard may be found among those of its process. It may be stale, and is not part of
  /// the name.
  std::optional<std::size_t> hint{};

  friend bool operator==(const metadata_index& a, const metadata_index& b) {
    return a.key == b.key && a.offset == b.offset;
  }
};

/// What is written at once: a box of a tensor, or an object's bytes.
struct write_item {
  enum class kind : std::uint8_t { shard, bytes };

  metadata_index index{};
  kind what = kind::shard;
  box chunk{};           ///< of the global tensor; of an object: nothing
  tensor_spec tensor{};  ///< the global one; of an object: nothing
};

/// An object is written under its unique key, whole.
write_item write_item_of(const sharded_object& object);

/// The shards of one global tensor that one process holds: none, one or several.
class local_shards {
 public:
  /// In the order given, which hints count in. Errors: `invalid_argument` for shards that are not
  /// of one tensor under `key`, or if two have the same box; `unsupported` for a
  /// flat range, which is not a box; those of `shard_metadata::check`.
  static result<local_shards> make(std::string key, std::vector<shard_metadata> shards);

  const std::string& key() const noexcept { return key_; }
  std::span<const shard_metadata> shards() const noexcept { return shards_; }

  /// The box of each shard, replicas included, in the rank of the global tensor: prepended axes
  /// have extent 1.
  std::vector<box> chunks() const;

  /// What this process has to write: its main replicas that are not empty.
  std::vector<write_item> write_items() const;

  /// The position among `shards()` of the shard at `index.offset`: at the hint if that is the
  /// place, else found by the offset. Where an empty shard has the same offset, the one that is not
  /// empty. Errors: `out_of_range` where this process has no shards, `invalid_argument` for an
  /// index without an offset or of another key, `not_found` where no shard is at that offset.
  result<std::size_t> find(const metadata_index& index) const;

 private:
  local_shards(std::string key, std::vector<shard_metadata> shards)
      : key_(std::move(key)), shards_(std::move(shards)), by_offset_(shards_.size()) {}

  /// Shards by offset, the empty ones behind those that are not.
  bool before(std::size_t a, std::size_t b) const;
  result<void> check_duplicates() const;

  std::string key_;
  std::vector<shard_metadata> shards_;
  std::vector<std::size_t> by_offset_;
};

}}  // namespace zarrpoint::v0
