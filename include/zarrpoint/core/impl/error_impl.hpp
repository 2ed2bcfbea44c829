// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>

#include <cstdint>
#include <new>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE error& error::at(std::string_view context) & {
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    std::string text;
    text.reserve(context.size() + 2 + message.size());
    text.append(context).append(": ").append(message);
    message = static_cast<std::string&&>(text);
#if ZARRPOINT_EXCEPTIONS
  } catch (const std::bad_alloc&) {
    // The error without its context is worth more than none.
  }
#endif
  return *this;
}

ZARRPOINT_INLINE error&& error::at(std::string_view context) && {
  at(context);
  return static_cast<error&&>(*this);
}

ZARRPOINT_INLINE std::string to_string(const error& failure) {
  std::string text(to_string(failure.code));
  return text.append(": ").append(failure.message);
}

}}  // namespace zarrpoint::v0
