// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/value_transfer.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

result<void> write_array_documents(const array& of);

}  // namespace detail

/// The same array with another shape, of the same rank: its metadata are replaced in one step.
/// Elements that are new are the fill value. Chunks that are no longer within the array are erased
/// and what remains of cut ones is written again, so that a later growth finds no old elements. A
/// store that cannot be listed is left with them. When that ends early, the array has its new
/// shape, and the next `resize` clears up. Handles opened before keep the old shape. Errors:
/// `invalid_argument`, `out_of_range`, `io`.
result<array> resize(const array& of, const dims& shape);

/// `of` with `more` after its last elements along `axis`. The elements are written first and the
/// shape last, so that what ends early leaves the array as it was. Errors: `invalid_argument`,
/// `shape_mismatch`, and those of `array::write`.
result<array> append(const array& of, std::size_t axis, const host_view& more,
                     const write_options& options = {});

/// The same of a value of any type on the host that `array::write` takes; a flat one, such as a
/// `std::vector`, is as long along `axis` as its elements fill.
template <class T>
  requires detail::own_type<T, host_view, element_source> result<array> append(
      const array& of, std::size_t axis, const T& more, const write_options& options = {}) {
    detail::require_savable<T>();
    ZARRPOINT_TRY(own, result<tensor_spec>(handler_of<T>::spec(more)));
    dims shape = own.shape;
    if constexpr (detail::handler_is_flat<handler_of<T>>())
      shape = detail::shape_behind(of.spec().shape, axis, element_count(shape).value_or(0));
    ZARRPOINT_TRY(view, detail::view_on_host(more, shape));
    return append(of, axis, view, options);
  }

}}  // namespace zarrpoint::v0
