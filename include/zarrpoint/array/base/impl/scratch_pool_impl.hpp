// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/memory/device/spare_objects.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE scratch_pool::lease::lease(scratch_pool& owner,
                                            std::unique_ptr<codec_workspace> lent,
                                            scratch_account* kept)
    : owner_(&owner), lent_(std::move(lent)), kept_(kept), warm_(lent_->held()) {}

ZARRPOINT_INLINE scratch_pool::scratch_pool(const limits& limit, memory_resource& upstream)
    : budget_(limit.memory, upstream),
      limiter_(std::max<std::size_t>(
          std::min(limit.bytes_in_flight != 0 ? limit.bytes_in_flight : SIZE_MAX, limit.memory / 2),
          1)),
      warm_limit_(std::min(limiter_.limit(), limit.memory / 4)),
      variable_limit_(
          std::min<std::uint64_t>(limit.memory, codec_workspace::default_variable_limit)) {}

ZARRPOINT_INLINE scratch_pool::lease& scratch_pool::lease::operator=(lease&& other) noexcept {
  give_back();
  owner_ = other.owner_;
  lent_ = std::move(other.lent_);
  kept_ = other.kept_;
  warm_ = other.warm_;
  reserved_ = std::move(other.reserved_);
  return *this;
}

ZARRPOINT_INLINE void scratch_pool::lease::keep_only(bytes_view bytes) noexcept {
  lent_->keep_only(bytes);
}

ZARRPOINT_INLINE void scratch_pool::lease::give_back() noexcept {
  if (lent_ != nullptr) owner_->take_back(std::move(lent_), kept_, warm_);
  reserved_.release();
}

ZARRPOINT_INLINE scratch_pool::lease scratch_pool::borrow(scratch_account* kept) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      lease out(*this, std::move(idle_.back()), kept);
      idle_.pop_back();
      return out;
    }
    idle_.reserve(workspaces_ + 1);  // so that taking it back cannot fail
    ++workspaces_;
  }
  return {*this, std::make_unique<codec_workspace>(resource_, variable_limit_, &budget_), kept};
}

ZARRPOINT_INLINE void* scratch_pool::reclaiming_resource::allocate(std::size_t bytes,
                                                                   std::size_t alignment) noexcept {
  void* const memory = owner_->budget_.allocate(bytes, alignment);
  if (memory != nullptr) return memory;
  owner_->drop_idle();  // or another thread did, which has not taken all of it
  return owner_->budget_.allocate(bytes, alignment);
}

ZARRPOINT_INLINE void scratch_pool::reclaiming_resource::deallocate(
    void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  owner_->budget_.deallocate(memory, bytes, alignment);
}

ZARRPOINT_INLINE void scratch_pool::drop_idle(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  while (!idle_.empty() && budget_.in_use() > bytes) {
    warm_bytes_ -= idle_.back()->held();
    idle_.pop_back();
    --workspaces_;
  }
}

ZARRPOINT_INLINE void scratch_pool::take_back(std::unique_ptr<codec_workspace> returned,
                                              scratch_account* kept, std::size_t warm) noexcept {
  const std::size_t text = returned->take_charged_text();
  if (kept != nullptr) {
    kept->bytes_.fetch_add(text, std::memory_order_relaxed);
  } else {
    budget_.refund(text);
  }
  const std::size_t held = returned->held();
  const std::lock_guard lock(mutex_);
  warm_bytes_ -= warm;
  if (held > warm_limit_ - warm_bytes_) {
    --workspaces_;
    return;
  }
  warm_bytes_ += held;
  idle_.push_back(std::move(returned));
}

ZARRPOINT_INLINE context with_scratch(context how) {
  if (how.scratch == nullptr)
    how.scratch = detail::make_counted<scratch_pool>(how.limit, detail::resource_of(how));
  return how;
}

}}  // namespace zarrpoint::v0
