// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `convert --rename FROM=TO`.

#include <zarrpoint/core/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// One rule for names. FROM is the name of an array or of a group, whose arrays it then renames, or
/// a glob as `glob_match` has it. What its wildcards stand for takes the place of those of TO, the
/// first for the first and so on.
struct rename_rule {
  std::string from;
  std::string to;

  /// Of `"FROM=TO"`. Errors: `invalid_argument` for another form, an empty FROM, more than 8
  /// wildcards, and more of them in TO than in FROM.
  static zp::result<rename_rule> parse(std::string_view text);

  /// The new name; nothing when the rule is not for this one.
  std::optional<std::string> apply(std::string_view name) const;
};

}  // namespace cli
