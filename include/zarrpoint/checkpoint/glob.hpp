// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether a leaf's name matches a pattern: `*` stands for any characters but '/', `**` for any
/// characters, `?` for one character but '/'; `**/` may stand for nothing at all, so that
/// `**/bias` matches `bias` too. An empty pattern matches only an empty name.
constexpr bool glob_match(std::string_view pattern, std::string_view name) noexcept {
  // Where to go back to if the text after a star does not match: the last star of each kind. A
  // single star cannot reach across a '/', so that beyond one only the last double star counts.
  struct resume_point {
    std::size_t pattern = std::string_view::npos;
    std::size_t name = 0;
  };
  resume_point single;
  resume_point twice;
  std::size_t p = 0;
  std::size_t n = 0;
  while (n < name.size() || p < pattern.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      if (p + 1 < pattern.size() && pattern[p + 1] == '*') {
        const bool whole_segments = p == 0 || pattern[p - 1] == '/';
        p += 2;
        if (whole_segments && p < pattern.size() && pattern[p] == '/' &&
            glob_match(pattern.substr(p + 1), name.substr(n)))
          return true;
        twice = {p, n};
        single = {};
      } else {
        ++p;
        single = {p, n};
      }
      continue;
    }
    if (n < name.size() && p < pattern.size() &&
        (pattern[p] == name[n] || (pattern[p] == '?' && name[n] != '/'))) {
      ++p;
      ++n;
      continue;
    }
    if (single.pattern != std::string_view::npos && single.name < name.size() &&
        name[single.name] != '/') {
      n = ++single.name;
      p = single.pattern;
    } else if (twice.pattern != std::string_view::npos && twice.name < name.size()) {
      n = ++twice.name;
      p = twice.pattern;
      single = {};
    } else {
      return false;
    }
  }
  return true;
}

}}}  // namespace zarrpoint::v0::detail
