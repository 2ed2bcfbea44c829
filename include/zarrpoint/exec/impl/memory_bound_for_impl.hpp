// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/memory_bound_for.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE memory_bound_for::memory_bound_for(const any_executor& executor, std::size_t n,
                                                    parallel_options options)
    : executor_(executor),
      n_(n),
      options_(std::move(options)),
      workers_(parallel_workers(executor_, n_, options_)) {}

ZARRPOINT_INLINE void memory_bound_for::note(std::size_t i, errc code) {
  if (code != errc::resource_limit) return;
  std::size_t lowest = failed_.load();
  while (i < lowest && !failed_.compare_exchange_weak(lowest, i)) {
  }
}

ZARRPOINT_INLINE bool memory_bound_for::may_go_on(errc code) const noexcept {
  return code == errc::resource_limit && failed_ != none &&
         (workers_ > 1 || failed_ != failed_alone_);
}

ZARRPOINT_INLINE void memory_bound_for::go_on(std::size_t from) noexcept {
  if (workers_ == 1) failed_alone_ = failed_.load();
  workers_ = std::max(workers_ / 2, 1U);
  options_.max_workers = workers_;
  first_ = from;
  failed_ = none;
}

}}}  // namespace zarrpoint::v0::detail
