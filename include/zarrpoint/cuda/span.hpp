// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <cstddef>
#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// Elements on a device that others own: an array of rank 1; as a target it takes any shape of as
/// many elements.
template <class T>
  requires element<std::remove_cv_t<T>>
struct device_span {
  struct zarrpoint_handler;

  T* data = nullptr;  ///< an address on the device
  std::size_t size = 0;
  device_space space;
  event ready{};  ///< what to wait for before touching the elements
};

template <class T>
  requires element<std::remove_cv_t<T>>
struct device_span<T>::zarrpoint_handler {
  static constexpr std::string_view typestr = zarrpoint::detail::array_kind;
  using space = device_space;
  static constexpr dtype type = dtype_of<std::remove_cv_t<T>>;
  static constexpr std::size_t rank = 1;
  static constexpr bool is_view = true;
  static constexpr bool is_flat = true;

  static tensor_spec spec(const device_span& value) {
    return {type, {static_cast<index_t>(value.size)}};
  }
  static tensor_view<space> view(const device_span& value) {
    return view_of<tensor_view<space>>(value, reinterpret_cast<const std::byte*>(value.data));
  }
  static mutable_tensor_view<space> writable(const device_span& target) requires(
      !std::is_const_v<T>) {
    return view_of<mutable_tensor_view<space>>(target, reinterpret_cast<std::byte*>(target.data));
  }

 private:
  template <class View>
  static View view_of(const device_span& value, typename View::pointer data) {
    return {data,        type,       spec(value).shape, {static_cast<index_t>(sizeof(T))},
            value.space, value.ready};
  }
};

}}}  // namespace zarrpoint::v0::cuda
