// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/current_device.hpp>

#include <memory>
#include <utility>

namespace zarrpoint::inline v0::cuda {

/// A point in the work of a stream. Copies are the same event; it is destroyed with the last of
/// them. One made by default has always happened.
class event {
 public:
  event() = default;

  /// What a stream of that device has been asked for so far. Errors: `device`.
  static result<event> record(int device, cudaStream_t stream) {
    event out;
    ZARRPOINT_CHECK(detail::on_device({device, "record of an event"}, [&] {
      cudaEvent_t made = nullptr;
      // Without a time, which makes it cheap; and not with a blocking wait, whose waker costs more
      // than a copy of a few megabytes takes.
      if (const auto status = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
          status != cudaSuccess)
        return status;
      out.handle_ = {made, [](cudaEvent_t last) { static_cast<void>(cudaEventDestroy(last)); }};
      return cudaEventRecord(made, stream);
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

}  // namespace zarrpoint::inline v0::cuda
