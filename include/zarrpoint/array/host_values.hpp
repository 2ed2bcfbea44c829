// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/value_transfer.hpp>

// Values of any type with a handler as views of the host, for what works on those only.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Calls `f` with a view of `target` that has the shape of `stored`, and tells the target how it
/// went.
template <class T, class F>
result<void> fill_on_host(T& target, const tensor_spec& stored, F&& f) {
  require_fillable<T&>();
  using handler = handler_of<T>;
  static_assert(handler::space::host_accessible,
                "zarrpoint: this goes to memory of the host; read a box to a device");
  mark_loaded<handler>(target, false);
  ZARRPOINT_TRY(into, (target_view<handler, T>(target, stored)));
  ZARRPOINT_CHECK(into.space.wait(into.ready));
  ZARRPOINT_CHECK(f(mutable_host_view{into.data, into.type, into.shape, into.strides, {}, {}}));
  mark_loaded<handler>(target, true);
  return {};
}

/// The elements of a value on the host with that shape, if it is its own or the value is flat.
template <class T>
result<host_view> view_on_host(const T& value, const dims& shape) {
  require_savable<T>();
  static_assert(space_of_t<T>::host_accessible,
                "zarrpoint: this comes from memory of the host; write a box from a device");
  ZARRPOINT_TRY(view, source_view<handler_of<T>>(value, shape));
  ZARRPOINT_CHECK(view.space.wait(view.ready));
  return host_view{view.data, view.type, view.shape, view.strides, {}, {}};
}

/// The shape of `count` elements that follow those of an array along `axis`; its own where they
/// fill no whole number of steps.
inline dims shape_behind(dims shape, std::size_t axis, index_t count) {
  if (axis >= shape.rank()) return shape;
  index_t step = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (d != axis && (shape[d] == 0 || __builtin_mul_overflow(step, shape[d], &step))) return shape;
  if (count % step == 0) shape[axis] = count / step;
  return shape;
}

}}}  // namespace zarrpoint::v0::detail
