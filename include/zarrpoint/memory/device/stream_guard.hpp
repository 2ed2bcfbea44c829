// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_space.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Waits until all that the stream was asked for so far is done. Errors: those of the space, after
/// which nothing of it is under way either: what a stream was asked for goes on when it is
/// destroyed, so that without an event the whole device is waited for.
template <device_space Space>
result<void> wait_for_stream(const Space& space) {
  auto recorded = space.record();
  if (!recorded) {
    space.drain();
    return std::move(recorded).failure();
  }
  return space.wait(*recorded);
}

/// Stands between copies that a stream was asked for and the memory they use: the memory is
/// declared before it, so that it outlives them on every way out.
template <device_space Space>
class stream_guard {
 public:
  explicit stream_guard(const Space& space) : space_(space) {}
  stream_guard(const stream_guard&) = delete;
  stream_guard& operator=(const stream_guard&) = delete;
  ~stream_guard() {
    if (!finished_) static_cast<void>(wait_for_stream(space_));
  }

  /// Waits now; the destructor then has nothing to do. Errors: those of the space.
  result<void> finish() {
    finished_ = true;
    return wait_for_stream(space_);
  }

 private:
  Space space_;
  bool finished_ = false;
};

}}}  // namespace zarrpoint::v0::detail
