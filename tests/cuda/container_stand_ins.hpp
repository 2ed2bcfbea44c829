// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/current_device.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <new>
#include <utility>

namespace zarrpoint_test {

/// Memory of the current device.
class raw_device_memory {
 public:
  explicit raw_device_memory(std::size_t bytes) {
    if (bytes != 0 && cudaMalloc(&data_, bytes) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw std::bad_alloc();
    }
  }
  raw_device_memory(raw_device_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)) {}
  raw_device_memory& operator=(raw_device_memory&&) = delete;
  ~raw_device_memory() {
    if (data_ == nullptr) return;
    const zarrpoint::cuda::device_scope scope(zarrpoint::cuda::device_of(data_));
    cudaFree(data_);
  }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// What thrust::device_vector<T> has of what its handler looks for.
template <class T>
class thrust_like_vector {
 public:
  using value_type = T;
  template <class U>
  struct tagged_pointer {
    using raw_pointer = U*;
    U* raw = nullptr;
    U* get() const { return raw; }
  };
  using pointer = tagged_pointer<T>;

  explicit thrust_like_vector(std::size_t size) : size_(size), memory_(size * sizeof(T)) {}
  std::size_t size() const { return size_; }
  pointer data() { return {static_cast<T*>(memory_.get())}; }
  tagged_pointer<const T> data() const { return {static_cast<const T*>(memory_.get())}; }

 private:
  std::size_t size_;
  raw_device_memory memory_;
};

/// What rmm::cuda_stream_view has.
class rmm_like_stream {
 public:
  rmm_like_stream(cudaStream_t stream)  // NOLINT(google-explicit-constructor)
      : stream_(stream) {}
  cudaStream_t value() const { return stream_; }

 private:
  cudaStream_t stream_;
};

/// What rmm::device_buffer has.
class rmm_like_buffer {
 public:
  rmm_like_buffer(std::size_t size, rmm_like_stream stream)
      : size_(size), stream_(stream), memory_(size) {}
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return size_; }
  rmm_like_stream stream() const { return stream_; }
  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }

 private:
  std::size_t size_;
  rmm_like_stream stream_;
  raw_device_memory memory_;
};

/// What rmm::device_uvector<T> has.
template <class T>
class rmm_like_vector {
 public:
  using value_type = T;
  rmm_like_vector(std::size_t size, rmm_like_stream stream) : memory_(size * sizeof(T), stream) {}
  std::size_t size() const { return memory_.size() / sizeof(T); }
  rmm_like_stream stream() const { return memory_.stream(); }
  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  T* element_ptr(std::size_t i) { return data() + i; }
  const T* element_ptr(std::size_t i) const { return data() + i; }

 private:
  rmm_like_buffer memory_;
};

}  // namespace zarrpoint_test
