// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/owned_paths.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE path_owner owned_paths::owner_of(std::string_view path) const {
  const std::string beneath = std::string(path) + '/';
  bool has_own = false;
  for (const std::vector<std::string>* paths : {&old, &taken}) {
    if (std::binary_search(paths->begin(), paths->end(), path)) return path_owner::own;
    const auto at = std::lower_bound(paths->begin(), paths->end(), beneath);
    has_own = has_own || (at != paths->end() && at->starts_with(beneath));
  }
  return has_own ? path_owner::mixed : path_owner::foreign;
}

}}  // namespace zarrpoint::v0
