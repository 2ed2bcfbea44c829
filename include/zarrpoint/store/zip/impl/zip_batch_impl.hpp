// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<bool> zip_batch::add(std::uint64_t offset, bytes_view head,
                                             bytes_view body) {
  std::unique_lock lock(mutex_);
  if (!waiting_.bytes.empty() && waiting_.end() != offset) {
    lock.unlock();
    ZARRPOINT_CHECK(flush());
    lock.lock();
  }
  return guarded([&]() -> result<bool> {
    std::string& bytes = waiting_.bytes;
    const std::size_t size = bytes.size() + head.size() + body.size();
    // At once, so that nothing is added by halves when there is no memory.
    if (size > bytes.capacity()) bytes.reserve(std::max(size, 2 * bytes.capacity()));
    if (bytes.empty()) waiting_.begin = offset;
    bytes.append(as_text(head));
    bytes.append(as_text(body));
    return bytes.size() >= full_bytes;
  });
}

ZARRPOINT_INLINE result<void> zip_batch::flush() {
  const std::lock_guard writing(writing_);
  // What an earlier flush failed to write goes before what was added since.
  bool is_old = !leaving_.bytes.empty();
  do {
    if (!is_old) {
      const std::lock_guard lock(mutex_);
      waiting_.bytes.swap(leaving_.bytes);
      leaving_.begin = waiting_.begin;
    }
    if (!leaving_.bytes.empty())
      ZARRPOINT_CHECK(to_.write(leaving_.begin, as_bytes(leaving_.bytes)));
    const std::lock_guard lock(mutex_);
    leaving_.bytes.clear();
  } while (std::exchange(is_old, false));
  return {};
}

ZARRPOINT_INLINE result<void> zip_batch::flush_if_full() {
  {
    const std::lock_guard writing(writing_);
    const std::lock_guard lock(mutex_);
    if (leaving_.bytes.empty() && waiting_.bytes.size() < full_bytes) return {};
  }
  return flush();
}

ZARRPOINT_INLINE result<void> zip_batch::settle(std::uint64_t offset, std::uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t end = offset + size;
    if (!waiting_.meets(offset, end) && !leaving_.meets(offset, end)) return {};
  }
  return flush();
}

}}}  // namespace zarrpoint::v0::detail
