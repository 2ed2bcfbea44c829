// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <span>
#include <string>

namespace zarrpoint { inline namespace v0 {

/// The library's own tensor in host memory: dense, row-major, of any dtype, 64-byte aligned, from a
/// memory resource that must outlive it. Move-only; an empty one has an invalid dtype.
///
/// The elements of dtype string or bytes are `std::string` objects, whose text is not counted by
/// the resource.
class tensor {
 public:
  tensor() = default;

  /// A tensor of that dtype and shape, its numbers uninitialised, its strings empty. Errors:
  /// `invalid_argument` for an invalid dtype, `out_of_range` for a shape that no memory holds,
  /// `resource_limit`.
  static result<tensor> make(const tensor_spec& spec, memory_resource& from = default_resource());

  tensor(tensor&& other) noexcept { swap(other); }
  tensor& operator=(tensor&& other) noexcept;
  ~tensor();

  const tensor_spec& spec() const noexcept { return spec_; }
  dtype type() const noexcept { return spec_.type; }
  const dims& shape() const noexcept { return spec_.shape; }
  std::size_t rank() const noexcept { return spec_.shape.rank(); }
  /// The number of elements.
  std::size_t size() const noexcept;

  host_view view() const { return dense_view(memory_.data(), spec_); }
  mutable_host_view mutable_view() { return dense_view(memory_.data(), spec_); }

  /// The elements in row-major order; `T` is the C++ type of the dtype, `std::string` for strings
  /// and bytes.
  template <class T>
  std::span<T> data() noexcept {
    check_type<T>();
    return {reinterpret_cast<T*>(memory_.data()), size()};
  }
  template <class T>
  std::span<const T> data() const noexcept {
    check_type<T>();
    return {reinterpret_cast<const T*>(memory_.data()), size()};
  }

  void swap(tensor& other) noexcept;

 private:
  template <class T>
  void check_type() const noexcept {
    using value_type = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<value_type, std::string>) {
      ZARRPOINT_ASSERT(spec_.type.is_variable());
    } else {
      static_assert(element<T>, "tensor::data needs the C++ type of a dtype");
      ZARRPOINT_ASSERT(spec_.type == dtype_of<value_type>);
    }
  }

  tensor_spec spec_;
  buffer memory_;
};

}}  // namespace zarrpoint::v0
