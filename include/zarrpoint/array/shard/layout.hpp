// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/sharding_codec.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <optional>

namespace zarrpoint { inline namespace v0 {

/// How an array lies in its store, from its metadata: the grid, the codecs bound to the shape they
/// work on, the shards. An array without shards has objects of one inner chunk. So has one whose
/// shards have codecs around them that must see all of a shard at a time: its chain holds
/// `sharding_indexed` itself.
///
/// A `transpose` before `sharding_indexed` is carried into the inner chunks. The shard's grid is
/// kept in the axes of the array. The codecs of an inner chunk begin with the transpose, and only
/// the order of the index knows of it.
class array_layout {
 public:
  /// Errors: `unsupported`, `invalid_argument`, `corrupt`, naming the codec; `resource_limit`.
  static result<array_layout> resolve(const array_metadata& metadata, const codec_table& known,
                                      const limits& limit);

  const chunk_grid& grid() const noexcept { return grid_; }
  /// The codecs of an inner chunk.
  const codec_chain& chain() const noexcept { return shard_ ? shard_->chain : *chain_; }
  /// Null for an array without shards.
  const shard_parts* shard() const noexcept { return shard_ ? &*shard_ : nullptr; }
  /// Inner chunks of an object: entries of its index.
  std::uint64_t inner_count() const noexcept { return inner_count_; }
  /// Whether objects of this array can be written.
  bool can_write() const noexcept { return chain().can_encode(); }

  /// Whether the index has the axes of the array: no transpose stands before the shards.
  bool is_row_major() const noexcept;

  /// The coordinates of an inner chunk in the order of the axes that the index has.
  dims index_coordinates(const dims& inner) const;
  /// The entry of an inner chunk in the index.
  std::size_t slot(const dims& inner) const;

 private:
  std::size_t axis_of(std::size_t i) const noexcept { return static_cast<std::size_t>(order_[i]); }

  struct split;
  result<void> resolve_shard(const array_metadata& metadata, split& parts,
                             const detail::array_codecs& known);
  result<bool> carry_prefix(const split& parts, const tensor_spec& shard,
                            const detail::array_codecs& known);

  chunk_grid grid_;
  std::optional<codec_chain> chain_;  // of an array without shards
  std::optional<shard_parts> shard_;
  std::uint64_t inner_count_ = 1;
  dims order_;  // axis i of the index is axis order_[i] of the array
};

}}  // namespace zarrpoint::v0
