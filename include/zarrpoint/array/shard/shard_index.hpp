// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Where an inner chunk lies in its shard.
struct shard_entry {
  static constexpr std::uint64_t absent_mark = UINT64_MAX;

  std::uint64_t offset = absent_mark;  ///< from the start of the shard
  std::uint64_t size = absent_mark;    ///< in bytes

  /// Not stored: all of it is the fill value.
  bool absent() const noexcept { return offset == absent_mark && size == absent_mark; }
  friend bool operator==(const shard_entry&, const shard_entry&) = default;
};

/// Where an inner chunk of `size` bytes goes in a shard whose last one ends at `end`: small ones
/// are not worth the gap (see `write_options::alignment`). Errors: `out_of_range`.
result<std::uint64_t> shard_place(std::uint64_t end, std::uint64_t size, std::uint32_t alignment);

/// The index of a shard: one entry per inner chunk, in row-major order of the shard's grid.
class shard_index {
 public:
  shard_index() = default;

  /// `count` absent entries. Errors: `resource_limit`.
  static result<shard_index> make(std::uint64_t count, memory_resource& from = default_resource());

  std::size_t size() const noexcept { return memory_.size() / sizeof(shard_entry); }
  shard_entry operator[](std::size_t i) const noexcept;
  void set(std::size_t i, shard_entry entry) noexcept;

  /// The sum of the sizes of what is there, which `check` has found to be no more than the shard's.
  std::uint64_t stored_bytes() const noexcept;

  /// The entries as the uint64 array of shape [count, 2] that the index codecs work on: pairs of
  /// offset and size in native byte order.
  mutable_bytes words() noexcept { return memory_.bytes(); }
  bytes_view words() const noexcept { return memory_.bytes(); }

  /// Whether the entries can be believed: absent ones have both marks; the others lie within the
  /// `object_size` bytes of the shard, outside `[index_offset, index_offset + index_size)`, and no
  /// two overlap. Gaps are legal. Errors: `corrupt`, naming the entry; `resource_limit`.
  result<void> check(std::uint64_t object_size, std::uint64_t index_offset,
                     std::uint64_t index_size, memory_resource& scratch = default_resource()) const;

 private:
  result<void> check_disjoint(memory_resource& scratch) const;
  static error bad(std::size_t i, const std::string& what);
  static std::string range(const shard_entry& entry);

  buffer memory_;
};

}}}  // namespace zarrpoint::v0::detail
