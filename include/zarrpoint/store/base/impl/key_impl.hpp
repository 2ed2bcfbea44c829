// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<store_key> store_key::parse(std::string_view text) {
  if (text.size() > max_size) return refuse(text, "more than 1024 bytes");
  if (!text.empty()) {
    for (std::string_view rest = text;;) {
      const std::size_t slash = rest.find('/');
      if (const char* fault = detail::key_segment_fault(rest.substr(0, slash)))
        return refuse(text, fault);
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
  }
  return store_key(std::string(text));
}

ZARRPOINT_INLINE std::string_view store_key::name() const noexcept {
  return str().substr(text_.rfind('/') + 1);  // npos + 1 == 0
}

ZARRPOINT_INLINE store_key store_key::parent() const {
  const std::size_t slash = text_.rfind('/');
  return store_key(slash == std::string::npos ? std::string() : text_.substr(0, slash));
}

ZARRPOINT_INLINE result<store_key> store_key::child(std::string_view relative) const {
  if (relative.empty()) return *this;
  if (is_root()) return parse(relative);
  std::string joined;
  joined.reserve(text_.size() + 1 + relative.size());
  joined.append(text_).append("/").append(relative);
  return parse(joined);
}

ZARRPOINT_INLINE error store_key::refuse(std::string_view text, const char* fault) {
  std::string shown;
  for (const char c : text.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      shown += c;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  if (text.size() > 80) shown += "...";
  return {errc::invalid_argument, "store key \"" + shown + "\" has " + fault};
}

}}  // namespace zarrpoint::v0
