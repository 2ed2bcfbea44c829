// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/tensor_spec.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint::inline v0 {

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
  static result<tensor> make(const tensor_spec& spec, memory_resource& from = default_resource()) {
    if (memory_size(spec.type) == 0)
      return error{errc::invalid_argument, "tensor of an invalid dtype"};
    ZARRPOINT_TRY(bytes, byte_count(spec.shape, memory_size(spec.type)));
    auto memory = buffer::allocate(bytes, from);
    if (!memory) return std::move(memory).failure().at("tensor " + to_string(spec));
    tensor out;
    out.spec_ = spec;
    out.memory_ = std::move(*memory);
    if (spec.type.is_variable()) {
      for (std::size_t i = 0; i < bytes; i += sizeof(std::string)) {
        ::new (static_cast<void*>(out.memory_.data() + i)) std::string;
      }
    }
    return out;
  }

  tensor(tensor&& other) noexcept { swap(other); }
  tensor& operator=(tensor&& other) noexcept {
    tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~tensor() {
    if (!spec_.type.is_variable()) return;
    for (std::string& text : data<std::string>()) text.~basic_string();
  }

  const tensor_spec& spec() const noexcept { return spec_; }
  dtype type() const noexcept { return spec_.type; }
  const dims& shape() const noexcept { return spec_.shape; }
  std::size_t rank() const noexcept { return spec_.shape.rank(); }
  /// The number of elements.
  std::size_t size() const noexcept {
    return spec_.type.valid() ? memory_.size() / memory_size(spec_.type) : 0;
  }

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

  void swap(tensor& other) noexcept {
    std::swap(spec_, other.spec_);
    memory_.swap(other.memory_);
  }

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

}  // namespace zarrpoint::inline v0
