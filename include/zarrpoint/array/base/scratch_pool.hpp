// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/memory/device/spare_objects.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

class scratch_account;

/// The scratch memory of one or many operations: workspaces that are lent to workers and used
/// again, all within the budgets of a context. Thread-safe. It outlives what it lends.
///
/// Workspaces keep their memory from loan to loan, which makes the next chunk fast. Together they
/// keep no more than may be in flight, and no more than a quarter of the budget, of which half may
/// be in flight. What idle ones keep is given up when the budget would otherwise be exceeded. So a
/// small budget makes workers wait for each other, not fail.
class scratch_pool {
 public:
  /// A workspace on loan, and the bytes in flight that its memory was reserved for.
  class lease {
   public:
    lease() = default;
    lease(scratch_pool& owner, std::unique_ptr<codec_workspace> lent, scratch_account* kept);
    lease(lease&&) noexcept = default;
    lease& operator=(lease&& other) noexcept;
    ~lease() { give_back(); }

    /// Gives up all memory but that which `bytes` lie in, for a loan that only waits with them.
    void keep_only(bytes_view bytes) noexcept;

    /// Keeps a reservation until the workspace is given back: its memory is in use for as long.
    void hold(byte_limiter::reservation reserved) noexcept { reserved_ = std::move(reserved); }

    codec_workspace& operator*() const noexcept { return *lent_; }
    codec_workspace* operator->() const noexcept { return lent_.get(); }

   private:
    void give_back() noexcept;
    scratch_pool* owner_ = nullptr;
    std::unique_ptr<codec_workspace> lent_;
    scratch_account* kept_ = nullptr;
    std::size_t warm_ = 0;  ///< what it held when it was lent
    byte_limiter::reservation reserved_;
  };

  explicit scratch_pool(const limits& limit, memory_resource& upstream = default_resource());

  /// The workspace that was given back last, whose memory is warm; else a new one. The text of
  /// strings that is decoded with it counts for as long as the loan, or for as long as `kept`.
  lease borrow(scratch_account* kept = nullptr);

  /// What the workspaces take their memory from, within the budget.
  memory_resource& resource() noexcept { return resource_; }
  /// Counts that memory and the text of strings, and keeps to `limits::memory`.
  const limited_resource& budget() const noexcept { return budget_; }
  /// Gives up idle workspaces with what they keep, as long as more than `bytes` are in use.
  void drop_idle(std::size_t bytes = 0) noexcept;
  /// Bounds the bytes in flight.
  byte_limiter& limiter() noexcept { return limiter_; }
  /// What operations leave for later ones, in memory of `resource()`: rings of pinned memory.
  detail::spare_objects& kept() noexcept { return kept_; }

 private:
  friend class scratch_account;
  /// The budget, with what idle workspaces keep as a reserve.
  class reclaiming_resource final : public memory_resource {
   public:
    explicit reclaiming_resource(scratch_pool& owner) noexcept : owner_(&owner) {}
    [[nodiscard]] ZARRPOINT_NO_KEY void* allocate(std::size_t bytes,
                                                  std::size_t alignment) noexcept override;
    ZARRPOINT_NO_KEY void deallocate(void* memory, std::size_t bytes,
                                     std::size_t alignment) noexcept override;
    std::size_t bytes_limit() const noexcept override { return owner_->budget_.bytes_limit(); }
    std::size_t bytes_in_use() const noexcept override { return owner_->budget_.in_use(); }

   private:
    scratch_pool* owner_;
  };

  void take_back(std::unique_ptr<codec_workspace> returned, scratch_account* kept,
                 std::size_t warm) noexcept;

  limited_resource budget_;
  reclaiming_resource resource_{*this};
  byte_limiter limiter_;
  std::size_t warm_limit_;
  std::uint64_t variable_limit_;
  std::mutex mutex_;
  std::size_t workspaces_ = 0;  // idle or lent
  std::size_t warm_bytes_ = 0;  // of idle ones, and what lent ones held when they were lent
  std::vector<std::unique_ptr<codec_workspace>> idle_;
  detail::spare_objects kept_;  // the last member: gone before the budget
};

/// `how`, with scratch memory that all operations with it share: for callers that read or
/// write many arrays. `limits::memory` and `limits::bytes_in_flight` then bound them together.
context with_scratch(context how);

namespace detail {

/// The slots of a workspace that the array layer uses.
enum scratch_slot : std::size_t { stored_slot, decoded_slot };

/// Counts a tensor that is made for the caller. Errors: `out_of_range`, `resource_limit`.
result<void> charge_tensor(const tensor_spec& spec, scratch_account& to);

/// The same, and makes it. Errors: those, and what the resource of `how` refuses.
result<tensor> make_tensor(const tensor_spec& spec, const context& how, scratch_account& to);

/// `fill_elements`, with the text that strings get counted: one long fill value may be that of very
/// many elements. Errors: `resource_limit`.
result<void> fill_within_budget(const mutable_host_view& to, bytes_view element,
                                codec_workspace& scratch);

}  // namespace detail

}}  // namespace zarrpoint::v0
