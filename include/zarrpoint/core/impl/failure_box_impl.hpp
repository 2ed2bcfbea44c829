// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/failure_box.hpp>

#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE error* failure_box::keep(error& failure) noexcept {
  const errc code = failure.code;
  error* const made = new (std::nothrow) error(std::move(failure));
  return made != nullptr ? made : mark(code, no_memory);
}

ZARRPOINT_INLINE error* failure_box::copy(const error& failure) noexcept {
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    error copied = failure;
    return keep(copied);
#if ZARRPOINT_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    return mark(failure.code, no_memory);
  }
#endif
}

ZARRPOINT_INLINE void failure_box::drop(error* failure) noexcept { delete failure; }

ZARRPOINT_INLINE const error& failure_box::told(const error* marked) noexcept {
  struct list {
    error of[4 * codes];
  };
  static const list all = [] {
    list out;
    for (std::uintptr_t i = 0; i < 4 * codes; ++i) {
      out.of[i].code = static_cast<errc>(i / 4);
      if (i % 4 == no_memory) out.of[i].message = "no memory";  // the text itself needs none
    }
    return out;
  }();
  return all.of[reinterpret_cast<std::uintptr_t>(marked)];
}

ZARRPOINT_INLINE error failure_box::take() noexcept {
  if (owns()) return std::move(*at_);
  return told(at_);
}

ZARRPOINT_INLINE void failure_box::at(std::string_view context) noexcept {
  if (owns()) at_->at(context);
}

}}}  // namespace zarrpoint::v0::detail
