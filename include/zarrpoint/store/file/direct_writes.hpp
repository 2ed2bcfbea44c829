// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/write_behind.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What O_DIRECT wants of memory: enough for every device with blocks of up to 4 KiB.
inline constexpr std::size_t direct_alignment = 4096;
/// Where in a file direct and buffered writes may meet: no page of any kernel sees both.
inline constexpr std::size_t direct_boundary = 65536;

/// Aligned blocks through which data that is not aligned goes to the disk; kept for the next write.
/// There are as many as writes at once, and no budget counts them: see docs/stores.md.
class staging_blocks {
 public:
  /// A chunk of 1 MiB, and what waits for it at either end.
  static constexpr std::size_t block_size = (std::size_t{1} << 20) + 2 * direct_boundary;

  staging_blocks() = default;
  staging_blocks(const staging_blocks&) = delete;
  staging_blocks& operator=(const staging_blocks&) = delete;
  ~staging_blocks();

  /// A block of the caller's own until `give`; null when memory is exhausted.
  std::byte* take() noexcept;
  void give(std::byte* block) noexcept;

 private:
  std::byte* pop() noexcept;

  std::mutex mutex_;
  std::byte* free_ = nullptr;  ///< the first; each begins with the address of the next
};

/// Smaller writes go through the page cache.
inline constexpr std::size_t direct_minimum = std::size_t{256} << 10;

/// Writes of one file past the page cache, for data that is to be on disk anyway. It has 4.7 GB/s
/// where writing and syncing has 2.5, and ten times as much where the page cache has to take memory
/// from the host. Of what is written once, less than a block of `direct_boundary` at either end
/// waits in memory. It waits for the write that has the rest of that block, and goes with it.
class direct_writes {
 public:
  direct_writes(staging_blocks& blocks, write_behind& behind) : blocks_(blocks), behind_(behind) {}
  direct_writes(const direct_writes&) = delete;
  direct_writes& operator=(const direct_writes&) = delete;
  ~direct_writes();

  /// `buffered`: the file, which the caller keeps open. `direct`: the same, opened once more with
  /// O_DIRECT; an empty one means that this is not to be had. Before any other call.
  void open(int buffered, unique_fd direct);

  /// Puts `bytes` at `offset`; threads may write disjoint ranges at once. 0 or the errno.
  int write(std::uint64_t offset, bytes_view bytes);

  struct once {
    std::size_t gap = 0;      ///< so many zeros before the bytes
    bool bytes_stay = false;  ///< where they are, until `finish` or the destructor has returned
  };

  /// Puts `bytes` at `offset`, at once or until `finish`. None of it is written again, nor read
  /// before `finish`. 0 or the errno, which may be that of such a write before.
  int write_once(std::uint64_t offset, bytes_view bytes, once how);

  /// Returns when nobody writes any more.
  void settle() noexcept { behind_.settle(pending_); }

  /// Writes what waits; when all writes have returned. 0 or the errno.
  int finish();

 private:
  /// The first or the last bytes of a block, in one of the slots of `memory_`.
  struct edge {
    std::uint64_t offset = 0;
    std::size_t size = 0;  ///< 0: the slot is free
    bool taken = false;    ///< somebody writes it
  };
  static constexpr std::size_t slots = staging_blocks::block_size / direct_boundary;

  bytes_view bytes_of(const edge* one) const noexcept;
  edge* take(std::uint64_t offset, std::size_t size) noexcept;
  bool keep(std::uint64_t offset, bytes_view zeros, bytes_view bytes) noexcept;
  /// Writes `parts`, which follow each other and fill blocks together.
  int put(std::uint64_t offset, const bytes_view (&parts)[4], bool bytes_stay);
  static int write_kept(const write_behind::job& work) noexcept;
  static int write_staged(const write_behind::job& work) noexcept;
  int put_block(std::uint64_t offset, std::byte* block, std::size_t size) noexcept;
  int put_now(std::uint64_t offset, bytes_view bytes) noexcept;
  int put_bytes(std::uint64_t offset, bytes_view bytes) noexcept;

  staging_blocks& blocks_;
  write_behind& behind_;
  pending_writes pending_;  ///< of `behind_`
  int buffered_ = -1;
  unique_fd fd_;
  std::atomic<bool> usable_{false};
  std::mutex mutex_;
  std::byte* memory_ = nullptr;  ///< a staging block, once something waits
  edge edges_[slots];
};

}}}  // namespace zarrpoint::v0::detail
