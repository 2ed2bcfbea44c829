// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>

#include <atomic>
#include <cstddef>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE scratch_account::scratch_account(scratch_account&& other) noexcept
    : owner_(other.owner_), bytes_(other.bytes_.exchange(0, std::memory_order_relaxed)) {}

ZARRPOINT_INLINE bool scratch_account::charge(std::size_t bytes) noexcept {
  limited_resource& budget = owner_->budget_;
  if (!budget.charge(bytes)) {
    owner_->drop_idle();  // or another thread did, which has not taken all of it
    if (!budget.charge(bytes)) return false;
  }
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

ZARRPOINT_INLINE void scratch_account::clear() noexcept {
  owner_->budget_.refund(bytes_.exchange(0, std::memory_order_relaxed));
}

ZARRPOINT_INLINE void scratch_account::move_to(scratch_account& larger) noexcept {
  larger.bytes_.fetch_add(bytes_.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
}

ZARRPOINT_INLINE void detail::drop_idle_scratch(const context& how) noexcept {
  how.scratch->drop_idle();
}

}}  // namespace zarrpoint::v0
