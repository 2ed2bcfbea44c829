// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/event.hpp>

#include <cuda_runtime_api.h>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// What the operations on a device keep for each other while there are any (`per_device`): events,
/// streams, and scratch memory in a pool of its own. The device's default pool, which is the
/// program's, gives back what is idle whenever somebody waits, unless the program says otherwise;
/// this one keeps it until the last operation ends. Thread-safe; the device is the current one for
/// all but the end.
class reserve {
 public:
  explicit reserve(int device) : device_(device), events_(per_device<event_pool>::share(device)) {}
  reserve(const reserve&) = delete;
  reserve& operator=(const reserve&) = delete;
  /// What is still to be freed on some stream keeps its memory until then.
  ~reserve() {
    if (pool_ == nullptr && streams_[0] == nullptr) return;
    const device_scope scope(device_);
    for (const cudaStream_t one : streams_) {
      if (one != nullptr) static_cast<void>(succeeded(cudaStreamDestroy(one)));
    }
    if (pool_ != nullptr) static_cast<void>(succeeded(cudaMemPoolDestroy(pool_)));
  }

  /// Streams of its own that wait for no others, for parts of operations that overlap.
  static constexpr std::size_t streams = 8;
  cudaError_t stream(std::size_t i, cudaStream_t& out) {
    const std::lock_guard lock(mutex_);
    cudaError_t status = cudaSuccess;
    for (std::size_t k = 0; k <= i && status == cudaSuccess; ++k) {
      if (streams_[k] == nullptr)
        status = cudaStreamCreateWithFlags(&streams_[k], cudaStreamNonBlocking);
    }
    out = streams_[i];
    return status;
  }

  /// Memory to be freed by `cudaFreeAsync`. Where there can be no pool, or this one finds no room,
  /// it is the default one's, which may have some idle.
  cudaError_t allocate(void** made, std::size_t bytes, cudaStream_t on) {
    const cudaMemPool_t from = pool();
    if (from != nullptr) {
      const cudaError_t status = cudaMallocFromPoolAsync(made, bytes, from, on);
      if (status != cudaErrorMemoryAllocation) return status;
      static_cast<void>(::cudaGetLastError());
    }
    return cudaMallocAsync(made, bytes, on);
  }

  /// Whether anything was ever kept.
  bool keeps() {
    const std::lock_guard lock(mutex_);
    return pool_ != nullptr;
  }
  /// Gives back what is idle; what was freed on a stream is when somebody has waited for that.
  void trim() {
    const std::lock_guard lock(mutex_);
    if (pool_ != nullptr) static_cast<void>(succeeded(cudaMemPoolTrimTo(pool_, 0)));
  }

 private:
  cudaMemPool_t pool() {
    const std::lock_guard lock(mutex_);
    if (tried_) return pool_;
    tried_ = true;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device_;
    std::uint64_t all = UINT64_MAX;
    if (cudaMemPoolCreate(&pool_, &properties) != cudaSuccess) {
      pool_ = nullptr;
    } else if (cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all) ==
               cudaSuccess) {
      return pool_;
    }
    static_cast<void>(::cudaGetLastError());
    return pool_;
  }

  const int device_;
  const std::shared_ptr<event_pool> events_;
  std::mutex mutex_;
  bool tried_ = false;
  cudaMemPool_t pool_ = nullptr;
  std::array<cudaStream_t, streams> streams_{};  ///< made when they are asked for, the first first
};

}}}  // namespace zarrpoint::v0::cuda::detail
