// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The error of the exception that is being handled; never throws, even when memory is exhausted.
error caught_error() noexcept;

}  // namespace detail

/// Calls `f`, which returns a `result`, and turns an exception that leaves it into an error. That
/// is the code and text of a `zarrpoint::exception`, `resource_limit` for `std::bad_alloc`,
/// `invalid_argument` with the text of any other.
template <class F>
auto guarded(F&& f) -> std::invoke_result_t<F> {
  static_assert(detail::is_result<std::invoke_result_t<F>>);
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    return std::forward<F>(f)();
#if ZARRPOINT_EXCEPTIONS
  } catch (...) {
    return detail::caught_error();
  }
#endif
}

}}  // namespace zarrpoint::v0
