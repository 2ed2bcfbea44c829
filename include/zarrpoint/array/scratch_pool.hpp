// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/context.hpp>
#include <zarrpoint/codec/workspace.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// The scratch memory of one or many operations: workspaces that are lent to workers and used
/// again, all within the budgets of a context. Thread-safe. It outlives what it lends.
///
/// Idle workspaces keep their memory, which makes the next chunk fast, but together no more than
/// may be in flight: a few chunks of a gigabyte do not leave gigabytes behind.
class scratch_pool {
 public:
  /// The text of strings that one operation makes for its caller. It counts against the budget
  /// until the operation ends.
  class text_account {
   public:
    explicit text_account(scratch_pool& owner) : owner_(&owner) {}
    text_account(const text_account&) = delete;
    text_account& operator=(const text_account&) = delete;
    ~text_account() { owner_->resource_.refund(bytes_.load(std::memory_order_relaxed)); }

   private:
    friend class scratch_pool;
    scratch_pool* owner_;
    std::atomic<std::size_t> bytes_{0};
  };

  /// A workspace on loan.
  class lease {
   public:
    lease() = default;
    lease(scratch_pool& owner, std::unique_ptr<codec_workspace> lent, text_account* kept)
        : owner_(&owner), lent_(std::move(lent)), kept_(kept) {}
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept {
      give_back();
      owner_ = other.owner_;
      lent_ = std::move(other.lent_);
      kept_ = other.kept_;
      return *this;
    }
    ~lease() { give_back(); }

    codec_workspace& operator*() const noexcept { return *lent_; }
    codec_workspace* operator->() const noexcept { return lent_.get(); }

   private:
    void give_back() noexcept {
      if (lent_ != nullptr) owner_->take_back(std::move(lent_), kept_);
    }
    scratch_pool* owner_ = nullptr;
    std::unique_ptr<codec_workspace> lent_;
    text_account* kept_ = nullptr;
  };

  explicit scratch_pool(const limits& limit, memory_resource& upstream = default_resource())
      : resource_(limit.memory, upstream),
        limiter_(limit.bytes_in_flight),
        idle_limit_(limit.bytes_in_flight != 0 ? limit.bytes_in_flight : SIZE_MAX),
        variable_limit_(
            std::min<std::uint64_t>(limit.memory, codec_workspace::default_variable_limit)) {}

  /// The workspace that was given back last, whose memory is warm; else a new one. The text of
  /// strings that is decoded with it counts for as long as the loan, or for as long as `kept`.
  lease borrow(text_account* kept = nullptr) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        lease out(*this, std::move(idle_.back()), kept);
        idle_.pop_back();
        idle_bytes_ -= out->held();
        return out;
      }
    }
    return {*this, std::make_unique<codec_workspace>(resource_, variable_limit_, &resource_), kept};
  }

  /// What the workspaces take their memory from: counts it, and the text of
  /// strings, and keeps to `limits::memory`.
  limited_resource& resource() noexcept { return resource_; }
  /// Bounds the bytes in flight.
  byte_limiter& limiter() noexcept { return limiter_; }

 private:
  void take_back(std::unique_ptr<codec_workspace> returned, text_account* kept) noexcept {
    const std::size_t text = returned->take_charged_text();
    if (kept != nullptr) {
      kept->bytes_.fetch_add(text, std::memory_order_relaxed);
    } else {
      resource_.refund(text);
    }
    const std::size_t held = returned->held();
    const std::lock_guard lock(mutex_);
    if (held > idle_limit_ - idle_bytes_) return;
    idle_bytes_ += held;
    idle_.push_back(std::move(returned));
  }

  limited_resource resource_;
  byte_limiter limiter_;
  std::size_t idle_limit_;
  std::uint64_t variable_limit_;
  std::mutex mutex_;
  std::size_t idle_bytes_ = 0;
  std::vector<std::unique_ptr<codec_workspace>> idle_;
};

/// `how`, with scratch memory that all operations it is passed to share: for whoever reads or
/// writes many arrays. `limits::memory` and `limits::bytes_in_flight` then bound them together.
inline context with_scratch(context how) {
  if (how.scratch == nullptr)
    how.scratch = std::make_shared<scratch_pool>(how.limit, resource_of(how));
  return how;
}

}  // namespace zarrpoint::inline v0
