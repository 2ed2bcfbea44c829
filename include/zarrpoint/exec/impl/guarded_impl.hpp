// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <exception>
#include <new>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

// The short text needs no memory: it is that of a failure for which there was none.
ZARRPOINT_INLINE error caught_error() noexcept {
#if ZARRPOINT_EXCEPTIONS
  try {
    try {
      throw;
    } catch (const exception& thrown) {
      return thrown.failure();
    } catch (const std::bad_alloc&) {
      return error{errc::resource_limit, "memory is exhausted"};
    } catch (const std::exception& thrown) {
      return error{errc::invalid_argument, std::string("exception: ") + thrown.what()};
    } catch (...) {
      return error{errc::invalid_argument, "an exception of an unknown type was thrown"};
    }
  } catch (...) {
  }
#endif
  return error{errc::resource_limit, "no memory"};
}

}}}  // namespace zarrpoint::v0::detail
