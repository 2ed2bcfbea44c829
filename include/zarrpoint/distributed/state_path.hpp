// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Places in a state, as text: keys and positions from the root on, joined by '/'. In a key '/' is
// written "~1" and '~' "~0" (RFC 6901); a key without characters is "~". The root is "".

namespace zarrpoint::inline v0 {

/// How many maps and lists may lie within each other; a deeper state is refused with
/// `resource_limit`. The readers of JSON take 64, some of which a document is wrapped in.
inline constexpr std::size_t max_state_depth = 56;

namespace detail {

inline void append_step(std::string& path, std::string_view key) {
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

inline void append_step(std::string& path, std::size_t position) {
  if (!path.empty()) path += '/';
  path += std::to_string(position);
}

/// The key that a step of a path stands for; nothing for text that is no step.
inline std::optional<std::string> key_of_step(std::string_view step) {
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

/// The position that a step of a path stands for; nothing for what is no number as we write them.
inline std::optional<std::size_t> position_of_step(std::string_view step) {
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

/// Takes the first step off a path that is not empty.
inline std::string_view take_step(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view step = path.substr(0, end);
  path.remove_prefix(end == path.npos ? path.size() : end + 1);
  return step;
}

/// For an error message: keys may have been read from a file.
inline std::string quoted_path(std::string_view path) {
  constexpr std::size_t max_bytes = 200;
  return '"' + printable(path, max_bytes) + '"';
}

/// Where a walk through a state is. One text serves the whole walk.
class state_place {
 public:
  const std::string& path() const noexcept { return path_; }

  error failure(errc code, std::string_view what) const {
    std::string text = "state";
    if (!path_.empty()) text.append(" ").append(quoted_path(path_));
    return error{code, text.append(": ").append(what)};
  }

  /// What `f()` returns, called one step, a key or a position, further down. Errors:
  /// `resource_limit` where that is too deep.
  template <class Step, class F>
  auto within(const Step& step, F&& f) -> decltype(f()) {
    if (depth_ == max_state_depth)
      return failure(errc::resource_limit,
                     "nested more than " + std::to_string(max_state_depth) + " levels deep");
    const std::size_t length = path_.size();
    append_step(path_, step);
    ++depth_;
    auto out = f();
    --depth_;
    path_.resize(length);
    return out;
  }

 private:
  std::string path_;
  std::size_t depth_ = 0;
};

}  // namespace detail

}  // namespace zarrpoint::inline v0
