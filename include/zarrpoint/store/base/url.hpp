// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// A URL as far as stores need it (RFC 3986): what stands behind `://` belongs to the scheme.
struct url {
  std::string scheme;  ///< in lower case
  std::string rest;    ///< as written, without `://`

  /// Nothing when `text` has no `://` or no scheme before it: then it is a path.
  static std::optional<url> parse(std::string_view text);

  /// The URL whose `path()` is `path`.
  static url of_path(std::string_view scheme, std::string_view path);

  std::string str() const { return scheme + "://" + rest; }

  /// The path of a URL of the local machine, percent-encoded bytes decoded: `file:///a`,
  /// `file://localhost/a`, and, relative to the working directory, `file://a`. Errors:
  /// `invalid_argument` for an empty path, a NUL byte, and a `%` that no two digits follow.
  result<std::string> path() const;

 private:
  static int digit(char c) noexcept;
};

}}  // namespace zarrpoint::v0
