// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// A read-only row-major tensor that keeps its memory alive: a mapped file where the layout allows
/// it, a copy otherwise. Copies are cheap and share the memory. Array-like by structure
/// (`value_type`, `shape()`, `data()`), so that tensor libraries can adapt it.
template <element T>
class mapped_tensor {
 public:
  using value_type = T;

  /// Over mapped elements, which must be dense.
  explicit mapped_tensor(mapped_view mapped)
      : data_(reinterpret_cast<const T*>(mapped.elements.data)),
        shape_(mapped.elements.shape),
        owner_(std::make_shared<const mapping>(std::move(mapped.memory))),
        zero_copy_(true) {}

  /// Over a tensor of its own.
  explicit mapped_tensor(tensor owned) : shape_(owned.shape()) {
    auto kept = std::make_shared<const tensor>(std::move(owned));
    data_ = reinterpret_cast<const T*>(kept->view().data);
    owner_ = std::move(kept);
  }

  const T* data() const noexcept { return data_; }
  const dims& shape() const noexcept { return shape_; }
  std::size_t size() const noexcept {
    return static_cast<std::size_t>(element_count(shape_).value_or(0));
  }
  std::span<const T> elements() const noexcept { return {data_, size()}; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size(); }

  /// Whether the elements lie in the store itself.
  bool is_zero_copy() const noexcept { return zero_copy_; }

 private:
  const T* data_ = nullptr;
  dims shape_;
  std::shared_ptr<const void> owner_;
  bool zero_copy_ = false;
};

}}  // namespace zarrpoint::v0
