// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void zip_batch::run::make_room(std::size_t wanted) {
  if (wanted <= size) return;
  std::byte* const made = new std::byte[wanted];
  delete[] bytes;
  bytes = made;
  size = wanted;
}

ZARRPOINT_INLINE zip_batch::place::place(run& of, std::size_t begin, std::size_t size)
    : of_(&of), bytes_(of.bytes + begin, size), fills_(of.is_full()) {
  of.filling.fetch_add(1, std::memory_order_relaxed);
}

ZARRPOINT_INLINE zip_batch::place zip_batch::claim(std::uint64_t offset, std::size_t size) {
  const std::lock_guard lock(mutex_);
  run& into = waiting();
  if (into.used != 0 && into.is_full()) return place::none_of_full();
  if (into.used != 0 && (into.end() != offset || size > into.size - into.used)) return {};
  // Others may write to it; only one of which nothing is used gets longer.
  if (into.used == 0) {
    into.make_room(std::max(size, run_bytes));
    into.begin = offset;
  }
  into.used += size;
  return place(into, into.used - size, size);
}

ZARRPOINT_INLINE result<void> zip_batch::flush() {
  const std::lock_guard writing(writing_);
  return write_out(true);
}

ZARRPOINT_INLINE result<void> zip_batch::flush_if_full() {
  const std::lock_guard writing(writing_);
  {
    const std::lock_guard lock(mutex_);
    if (leaving().used == 0 && !waiting().is_full()) return {};
  }
  return write_out(false);
}

ZARRPOINT_INLINE result<void> zip_batch::write_out(bool all) {
  // What an earlier flush failed to write goes before what was added since.
  bool is_old = leaving().used != 0;
  do {
    run& out = is_old ? leaving() : waiting();
    {
      const place rest = is_old ? place() : change_runs(all);
      // Each is copied by a thread that waits for nobody.
      while (out.filling.load(std::memory_order_acquire) != 0) std::this_thread::yield();
      if (rest) std::memcpy(rest.bytes().data(), out.bytes + out.used, rest.bytes().size());
    }
    if (out.used != 0) ZARRPOINT_CHECK(to_.write(out.begin, {out.bytes, out.used}));
    const std::lock_guard lock(mutex_);
    out.used = 0;
  } while (std::exchange(is_old, false));
  return {};
}

ZARRPOINT_INLINE zip_batch::place zip_batch::change_runs(bool all) {
  const std::lock_guard lock(mutex_);
  run& from = waiting();
  run& to = leaving();
  if (!all && from.is_full()) {
    to.make_room(run_bytes);
    to.begin = from.end() / full_bytes * full_bytes;
    to.used = static_cast<std::size_t>(from.end() - to.begin);
    from.used -= to.used;
  }
  waiting_ = 1 - waiting_;
  return to.used != 0 ? place(to, 0, to.used) : place();
}

ZARRPOINT_INLINE result<void> zip_batch::settle(std::uint64_t offset, std::uint64_t size) {
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t end = offset + size;
    if (!waiting().meets(offset, end) && !leaving().meets(offset, end)) return {};
  }
  return flush();
}

}}}  // namespace zarrpoint::v0::detail
