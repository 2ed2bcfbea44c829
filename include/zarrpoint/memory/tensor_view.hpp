// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/memory_space.hpp>

#include <type_traits>

namespace zarrpoint { inline namespace v0 {

/// A borrowed strided tensor in a memory space. `strides` are in bytes and may be negative or 0;
/// `data` is element (0, ..., 0). For dtype string the elements are `std::string` objects.
template <memory_space Space, bool Writable>
struct basic_tensor_view {
  using space_type = Space;
  using pointer = std::conditional_t<Writable, std::byte*, const std::byte*>;

  pointer data = nullptr;
  dtype type;
  dims shape;
  dims strides;
  Space space{};
  typename Space::event ready{};  ///< what to wait for before touching the data

  std::size_t rank() const noexcept { return shape.rank(); }
  tensor_spec spec() const { return {type, shape}; }

  /// The same memory, read only.
#if defined(__CUDACC__)  // nvcc warns, although there is no such operator without Writable
#pragma nv_diagnostic push
#pragma nv_diag_suppress 554
#endif
  operator basic_tensor_view<Space, false>() const requires Writable {
    return {data, type, shape, strides, space, ready};
  }
#if defined(__CUDACC__)
#pragma nv_diagnostic pop
#endif
};

/// Elements of somebody else, to read.
template <memory_space Space>
using tensor_view = basic_tensor_view<Space, false>;
/// Elements of somebody else, to write.
template <memory_space Space>
using mutable_tensor_view = basic_tensor_view<Space, true>;

/// A tensor in host memory that is read.
using host_view = tensor_view<host_space>;
/// A tensor in host memory that is written.
using mutable_host_view = mutable_tensor_view<host_space>;

/// Bytes from one element to the next in memory: `sizeof(std::string)` for strings.
inline constexpr std::size_t memory_size(dtype type) noexcept {
  return type.is_variable() ? sizeof(std::string) : type.size();
}

/// A dense row-major view of `spec` at `data`. The spec must have passed `byte_count`.
inline host_view dense_view(const std::byte* data, const tensor_spec& spec) {
  return {data, spec.type, spec.shape, row_major_strides(spec.shape, memory_size(spec.type)),
          {},   {}};
}
inline mutable_host_view dense_view(std::byte* data, const tensor_spec& spec) {
  return {data, spec.type, spec.shape, row_major_strides(spec.shape, memory_size(spec.type)),
          {},   {}};
}
/// The same of elements of C++: `dense_view(weights.data(), {1000, 64})`.
template <class T>
  requires(!std::is_same_v<T, std::byte> && element<T>)
host_view dense_view(const T* data, const dims& shape) {
  return dense_view(reinterpret_cast<const std::byte*>(data), tensor_spec{dtype_of<T>, shape});
}

/// The same memory, read only.
template <memory_space Space>
tensor_view<Space> as_const(const mutable_tensor_view<Space>& view) {
  return view;
}

/// Whether the elements lie one after another in row-major order. Extents of 1 do not count.
template <memory_space Space, bool Writable>
bool is_dense(const basic_tensor_view<Space, Writable>& view) {
  for (const index_t extent : view.shape) {
    if (extent == 0) return true;
  }
  index_t expected = static_cast<index_t>(memory_size(view.type));
  for (std::size_t i = view.rank(); i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.shape[i];
  }
  return true;
}

/// The part of a view that `part` selects, without a copy. The caller has checked `part` against
/// the view's shape.
template <memory_space Space, bool Writable>
basic_tensor_view<Space, Writable> subview(basic_tensor_view<Space, Writable> view,
                                           const selection& part) {
  ZARRPOINT_ASSERT(part.rank() == view.rank());
  view.shape = part.shape;
  // Nothing of an empty part is ever addressed, and the numbers beside its 0 may be of any size.
  for (const index_t extent : part.shape) {
    if (extent == 0) return view;
  }
  for (std::size_t i = 0; i < part.rank(); ++i) {
    view.data += part.offset[i] * view.strides[i];
    // One element has no next one, and its step may be as large as the caller likes.
    if (part.shape[i] > 1) view.strides[i] *= part.step[i];
  }
  return view;
}

}}  // namespace zarrpoint::v0
