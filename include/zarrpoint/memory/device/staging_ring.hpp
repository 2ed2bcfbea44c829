// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/device/spare_objects.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

class ring_budget;

/// How large a ring is, and where its memory comes from. Many threads fill a slot each while the
/// copies of as many more are under way: by half as many slots 16 threads were half as fast.
struct ring_options {
  std::size_t slots = 32;
  std::size_t slot_bytes = std::size_t{4} << 20;
  memory_resource* resource = nullptr;            ///< null: `default_resource()`
  std::shared_ptr<ring_budget> budget = nullptr;  ///< slots are taken from it; null: no bound
  std::size_t put_by = 0;                         ///< taken already, for the first slot
};

/// The sizes of a ring that takes a share at most, but for one slot of 64 KiB. With a small share
/// it has at first fewer slots, and below four of them smaller ones.
ring_options ring_within(std::size_t share, memory_resource& resource);

/// What several rings may take of the host's memory together. Thread-safe.
class ring_budget {
 public:
  explicit ring_budget(std::size_t most) : left_(most) {}

  /// The sizes of one more ring within what is left, and its first slot put by: the ring has that
  /// in any case.
  ring_options add_ring(memory_resource& resource);
  /// False if there is not that much left.
  bool take(std::size_t bytes);
  void give_back(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::size_t left_;
};

/// A few blocks of host memory through which bytes go to and from a device, used again
/// and again. A block is allocated, touched and pinned when it is first needed, and unpinned when
/// the ring ends; where pinning is refused, the ring works without. Thread-safe. The resource must
/// outlive it, and it must outlive its slots.
///
/// A thread that holds a slot must not acquire another: it could wait for itself.
template <device_space Space>
class staging_ring {
  struct block {
    buffer memory;
    bool pinned = false;
    std::optional<std::size_t> taken;           ///< of the budget
    std::optional<typename Space::event> last;  ///< of the copies that may still use it
  };

 public:
  /// A block on loan. Move-only.
  class slot {
   public:
    slot() = default;
    slot(slot&& other) noexcept { swap(other); }
    slot& operator=(slot&& other) noexcept {
      slot(std::move(other)).swap(*this);
      return *this;
    }
    /// Gives the block back; copies of `used_by`, if that was called, are waited for.
    ~slot() {
      if (owner_ == nullptr) return;
      if (stream_) static_cast<void>(wait_for_stream(*stream_));
      owner_->give_back(block_, std::nullopt);
    }

    bool empty() const noexcept { return owner_ == nullptr; }
    /// All of the block; none when empty.
    mutable_bytes bytes() const {
      return owner_ == nullptr ? mutable_bytes{} : block_->memory.bytes();
    }
    /// To be called before the first copy from or to the block is asked for. If no event is handed
    /// to `release`, the end of the slot waits for that stream.
    void used_by(const Space& stream) { stream_.emplace(stream); }
    /// Gives the block back at once; its next user waits for `last`, an event after all
    /// copies that use the block.
    void release(const typename Space::event& last) {
      if (owner_ == nullptr) return;
      stream_.reset();
      std::exchange(owner_, nullptr)->give_back(block_, last);
    }

   private:
    friend class staging_ring;
    slot(staging_ring* owner, block* lent) : owner_(owner), block_(lent) {}
    void swap(slot& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(block_, other.block_);
      std::swap(stream_, other.stream_);
    }
    staging_ring* owner_ = nullptr;
    block* block_ = nullptr;
    std::optional<Space> stream_;
  };

  explicit staging_ring(const Space& space, const ring_options& options = {})
      : space_(space),
        slot_bytes_(std::max<std::size_t>(options.slot_bytes, 1)),
        resource_(options.resource == nullptr ? &default_resource() : options.resource),
        budget_(options.budget),
        put_by_(options.put_by),
        blocks_(std::max<std::size_t>(options.slots, 1)) {
    // To give a block back allocates nothing.
    unmade_.reserve(blocks_.size());
    free_.reserve(blocks_.size());
    for (block& one : blocks_) unmade_.push_back(&one);
  }
  staging_ring(const staging_ring&) = delete;
  staging_ring& operator=(const staging_ring&) = delete;
  /// Waits for all copies; all slots have been given back.
  ~staging_ring() {
    ZARRPOINT_ASSERT(unmade_.size() + free_.size() == blocks_.size());
    for (block& one : blocks_) {
      if (one.last) static_cast<void>(space_.wait(*one.last));
      if (one.pinned) space_.unpin(one.memory.bytes());
      if (one.taken) budget_->give_back(*one.taken);
    }
    if (budget_ != nullptr) budget_->give_back(put_by_.value_or(0));
  }

  /// Waits until a block is free and what used it last is done. Errors: `resource_limit` when there
  /// is no memory for even one; those of the space: a copy of the one that had the block before may
  /// have failed.
  result<slot> acquire() {
    bool refused = false;  // more memory; the blocks that there are come back
    for (;;) {
      block* mine = nullptr;
      {
        std::unique_lock lock(mutex_);
        returned_.wait(lock, [&] {
          const bool none_made = unmade_.size() == blocks_.size();
          return !free_.empty() || (!refused && !unmade_.empty()) || none_made;
        });
        mine = take_next(refused);
      }
      if (mine->memory.empty()) {
        unmade back{*this, mine};
        auto made = make(*mine);
        back.one = nullptr;
        if (!made) {
          if (!put_back_unmade(mine)) return std::move(made).failure();
          refused = true;
          continue;
        }
      } else if (mine->last) {
        lent back{*this, mine};
        const auto waited = space_.wait(*mine->last);
        mine->last.reset();
        if (!waited) return waited.failure();
        back.one = nullptr;
      }
      return slot(this, mine);
    }
  }

