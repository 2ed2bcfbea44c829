// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A piece of an archive that is being written: a local header, and room for the bytes of a member.
struct zip_extent {
  std::uint64_t header = 0;
  std::uint64_t data = 0;  ///< aligned
  std::uint64_t end = 0;

  std::uint64_t capacity() const noexcept { return end - data; }
};

/// Which pieces of an archive are in use. What is given back is used again; nothing moves.
class zip_space {
 public:
  /// Room for `capacity` bytes at a multiple of `alignment`, with at least `header` bytes before.
  zip_extent allocate(std::uint64_t header, std::uint64_t capacity, std::uint64_t alignment);

  /// Makes an extent end at `end`: shorter always, longer only if nothing lies behind it. Tells
  /// whether it does.
  bool resize(zip_extent& extent, std::uint64_t end);

  void give_back(const zip_extent& extent) noexcept;

  /// What is given back from here on is not used again.
  void close() noexcept;

  /// Where the last extent ends.
  std::uint64_t tail() const;

 private:
  static zip_extent place(std::uint64_t from, std::uint64_t header, std::uint64_t capacity,
                          std::uint64_t alignment);

  void add_gap(std::uint64_t begin, std::uint64_t end);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> gaps_;  ///< from begin to end; none touch
  std::uint64_t tail_ = 0;
  std::atomic<bool> closed_{false};
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/zip/impl/zip_space_impl.hpp>
#endif
