// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/failure_box.hpp>

#include <new>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE error* failure_box::keep(error& failure) noexcept {
  error* const made = new (std::nothrow) error(std::move(failure));
  return made != nullptr ? made : mark(no_memory);
}

ZARRPOINT_INLINE error* failure_box::copy(const error& failure) noexcept {
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    error copied = failure;
    return keep(copied);
#if ZARRPOINT_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return mark(no_memory);
  }
#endif
}

ZARRPOINT_INLINE void failure_box::drop(error* failure) noexcept { delete failure; }

ZARRPOINT_INLINE const error& failure_box::told(bool is_spent) noexcept {
  static const error moved;
  static const error exhausted{errc::resource_limit, "no memory"};  // the text needs none
  return is_spent ? moved : exhausted;
}

ZARRPOINT_INLINE error failure_box::take() noexcept {
  if (owns()) return std::move(*at_);
  return told(at_ == mark(spent));
}

ZARRPOINT_INLINE void failure_box::at(std::string_view context) noexcept {
  if (owns()) at_->at(context);
}

}}}  // namespace zarrpoint::v0::detail
