// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/handler/types/diagnose.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <type_traits>

namespace zarrpoint { inline namespace v0 {

// Reading and writing parts of an array with values of any type that has a handler.

namespace detail {

/// Devices: defined in array/device/device_values.hpp.
template <class Space>
result<void> read_part_to_device(const array& from, const selection& part,
                                 const mutable_tensor_view<Space>& into,
                                 const read_options& options);
template <class Space>
result<void> write_part_from_device(const array& to, const selection& part,
                                    const tensor_view<Space>& from, const write_options& options);

/// Reads a part into a view of its shape, in any memory space.
template <memory_space Space>
result<void> read_part(const array& from, const selection& part,
                       const mutable_tensor_view<Space>& into, const read_options& options) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(into.space.wait(into.ready));
    return from.read(
        part, mutable_host_view{into.data, into.type, into.shape, into.strides, {}, {}}, options);
  } else {
    return read_part_to_device(from, part, into, options);
  }
}

/// Reads a part into a target, whose elements are of any dtype that `options` allow.
template <class Handler, class T>
result<void> read_part_into(const array& from, const selection& part, T& target,
                            const read_options& options) {
  mark_loaded<Handler>(target, false);
  ZARRPOINT_CHECK(part.check(from.spec().shape));
  ZARRPOINT_TRY(into, (target_view<Handler, T>(target, {from.spec().type, part.shape})));
  ZARRPOINT_CHECK(read_part(from, part, into, options));
  mark_loaded<Handler>(target, true);
  return {};
}

/// The elements of a value with the shape of a part: its own, or for a flat value any of as many.
template <class Handler, class T>
result<tensor_view<typename Handler::space>> source_view(const T& value, const dims& shape) {
  ZARRPOINT_CHECK(result<tensor_spec>(Handler::spec(value)));
  tensor_view<typename Handler::space> view = Handler::view(value);
  if constexpr (handler_is_flat<Handler>()) {
    if (view.shape != shape && is_dense(view) &&
        element_count(view.shape).value_or(-1) == element_count(shape).value_or(-2)) {
      view.shape = shape;
      view.strides = row_major_strides(shape, memory_size(view.type));
    }
  }
  return view;
}

/// A caller's value as work in the background has it: a reference to an lvalue, unless lvalues of
/// its type are copied; else a value.
template <class T, bool Copied>
struct background_value {
  std::conditional_t<std::is_lvalue_reference_v<T> && !Copied, T, std::remove_cvref_t<T>> value;
};

template <class T>
inline constexpr bool is_copied_target =
    handler_is_view<handler_of<T>>() && std::copy_constructible<std::remove_cvref_t<T>>;

}  // namespace detail

template <class T>
  requires detail::own_type<T, mutable_host_view, read_options> result<void> array::read(
      const selection& part, T&& into, const read_options& options)
const {
  detail::require_fillable<T>();
  auto done =
      detail::read_part_into<handler_of<T>, std::remove_reference_t<T>>(*this, part, into, options);
  // Errors of a read begin with the array's place already.
  if (done || done.failure().message.starts_with("array ")) return done;
  return std::move(done).at("array " + store().describe(key()));
}

template <class T>
  requires detail::own_type<T, host_view, element_source> result<void> array::write(
      const selection& part, const T& from, const write_options& options)
const {
  detail::require_savable<T>();
  using space = space_of_t<T>;
  auto view = detail::source_view<handler_of<T>>(from, part.shape);
  if (!view) return std::move(view).failure().at("array " + store().describe(key()));
  if constexpr (space::host_accessible) {
    ZARRPOINT_CHECK(view->space.wait(view->ready));
    return write(part, host_view{view->data, view->type, view->shape, view->strides, {}, {}},
                 options);
  } else {
    return detail::write_part_from_device<space>(*this, part, *view, options);
  }
}

template <class T>
  requires detail::other_than<T, read_options> pending<void> array::read_async(
      const selection& part, T&& into, const read_options& options)
const {
  detail::require_fillable<T>();
  using target = detail::background_value<T, detail::is_copied_target<T>>;
  return detail::in_background(
      default_context(), options,
      [self = *this, part, to = target{std::forward<T>(into)}](const read_options& by) mutable {
        return self.read(part, to.value, by);
      });
}

template <class T>
  requires detail::other_than<T, element_source> pending<void> array::write_async(
      const selection& part, T&& from, const write_options& options)
const {
  using type = std::remove_cvref_t<T>;
  detail::require_savable<type>();
  using source = detail::background_value<T, detail::is_copied_leaf<type, handler_of<type>>>;
  return detail::in_background(
      default_context(), options,
      [self = *this, part, of = source{std::forward<T>(from)}](const write_options& by) {
        return self.write(part, of.value, by);
      });
}

namespace detail {

// Values of any type with a handler as views of the host, for what works on those only.

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

}  // namespace detail

}}  // namespace zarrpoint::v0
