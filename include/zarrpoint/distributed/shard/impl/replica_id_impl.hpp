// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/distributed/shard/replica_id.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bool replica_id::is_main() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](index_t part) { return part == 0; });
}

ZARRPOINT_INLINE std::string to_string(const replica_id& replica) {
  const std::vector<index_t>& parts = replica.parts();
  if (parts.size() == 1) return std::to_string(parts.front());
  std::string text = "(";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(parts[i]);
  }
  return text += ')';
}

}}  // namespace zarrpoint::v0
