// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/utf8.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (out.size() + length > max_bytes) return out += "...";
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0 || c < 0x20 || c == 0x7f) {
      out += '?';
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

ZARRPOINT_INLINE std::string in_quotes(std::string_view name) {
  return '"' + printable(name, 80) + '"';
}

}}}  // namespace zarrpoint::v0::detail
