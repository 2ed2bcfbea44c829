// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Whose a path of a tree is.
enum class path_owner : std::uint8_t {
  own,      ///< of what is replaced, or of what replaces it, with all beneath it
  foreign,  ///< of others, with all beneath it
  mixed,    ///< a directory with things of both
};

/// What of a tree goes when another one takes its place. All else is of others, and is kept. Paths
/// are relative to the tree, without a "/" at either end.
struct owned_paths {
  std::vector<std::string> old{};    ///< sorted: files, and directories with all that is in them
  std::vector<std::string> taken{};  ///< sorted: where the new tree lets nothing in

  /// Of a path none of whose parents is `own` or `foreign`.
  path_owner owner_of(std::string_view path) const;
};

}}  // namespace zarrpoint::v0
