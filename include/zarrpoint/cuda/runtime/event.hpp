// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/current_device.hpp>
#include <zarrpoint/cuda/runtime/event_pool.hpp>

#include <memory>
#include <utility>

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
