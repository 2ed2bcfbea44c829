// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// Calls `f`, which returns a `result`, and turns an exception that leaves it into an error: the
/// code and text of a `zarrpoint::exception`, `resource_limit` for `std::bad_alloc`,
/// `invalid_argument` with the text of any other.
template <class F>
auto guarded(F&& f) -> std::invoke_result_t<F> {
  static_assert(detail::is_result<std::invoke_result_t<F>>);
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    return std::forward<F>(f)();
#if ZARRPOINT_EXCEPTIONS
  } catch (const exception& thrown) {
    return thrown.failure();
  } catch (const std::bad_alloc&) {
    return error{errc::resource_limit, "memory is exhausted"};
  } catch (const std::exception& thrown) {
    return error{errc::invalid_argument, std::string("exception: ") + thrown.what()};
  } catch (...) {
    return error{errc::invalid_argument, "exception of an unknown type"};
  }
#endif
}

}}  // namespace zarrpoint::v0
