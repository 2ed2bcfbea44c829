// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/state/state_path.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void append_step(std::string& path, std::string_view key) {
  if (!path.empty()) path += '/';
  if (key.empty()) path += '~';
  for (const char c : key) {
    if (c == '/') {
      path += "~1";
    } else if (c == '~') {
      path += "~0";
    } else {
      path += c;
    }
  }
}

ZARRPOINT_INLINE void append_step(std::string& path, std::size_t position) {
  if (!path.empty()) path += '/';
  path += std::to_string(position);
}

ZARRPOINT_INLINE std::optional<std::string> key_of_step(std::string_view step) {
  if (step == "~") return std::string();
  if (step.empty()) return std::nullopt;
  std::string key;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      key += step[i];
      continue;
    }
    if (++i == step.size() || (step[i] != '0' && step[i] != '1')) return std::nullopt;
    key += step[i] == '0' ? '~' : '/';
  }
  return key;
}

ZARRPOINT_INLINE std::optional<std::size_t> position_of_step(std::string_view step) {
  constexpr std::size_t max_digits = 18;  // more than any list has elements
  if (step.empty() || step.size() > max_digits || (step.size() > 1 && step[0] == '0'))
    return std::nullopt;
  std::size_t position = 0;
  for (const char c : step) {
    if (c < '0' || c > '9') return std::nullopt;
    position = position * 10 + static_cast<std::size_t>(c - '0');
  }
  return position;
}

ZARRPOINT_INLINE std::string_view take_step(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view step = path.substr(0, end);
  path.remove_prefix(end == path.npos ? path.size() : end + 1);
  return step;
}

ZARRPOINT_INLINE std::string quoted_path(std::string_view path) {
  constexpr std::size_t max_bytes = 200;
  return '"' + printable(path, max_bytes) + '"';
}

ZARRPOINT_INLINE error state_place::failure(errc code, std::string_view what) const {
  std::string text = "state";
  if (!path_.empty()) text.append(" ").append(quoted_path(path_));
  return error{code, text.append(": ").append(what)};
}

}}}  // namespace zarrpoint::v0::detail
