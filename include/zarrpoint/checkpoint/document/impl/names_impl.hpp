// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/zarr/node_name.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<std::set<std::string>> groups_of(std::span<const std::string_view> names,
                                                         std::span<const std::string> empty) {
  std::set<std::string> groups;
  std::string_view last;  // the parent of the one before: neighbours often have the same
  const auto add_parents = [&](std::string_view name) {
    const std::string_view parent = name.substr(0, name.rfind('/') + 1);
    if (parent == last) return;
    last = parent;
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      groups.emplace(name.substr(0, at));
  };
  std::vector<detail::named_place> all;
  all.reserve(names.size());
  for (const std::string_view name : names) {
    if (auto is_path = detail::check_node_path(name); !is_path)
      return std::move(is_path).failure().at("leaf " + detail::in_quotes(name));
    add_parents(name);
    all.push_back({name, all.size()});
  }
  for (const std::string& group : empty) {
    ZARRPOINT_CHECK(detail::check_node_path(group).at("group " + detail::in_quotes(group)));
    add_parents(group);
    groups.insert(group);
  }
  for (const std::string& group : groups) all.push_back({group, all.size()});
  if (const detail::named_place* twice = detail::find_twice(all); twice != nullptr)
    return error{errc::invalid_argument,
                 twice->place < names.size()
                     ? "leaf " + detail::in_quotes(twice->text) + " is named twice"
                     : detail::in_quotes(twice->text) +
                           " cannot be a leaf: other leaves lie below that name"};
  return groups;
}

}}  // namespace zarrpoint::v0
