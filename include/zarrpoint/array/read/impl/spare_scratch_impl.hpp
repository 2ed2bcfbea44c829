// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/read/spare_scratch.hpp>
#include <zarrpoint/core/make_owner.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::shared_ptr<scratch_pool> spare_scratch::take() noexcept {
  if (busy_.test_and_set(std::memory_order_acquire)) return nullptr;
  std::shared_ptr<scratch_pool> out = std::move(left_);
  busy_.clear(std::memory_order_release);
  return out;
}

ZARRPOINT_INLINE void spare_scratch::leave(std::shared_ptr<scratch_pool> used) noexcept {
  // A small part of the budget, as of the indexes.
  const std::size_t part = std::min(most, used->budget().limit() / 32);
  used->drop_idle(part);
  if (used->budget().in_use() > part || busy_.test_and_set(std::memory_order_acquire)) return;
  left_.swap(used);
  busy_.clear(std::memory_order_release);
}

ZARRPOINT_INLINE array_scratch::array_scratch(spare_scratch* kept, const context& how, bool again)
    : pool_(how.scratch) {
  // A resource of the caller's may end before the array does.
  if (kept != nullptr && pool_ == nullptr && how.resource == nullptr) {
    pool_ = kept->take();
    if (again || pool_ != nullptr) kept_ = kept;
  }
  if (pool_ == nullptr) pool_ = make_counted<scratch_pool>(how.limit, resource_of(how));
}

ZARRPOINT_INLINE array_scratch::~array_scratch() {
  if (kept_ != nullptr) kept_->leave(std::move(pool_));
}

}}}  // namespace zarrpoint::v0::detail
