// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Streams of a device beside those of its users, each with memory of its own, by which parts of
/// operations overlap. Beside them a few bytes, at which kernels say that one of them found damage,
/// and which checksums are right. A device that has no such streams has one lane: the stream that
/// this was made with. Thread-safe. What lanes were asked for is waited for at the end.
template <device_space Space>
class device_lanes {
  struct lane {
    Space space;
    device_buffer<Space> memory{};
    std::size_t number = 0;
  };

 public:
  /// A lane that is one caller's. What comes after it on the same lane waits for what this one was
  /// asked for, so that it is given back at once. Move-only.
  class loan {
   public:
    loan(device_lanes& owner, lane& lent) : owner_(&owner), lent_(&lent) {}
    loan(loan&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), lent_(other.lent_) {}
    loan& operator=(loan&&) = delete;
    ~loan() {
      if (owner_ != nullptr) owner_->give_back(*lent_);
    }

    const Space& space() const noexcept { return lent_->space; }
    std::byte* memory() const noexcept { return lent_->memory.data(); }
    std::size_t number() const noexcept { return lent_->number; }  ///< below 64

   private:
    device_lanes* owner_;
    lane* lent_;
  };

  explicit device_lanes(const Space& space) : space_(space), held_(reserve_of(space)) {
    // To give a lane back allocates nothing.
    made_.reserve(most_);
    free_.reserve(most_);
  }
  device_lanes(const device_lanes&) = delete;
  device_lanes& operator=(const device_lanes&) = delete;
  ~device_lanes() { wait(); }

  /// The lane that has been free for longest, with at least so many bytes; a new one while there
  /// are few. None where the device has no memory for one. Errors: those of the space.
  result<std::optional<loan>> take(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    if (made_.size() < most_) {
      result<void> made = make(bytes);
      if (made) return std::optional<loan>(std::in_place, *this, *made_.back());
      most_ = made_.size();  // no more than there are
      if (made.failure().code != errc::resource_limit) return std::move(made).failure();
    }
    if (made_.empty()) return std::optional<loan>();
    returned_.wait(lock, [&] { return !free_.empty(); });
    lane* const next = free_.front();
    free_.erase(free_.begin());
    lock.unlock();
    std::optional<loan> out(std::in_place, *this, *next);
    if (next->memory.size() >= bytes) return out;
    auto larger = device_buffer<Space>::allocate(next->space, bytes);
    if (!larger && larger.failure().code == errc::resource_limit) return std::optional<loan>();
    if (!larger) return std::move(larger).failure();
    next->memory = *std::move(larger);
    return out;
  }

  /// Blocks until the memory of a target may be written. Loads that have nothing to do with each
  /// other share the streams of lanes: none of them is to wait there for what another's target
  /// waits for. A stream is waited for once. Errors: those of the space.
  result<void> settle(const mutable_tensor_view<Space>& target) {
    ZARRPOINT_CHECK(target.space.wait(target.ready));
    const std::lock_guard lock(mutex_);
    if (std::find(settled_.begin(), settled_.end(), target.space) != settled_.end()) return {};
    ZARRPOINT_CHECK(wait_for_stream(target.space));
    settled_.push_back(target.space);
    return {};
  }

  /// Where kernels of a lane say that something is damaged: see `kernel_space`.
  std::byte* verdict() const noexcept { return verdict_.data(); }

  /// Where kernels add the marks of checksums that are right: see `kernel_space`.
  std::byte* marks() const noexcept { return verdict_.data() + sizeof(std::uint64_t); }
  /// Another one for each checksum. They follow no order (splitmix64): nothing but all marks that
  /// are expected has their sum, whichever of them are there twice or not at all.
  std::uint64_t new_mark() noexcept {
    std::uint64_t x = ++marks_made_ * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  /// That a kernel was asked for the checksums with the marks of this sum.
  void expect(std::uint64_t marks) noexcept { expected_ += marks; }

  /// Whether one of them found damage, or did not say of all checksums that they are right. To be
  /// asked when all that lanes were asked for is done. Errors: those of the space.
  result<bool> found_damage() {
    const std::lock_guard lock(mutex_);
    if (made_.empty()) return false;
    std::uint64_t found[2] = {};
    const Space& through = made_.front()->space;
    stream_guard<Space> copied(through);
    ZARRPOINT_CHECK(through.copy_to_host(reinterpret_cast<std::byte*>(found), verdict_.data(),
                                         {.width = sizeof found}));
    ZARRPOINT_CHECK(copied.finish());
    return found[0] != 0 || found[1] != expected_;
  }

  /// Has a stream wait for what these lanes were asked for so far: a bit for the number of each.
  /// Errors: those of the space.
  result<void> join(const Space& stream, std::uint64_t numbers) const {
    for (std::size_t i = 0; i < 64 && numbers >> i != 0; ++i) {
      if ((numbers >> i & 1U) == 0) continue;
      ZARRPOINT_TRY(last, at(i).record());
      ZARRPOINT_CHECK(stream.follow(last));
    }
    return {};
  }

  /// Blocks until all that lanes were asked for so far is done, or has failed.
  void wait() const {
    for (std::size_t i = 0; i < count(); ++i) static_cast<void>(wait_for_stream(at(i)));
  }

 private:
  static constexpr std::size_t lanes() {
    if constexpr (forking_space<Space>) {
      return Space::lanes < 64 ? Space::lanes : 64;
    } else {
      return 1;
    }
  }
  result<Space> stream([[maybe_unused]] std::size_t i) const {
    if constexpr (forking_space<Space>) {
      return space_.lane(i);
    } else {
      return space_;
    }
  }

  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return made_.size();
  }
  const Space& at(std::size_t i) const {
    const std::lock_guard lock(mutex_);
    return made_[i]->space;
  }

  /// One more, which is the caller's. After an error nothing of it is under way.
  result<void> make(std::size_t bytes) {
    ZARRPOINT_TRY(space, stream(made_.size()));
    result<void> made = fit_out(space, bytes);
    if (!made) static_cast<void>(wait_for_stream(space));
    return made;
  }
  result<void> fit_out(const Space& space, std::size_t bytes) {
    if (verdict_.data() == nullptr) {
      ZARRPOINT_TRY(verdict, device_buffer<Space>::allocate(space, 2 * sizeof(std::uint64_t)));
      ZARRPOINT_CHECK(space.fill(verdict.data(), std::byte{}, verdict.size()));
      ZARRPOINT_TRY(cleared, space.record());
      verdict_ = std::move(verdict);
      cleared_ = cleared;
    }
    ZARRPOINT_CHECK(space.follow(cleared_));
    ZARRPOINT_TRY(memory, device_buffer<Space>::allocate(space, bytes));
    made_.push_back(std::make_unique<lane>(lane{space, std::move(memory), made_.size()}));
    return {};
  }

  void give_back(lane& one) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&one);
    returned_.notify_one();
  }

  const Space space_;
  const std::shared_ptr<void> held_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::size_t most_ = lanes();
  std::vector<Space> settled_;    ///< streams that were waited for
  device_buffer<Space> verdict_;  ///< on the first lane
  std::atomic<std::uint64_t> marks_made_{0};
  std::atomic<std::uint64_t> expected_{0};  ///< the sum of marks
  typename Space::event cleared_{};
  std::vector<std::unique_ptr<lane>> made_;
  std::vector<lane*> free_;  ///< those given back first come first
};

}}}  // namespace zarrpoint::v0::detail
