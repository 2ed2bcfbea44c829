// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------------- context.hpp

ZARRPOINT_INLINE codec_table default_codec_table() { return default_codecs::table(); }
ZARRPOINT_INLINE store_table default_store_table() {
  static constexpr path_rules rules{nullptr, &name_format};
  return store_table(default_stores::entries, &rules);
}

ZARRPOINT_INLINE json_limits document_limits(const limits& limit) noexcept {
  constexpr std::size_t small = std::size_t{16} << 10;
  // What nobody asks for keeps no array from being read.
  json_limits out{.max_bytes = limit.metadata_bytes, .keep_text = true};
  if (limit.memory == SIZE_MAX) return out;
  out.max_nodes = out.node_limit();
  out.max_bytes = std::min<std::size_t>(out.max_bytes, document_bytes_within(limit.memory));
  out.max_memory = 8 * small + limit.memory / 4 * 3;
  return out;
}

}  // namespace detail

/// What checkpoints, arrays and groups use when the caller names no context. It has a thread for
/// each core, started at the first use and joined at exit, the default codecs and limits. Pass a
/// `context{}` of your own for the inline executor: then no thread is ever started.
ZARRPOINT_INLINE const context& default_context() {
  static thread_pool pool;
  static const context how{.executor = pool.executor()};
  return how;
}

// ----------------------------------------------------------------------------- scratch_account.hpp

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

// -------------------------------------------------------------------------------- scratch_pool.hpp

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

namespace detail {

ZARRPOINT_INLINE result<void> charge_tensor(const tensor_spec& spec, scratch_account& to) {
  ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
  if (to.charge(bytes)) return {};
  const limited_resource& budget = to.pool().budget();
  std::string text = to_string(spec) + " has " + std::to_string(bytes) + " bytes, more than ";
  if (const std::size_t used = budget.in_use(); used != 0)
    text += "is left beside the " + std::to_string(used) + " bytes in use of ";
  return error{errc::resource_limit,
               std::move(text) + "limits::memory of " + std::to_string(budget.limit())};
}

ZARRPOINT_INLINE result<tensor> make_tensor(const tensor_spec& spec, const context& how,
                                            scratch_account& to) {
  ZARRPOINT_CHECK(charge_tensor(spec, to));
  return tensor::make(spec, resource_of(how));
}

ZARRPOINT_INLINE result<void> fill_within_budget(const mutable_host_view& to, bytes_view element,
                                                 codec_workspace& scratch) {
  if (to.type.is_variable()) {
    ZARRPOINT_TRY(count, element_count(to.shape));
    ZARRPOINT_TRY(text, checked_mul(element.size(), static_cast<std::size_t>(count)));
    ZARRPOINT_CHECK(scratch.charge_text(text));
  }
  fill_elements(to, element);
  return {};
}

}  // namespace detail

// ------------------------------------------------------------------------------- chunk_digests.hpp

ZARRPOINT_INLINE const object_digest* chunk_digests::find(std::string_view key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : &at->second;
}

ZARRPOINT_INLINE void chunk_digests::set(std::string key, object_digest digest) {
  objects_.insert_or_assign(std::move(key), std::move(digest));
}

ZARRPOINT_INLINE void chunk_digests::merge(const chunk_digests& other) {
  for (const auto& [key, digest] : other.objects_) set(key, digest);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/lists/bodies.hpp>
#include <zarrpoint/store/bodies.hpp>
#include <zarrpoint/zarr/json/bodies.hpp>
#endif
