// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_space.hpp>

#include <optional>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// Owned memory of a device, allocated and freed on the stream of its space: it may be given back
/// as soon as its last use there was asked for. Empty by default; move-only.
template <device_space Space>
class device_buffer {
 public:
  device_buffer() = default;

  /// For a step of an operation: from the space's reserve, if it has one that somebody holds.
  /// Errors: those of the space, `resource_limit` among them.
  static result<device_buffer> allocate(const Space& space, std::size_t bytes) {
    return hold(space, bytes, [&] {
      if constexpr (reserving_space<Space>) {
        return space.allocate_scratch(bytes);
      } else {
        return space.allocate(bytes);
      }
    });
  }
  /// For what is large, or lasts: the device has it back when it is freed. Errors: the same.
  static result<device_buffer> lasting(const Space& space, std::size_t bytes) {
    return hold(space, bytes, [&] { return space.allocate(bytes); });
  }

  device_buffer(device_buffer&& other) noexcept { swap(other); }
  device_buffer& operator=(device_buffer&& other) noexcept {
    device_buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~device_buffer() {
    if (data_ != nullptr) space_->deallocate(data_, size_);
  }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

  void swap(device_buffer& other) noexcept {
    std::swap(space_, other.space_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  template <class F>
  static result<device_buffer> hold(const Space& space, std::size_t bytes, F&& make) {
    device_buffer out;
    if (bytes == 0) return out;
    ZARRPOINT_TRY(memory, make());
    out.space_.emplace(space);
    out.data_ = memory;
    out.size_ = bytes;
    return out;
  }

  std::optional<Space> space_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}}  // namespace zarrpoint::v0
