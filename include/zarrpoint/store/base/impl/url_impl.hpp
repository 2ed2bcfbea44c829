// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/url.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::optional<url> url::parse(std::string_view text) {
  const std::size_t mark = text.find("://");
  if (mark == text.npos || mark == 0) return std::nullopt;
  url out;
  for (const char c : text.substr(0, mark)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!is_letter && (out.scheme.empty() || !is_other)) return std::nullopt;
    out.scheme += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  out.rest = text.substr(mark + 3);
  return out;
}

ZARRPOINT_INLINE url url::of_path(std::string_view scheme, std::string_view path) {
  url out{std::string(scheme), path.starts_with("localhost/") ? "./" : ""};
  for (const char c : path) {
    if (c == '%') {
      out.rest += "%25";
    } else {
      out.rest += c;
    }
  }
  return out;
}

ZARRPOINT_INLINE result<std::string> url::path() const {
  const auto refuse = [this](const char* why) {
    return error{errc::invalid_argument, detail::in_quotes(str()) + ": " + why};
  };
  constexpr std::string_view local = "localhost/";
  std::string_view from = rest;
  if (from.starts_with(local)) from.remove_prefix(local.size() - 1);
  std::string out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != '%') {
      out += from[i];
      continue;
    }
    const int high = i + 2 < from.size() ? digit(from[i + 1]) : -1;
    const int low = i + 2 < from.size() ? digit(from[i + 2]) : -1;
    if (high < 0 || low < 0) return refuse("\"%\" must be followed by two hexadecimal digits");
    out += static_cast<char>(static_cast<unsigned char>(high * 16 + low));
    i += 2;
  }
  if (out.empty()) return refuse("no path");
  if (out.find('\0') != std::string::npos) return refuse("a NUL byte in a path");
  return out;
}

ZARRPOINT_INLINE int url::digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}}  // namespace zarrpoint::v0
