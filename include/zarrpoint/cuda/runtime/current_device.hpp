// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/error.hpp>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// How many devices there are, at least one. Errors: `device` when there is none.
inline result<int> device_count() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) return detail::failure_of(status, {0, "count of the devices"});
  return count;
}

namespace detail {

/// Whether the device has a context, by the driver that the runtime has loaded; true when it cannot
/// be told.
inline bool has_context(int device) noexcept {
  using function = int (*)(int device, unsigned* flags, int* active);
  static std::atomic<function> known{nullptr};
  function ask = known.load();
  if (ask == nullptr) {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) return true;
    void* const found = ::dlsym(driver, "cuDevicePrimaryCtxGetState");
    static_assert(sizeof found == sizeof ask);
    std::memcpy(&ask, &found, sizeof found);
    ::dlclose(driver);  // the runtime keeps it
    if (ask == nullptr) return true;
    known.store(ask);
  }
  unsigned flags = 0;
  int active = 0;
  return ask(device, &flags, &active) != 0 || active != 0;
}

}  // namespace detail

/// Makes a device the calling thread's current one, and the one before it again at the end: the
/// default stream and new events are the current device's. One that nobody has used yet is not made
/// the current one again: since CUDA 12 that makes a context there, of hundreds of megabytes.
class device_scope {
 public:
  explicit device_scope(int device) noexcept {
    status_ = cudaGetDevice(&before_);
    changed_ = status_ == cudaSuccess && before_ != device;
    if (changed_) status_ = cudaSetDevice(device);
    static_cast<void>(detail::succeeded(status_));  // `status` tells
  }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;
  ~device_scope() {
    if (changed_ && detail::has_context(before_))
      static_cast<void>(detail::succeeded(cudaSetDevice(before_)));
  }

  /// Whether the device is the current one.
  cudaError_t status() const noexcept { return status_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t status_ = cudaSuccess;
};

namespace detail {

/// The same for libraries that know the driver only, such as libcufile. The device's primary
/// context is the calling thread's, too, which it need not be before a thread's first call.
class context_scope {
 public:
  explicit context_scope(int device) noexcept : device_(device) {
    if (device_.status() == cudaSuccess && cudaFree(nullptr) != cudaSuccess)
      static_cast<void>(::cudaGetLastError());
  }

 private:
  device_scope device_;
};

/// Calls `f`, which returns the runtime's status, while the device is the current one.
template <class F>
result<void> on_device(const request& asked, F&& f) {
  const device_scope scope(asked.device);
  return checked(scope.status() == cudaSuccess ? f() : scope.status(), asked);
}

}  // namespace detail

/// The number of the device whose memory, or managed memory, begins at `data`: what containers know
/// that do not tell it. For other memory, the current device of the calling thread; its `check`
/// then refuses it.
inline int device_of(const void* data) noexcept {
  cudaPointerAttributes known{};
  if (data != nullptr && detail::succeeded(cudaPointerGetAttributes(&known, data)) &&
      (known.type == cudaMemoryTypeDevice || known.type == cudaMemoryTypeManaged) &&
      known.device >= 0)
    return known.device;
  int current = 0;
  if (!detail::succeeded(cudaGetDevice(&current))) return 0;  // the next call says why
  return current;
}

}}}  // namespace zarrpoint::v0::cuda

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// The `T` of each device that has users now: they share it, and it ends with the last of them.
/// Thread-safe.
template <class T>
class per_device {
 public:
  /// Made, as `T(device)`, by the first caller.
  static std::shared_ptr<T> share(int device) {
    table& all = known();
    const std::lock_guard lock(all.mutex);
    std::weak_ptr<T>& there = all.of[device];
    std::shared_ptr<T> out = there.lock();
    if (out == nullptr) there = out = std::make_shared<T>(device);
    return out;
  }
  /// Null when there is none.
  static std::shared_ptr<T> find(int device) {
    table& all = known();
    const std::lock_guard lock(all.mutex);
    const auto there = all.of.find(device);
    return there == all.of.end() ? nullptr : there->second.lock();
  }

 private:
  struct table {
    std::mutex mutex;
    std::map<int, std::weak_ptr<T>> of;
  };
  static table& known() {
    static table& one = *new table;  // never destroyed: static objects may be users
    return one;
  }
};

}}}  // namespace zarrpoint::v0::cuda::detail
