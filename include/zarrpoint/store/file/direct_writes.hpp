// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What O_DIRECT wants of memory: enough for every device with blocks of up to 4 KiB.
inline constexpr std::size_t direct_alignment = 4096;
/// Where in a file direct and buffered writes may meet: no page of any kernel sees both.
inline constexpr std::size_t direct_boundary = 65536;
/// Smaller writes go through the page cache.
inline constexpr std::size_t direct_minimum = std::size_t{256} << 10;

/// Aligned blocks through which data that is not aligned goes to the disk; kept for the next write.
/// There are as many as threads write at once, and no budget counts them: see docs/stores.md.
class staging_blocks {
 public:
  static constexpr std::size_t block_size = std::size_t{1} << 20;

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

/// Writes past the page cache, for data that is to be on disk anyway: 4.7 GB/s where writing and
/// syncing has 2.5, and ten times as much where the page cache has to take memory from the host.
class direct_writes {
 public:
  /// `fd`: the file, opened once more with O_DIRECT; an empty one means that this is not to be had.
  explicit direct_writes(unique_fd fd) : fd_(std::move(fd)), usable_(static_cast<bool>(fd_)) {}

  /// Writes what can be written directly of `bytes` at `offset`, and sets `done` to that part: the
  /// rest before and behind goes the usual way. 0 or the errno.
  int write(std::uint64_t offset, bytes_view bytes, staging_blocks& blocks, bytes_view& done);

 private:
  int write_aligned(std::uint64_t offset, bytes_view bytes, staging_blocks& blocks);

  unique_fd fd_;
  std::atomic<bool> usable_;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/direct_writes_impl.hpp>
#endif
