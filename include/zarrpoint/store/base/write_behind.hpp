// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What others write of one file.
struct pending_writes {
  unsigned count = 0;        ///< for `write_behind` alone
  std::atomic<int> code{0};  ///< the errno of the first that failed
};

/// Writes for a caller that goes on meanwhile; by default nobody does. It is a table of functions
/// and not a base class, so that programs that save nothing are linked without its threads.
class write_behind {
 public:
  struct job {
    int (*write)(const job&) noexcept;  ///< 0 or the errno
    void* writer;
    std::uint64_t offset;
    bytes_view bytes;
  };
  struct operations {
    bool (*post)(void* self, const job& work, pending_writes& in) noexcept;
    void (*settle)(void* self, pending_writes& in) noexcept;
    void (*end)(void* self) noexcept;
  };

  write_behind() = default;
  write_behind(const operations& by, void* self) noexcept : by_(&by), self_(self) {}
  write_behind(write_behind&& other) noexcept : by_(other.by_), self_(other.self_) {
    other.by_ = nullptr;
  }
  write_behind& operator=(write_behind&& other) noexcept {
    std::swap(by_, other.by_);
    std::swap(self_, other.self_);
    return *this;
  }
  ~write_behind() {
    if (by_ != nullptr) by_->end(self_);
  }

  /// Has somebody call `work.write(work)`. False when nobody is free: the caller does it.
  bool post(const job& work, pending_writes& in) noexcept {
    return by_ != nullptr && by_->post(self_, work, in);
  }

  /// Returns when all that was posted is written.
  void settle(pending_writes& in) noexcept {
    if (by_ != nullptr) by_->settle(self_, in);
  }

 private:
  const operations* by_ = nullptr;
  void* self_ = nullptr;
};

}}}  // namespace zarrpoint::v0::detail
