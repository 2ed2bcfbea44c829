// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/node_name.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<std::set<std::string>> groups_of(std::span<const std::string_view> names,
                                                         std::span<const std::string> empty) {
  std::set<std::string_view> leaves;
  std::set<std::string> groups;
  const auto add_parents = [&](std::string_view name) {
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      groups.emplace(name.substr(0, at));
  };
  for (const std::string_view name : names) {
    ZARRPOINT_CHECK(detail::check_node_path(name).at("leaf " + detail::in_quotes(name)));
    if (!leaves.insert(name).second)
      return error{errc::invalid_argument, "leaf " + detail::in_quotes(name) + " is named twice"};
    add_parents(name);
  }
  for (const std::string& group : empty) {
    ZARRPOINT_CHECK(detail::check_node_path(group).at("group " + detail::in_quotes(group)));
    add_parents(group);
    groups.insert(group);
  }
  for (const std::string_view name : leaves) {
    if (groups.contains(std::string(name)))
      return error{errc::invalid_argument,
                   detail::in_quotes(name) + " cannot be a leaf: other leaves lie below that name"};
  }
  return groups;
}

}}  // namespace zarrpoint::v0
