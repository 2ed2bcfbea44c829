// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

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

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/staging_blocks_impl.hpp>
#endif
