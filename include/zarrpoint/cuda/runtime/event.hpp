// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/current_device.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// Events of a device that nobody has any more, kept to be recorded again: `per_device`, so that
/// they are destroyed with the last event that somebody has. Thread-safe.
class event_pool : public std::enable_shared_from_this<event_pool> {
 public:
  static constexpr std::size_t most = 64;  ///< twice as many as a ring has slots

  explicit event_pool(int device) : device_(device) {}
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;
  ~event_pool() { discard(); }

  /// An event recorded on a stream of the device, which is the current one; it comes back with the
  /// last copy of `out`.
  cudaError_t record(cudaStream_t stream, std::shared_ptr<CUevent_st>& out) {
    std::uint64_t age = 0;
    if (const cudaEvent_t used = take(age); used != nullptr) {
      const cudaError_t status = cudaEventRecord(used, stream);
      if (status == cudaSuccess) return lend(used, age, out);
      static_cast<void>(::cudaGetLastError());  // a new one may do
      destroy(used);
      discard();
      // Either the stream is gone, or the event is, by a reset of the device: a new one tells.
      if (status != cudaErrorInvalidResourceHandle && status != cudaErrorContextIsDestroyed)
        return status;
    }
    cudaEvent_t made = nullptr;
    // Without a time, which makes it cheap; and not with a blocking wait, whose waker costs more
    // than a copy of a few megabytes takes.
    cudaError_t status = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    if (status != cudaSuccess) return status;
    status = cudaEventRecord(made, stream);
    if (status == cudaSuccess) return lend(made, age, out);
    destroy(made);
    return status;
  }

  /// Throws all away, also those that are still to come back: after an error they may be of a
  /// context that is dead.
  void discard() noexcept {
    std::array<cudaEvent_t, most> old{};
    std::size_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      old = idle_;
      count = std::exchange(count_, 0);
      ++age_;
    }
    if (count == 0) return;
    const device_scope scope(device_);
    for (std::size_t i = 0; i < count; ++i) destroy(old[i]);
  }

 private:
  cudaEvent_t take(std::uint64_t& age) noexcept {
    const std::lock_guard lock(mutex_);
    age = age_;
    return count_ == 0 ? nullptr : idle_[--count_];
  }
  cudaError_t lend(cudaEvent_t one, std::uint64_t age, std::shared_ptr<CUevent_st>& out) {
    out = {one, [self = shared_from_this(), age](cudaEvent_t last) { self->take_back(last, age); }};
    return cudaSuccess;
  }
  void take_back(cudaEvent_t one, std::uint64_t age) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (age == age_ && count_ < most) {
        idle_[count_++] = one;
        return;
      }
    }
    const device_scope scope(device_);
    destroy(one);
  }
  /// Of the current device: on a thread of another one this might make a context there.
  static void destroy(cudaEvent_t one) noexcept {
    static_cast<void>(succeeded(cudaEventDestroy(one)));
  }

  const int device_;
  std::mutex mutex_;
  std::array<cudaEvent_t, most> idle_{};
  std::size_t count_ = 0;
  std::uint64_t age_ = 0;  ///< how often all were thrown away
};

}}}  // namespace zarrpoint::v0::cuda::detail

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// A point in the work of a stream. Copies are the same event, which is the library's to use again
/// after the last of them. One made by default has always happened.
class event {
 public:
  event() = default;

  /// What a stream of that device has been asked for so far. Errors: `device`.
  static result<event> record(int device, cudaStream_t stream) {
    event out;
    ZARRPOINT_CHECK(detail::on_device({device, "record of an event"}, [&] {
      return detail::per_device<detail::event_pool>::share(device)->record(stream, out.handle_);
    }));
    return out;
  }

  /// An event of the caller's, recorded already, which must outlive the copies of this.
  static event borrow(cudaEvent_t recorded) {
    event out;
    out.handle_ = {recorded, [](cudaEvent_t) {}};
    return out;
  }

  /// Null for one that has always happened.
  cudaEvent_t get() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<CUevent_st> handle_;
};

}}}  // namespace zarrpoint::v0::cuda
