// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/device_space.hpp>

#include <cstddef>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// Bytes of a device, given back in the order of the stream that they were made on. Move-only.
class buffer {
 public:
  buffer() = default;
  /// Errors: those of `device_space::allocate`.
  static result<buffer> allocate(std::size_t bytes, const device_space& where) {
    ZARRPOINT_TRY(data, where.allocate(bytes));
    buffer out;
    out.space_ = where;
    out.data_ = data;
    out.size_ = bytes;
    return out;
  }
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept {
    buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~buffer() { space_.deallocate(data_, size_); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  const device_space& space() const noexcept { return space_; }

  void swap(buffer& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  device_space space_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}}}  // namespace zarrpoint::v0::cuda