  /// The same if it needs no waiting; none also where there is an error, which `acquire` tells.
  std::optional<slot> try_acquire() {
    block* mine = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (free_.empty() && unmade_.empty()) return std::nullopt;
      mine = take_next(false);
    }
    if (mine->memory.empty()) {
      unmade back{*this, mine};
      if (!make(*mine)) return std::nullopt;
      back.one = nullptr;
      return slot(this, mine);
    }
    if (mine->last) {
      lent back{*this, mine};
      const auto happened = space_.happened(*mine->last);
      if (!happened || !*happened) return std::nullopt;
      mine->last.reset();
      back.one = nullptr;
    }
    return slot(this, mine);
  }

  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  std::size_t slots() const noexcept { return blocks_.size(); }
  /// False once the device has refused to pin a block.
  bool pinned() const {
    const std::lock_guard lock(mutex_);
    return !pin_refused_;
  }
  /// How long it took to allocate, touch and pin all blocks so far.
  double pin_seconds() const {
    const std::lock_guard lock(mutex_);
    return pin_seconds_;
  }

 private:
  static constexpr std::size_t page = 4096;

  /// Puts a block back unless `one` was set to null: also when the text of an error finds no
  /// memory.
  struct unmade {
    staging_ring& ring;
    block* one;
    ~unmade() {
      if (one != nullptr) static_cast<void>(ring.put_back_unmade(one));
    }
  };
  /// The same of one that is made.
  struct lent {
    staging_ring& ring;
    block* one;
    ~lent() {
      if (one != nullptr) ring.give_back(one, std::exchange(one->last, std::nullopt));
    }
  };

  /// With the lock held and something to take. It is what is made already if its copies are done,
  /// then what is still to be made, and at last what has to be waited for.
  block* take_next(bool refused) {
    const bool may_make = !unmade_.empty() && (!refused || free_.empty());
    if (may_make && (free_.empty() || is_busy(*free_.front()))) {
      block* const out = unmade_.back();
      unmade_.pop_back();
      return out;
    }
    block* const out = free_.front();
    free_.erase(free_.begin());
    return out;
  }
  bool is_busy(const block& one) const {
    if (!one.last) return false;
    const auto happened = space_.happened(*one.last);
    return happened && !*happened;
  }

  /// Takes a block's bytes from the budget. A block that then finds no memory keeps them.
  result<void> take(block& one) {
    if (budget_ == nullptr || one.taken) return {};
    const std::lock_guard lock(mutex_);
    if (put_by_) {
      one.taken = std::exchange(put_by_, std::nullopt);
    } else if (budget_->take(slot_bytes_)) {
      one.taken = slot_bytes_;
    } else {
      return error{errc::resource_limit, "no more than " + std::to_string(slot_bytes_) +
                                             " bytes are left for staging blocks"};
    }
    return {};
  }

  result<void> make(block& one) {
    const auto start = std::chrono::steady_clock::now();
    ZARRPOINT_CHECK(take(one));
    ZARRPOINT_TRY(memory, buffer::allocate(slot_bytes_, *resource_, page));
    std::memset(memory.data(), 0, slot_bytes_);  // registration is slow for pages not there yet
    one.memory = std::move(memory);
    one.pinned = pinned() && space_.pin(one.memory.bytes());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const std::lock_guard lock(mutex_);
    if (!one.pinned) pin_refused_ = true;
    pin_seconds_ += took.count();
    return {};
  }

  /// False when there is no other block to wait for.
  bool put_back_unmade(block* one) {
    const std::lock_guard lock(mutex_);
    unmade_.push_back(one);
    returned_.notify_all();
    return unmade_.size() != blocks_.size();
  }

  void give_back(block* one, std::optional<typename Space::event> last) {
    const std::lock_guard lock(mutex_);
    one->last = std::move(last);
    if (one->last) {
      free_.push_back(one);
    } else {
      free_.insert(free_.begin(), one);  // can be used at once
    }
    returned_.notify_all();  // under the lock: a waiter that goes on may destroy the ring
  }

  Space space_;
  std::size_t slot_bytes_;
  memory_resource* resource_;
  std::shared_ptr<ring_budget> budget_;
  std::optional<std::size_t> put_by_;  ///< taken from it, for the first block
  std::vector<block> blocks_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<block*> unmade_;
  std::vector<block*> free_;  ///< few; those released first come first
  bool pin_refused_ = false;
  double pin_seconds_ = 0;
};

/// The ring of the space's device among kept objects, made when it is first asked for. All rings
/// there share an eighth of `budget`: each has its first slot, and what is left goes to those that
/// need it first. One that comes late may have one slot of 64 KiB, which it has in any case.
/// `resource` must outlive `kept`. What has the ring also holds the device's `reserve_of`.
template <device_space Space>
std::shared_ptr<staging_ring<Space>> ring_of(spare_objects& kept, const Space& space,
                                             memory_resource& resource, std::size_t budget) {
  const auto all = kept.template get<ring_budget>(
      0, [&] { return detail::make_counted<ring_budget>(budget / 8); });
  const auto ring = kept.template get<staging_ring<Space>>(space.device(), [&] {
    ring_options sizes = all->add_ring(resource);
    sizes.budget = all;
    return detail::make_counted<staging_ring<Space>>(space, sizes);
  });
  using both = std::pair<std::shared_ptr<staging_ring<Space>>, std::shared_ptr<void>>;
  return {detail::make_counted<both>(ring, reserve_of(space)), ring.get()};
}

}}}  // namespace zarrpoint::v0::detail
