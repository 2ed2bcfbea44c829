// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/handler/types/mdspan.hpp>

#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// An mdspan over addresses of a device. Made by `on_device`.
template <zarrpoint::detail::mdspan_like M>
struct device_mdspan {
  struct zarrpoint_handler;

  M elements;
  device_space space;
  event ready;  ///< what to wait for before touching the elements
};

/// Says that the pointer in an mdspan is a device's: `save(where, {{"w", on_device(w, space)}})`.
template <zarrpoint::detail::mdspan_like M>
device_mdspan<M> on_device(M elements, const device_space& space, event ready = {}) {
  return {std::move(elements), space, std::move(ready)};
}

template <zarrpoint::detail::mdspan_like M>
struct device_mdspan<M>::zarrpoint_handler {
  using host_handler = zarrpoint::detail::mdspan_handler<M>;
  static constexpr std::string_view typestr = host_handler::typestr;
  using space = device_space;
  static constexpr dtype type = host_handler::type;
  static constexpr std::size_t rank = host_handler::rank;
  static constexpr bool is_view = true;

  /// Errors: `invalid_argument` for a mapping that is not strided.
  static result<tensor_spec> spec(const device_mdspan& value) {
    return host_handler::spec(value.elements);
  }
  static tensor_view<space> view(const device_mdspan& value) {
    return moved<tensor_view<space>>(host_handler::view(value.elements), value);
  }
  static mutable_tensor_view<space> writable(const device_mdspan& target) requires(
      !std::is_const_v<typename M::element_type>) {
    return moved<mutable_tensor_view<space>>(host_handler::writable(target.elements), target);
  }

 private:
  template <class View, class HostView>
  static View moved(const HostView& view, const device_mdspan& value) {
    return {view.data, view.type, view.shape, view.strides, value.space, value.ready};
  }
};

}}}  // namespace zarrpoint::v0::cuda
