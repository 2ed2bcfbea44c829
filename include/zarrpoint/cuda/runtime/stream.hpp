// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/device_space.hpp>

#include <utility>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// A stream of one's own, which waits for no other. Move-only; it must outlive the spaces, tensors
/// and views that name it. What it was asked for still runs when it is destroyed.
class stream {
 public:
  stream() = default;
  /// Errors: `device`.
  static result<stream> make(int device = 0) {
    stream out;
    out.device_ = device;
    ZARRPOINT_CHECK(detail::on_device({device, "creation of a stream"}, [&] {
      return cudaStreamCreateWithFlags(&out.stream_, cudaStreamNonBlocking);
    }));
    return out;
  }
  stream(stream&& other) noexcept { swap(other); }
  stream& operator=(stream&& other) noexcept {
    stream(std::move(other)).swap(*this);
    return *this;
  }
  ~stream() {
    if (stream_ == nullptr) return;
    const device_scope scope(device_);
    static_cast<void>(detail::succeeded(cudaStreamDestroy(stream_)));
  }

  int device() const noexcept { return device_; }
  /// Null, the legacy default stream, for a stream made by default.
  cudaStream_t get() const noexcept { return stream_; }
  /// The device's memory, seen through this stream.
  device_space space(const kernel_table* kernels = nullptr) const noexcept {
    return device_space(device_, stream_, kernels);
  }

  void swap(stream& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
  }

 private:
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
};

}}}  // namespace zarrpoint::v0::cuda
