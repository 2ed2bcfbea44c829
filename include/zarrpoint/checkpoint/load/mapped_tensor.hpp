// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Dense elements, and the owner of their memory.
struct kept_elements {
  explicit kept_elements(mapped_view mapped);
  explicit kept_elements(tensor owned);

  dims shape;
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
};

}  // namespace detail

/// A read-only row-major tensor that keeps its memory alive: a mapped file where the layout allows
/// it, a copy otherwise. Copies are cheap and share the memory. Array-like by structure
/// (`value_type`, `shape()`, `data()`), so that tensor libraries can adapt it.
template <element T>
class mapped_tensor {
 public:
  using value_type = T;

  /// Over mapped elements, which must be dense.
  explicit mapped_tensor(mapped_view mapped) : of_(std::move(mapped)), zero_copy_(true) {}

  /// Over a tensor of its own.
  explicit mapped_tensor(tensor owned) : of_(std::move(owned)) {}

  const T* data() const noexcept { return reinterpret_cast<const T*>(of_.data); }
  const dims& shape() const noexcept { return of_.shape; }
  std::size_t size() const noexcept {
    return static_cast<std::size_t>(element_count(of_.shape).value_or(0));
  }
  std::span<const T> elements() const noexcept { return {data(), size()}; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size(); }

  /// Whether the elements lie in the store itself.
  bool is_zero_copy() const noexcept { return zero_copy_; }

 private:
  detail::kept_elements of_;
  bool zero_copy_ = false;
};

}}  // namespace zarrpoint::v0
