// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE std::string tree_path::joined(char separator) const {
  std::string out;
  for (const tree_key& key : keys_) {
    if (&key != keys_.data()) out += separator;
    out += key.text;
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE result<void> add_containers(const tree_value& of, std::vector<tree_key>& path,
                                             std::vector<tree_container>& to) {
  if (path.size() > most_levels)
    return error{errc::invalid_argument, "a tree of more than 64 levels"};
  const bool is_named = of.kind == value_kind::named_tuple;
  const bool is_dict = is_named || of.kind == value_kind::dict;
  if (!of.members.empty() && (is_named || of.kind == value_kind::tuple)) {
    tree_container& made = to.emplace_back();
    made.path = path;
    made.kind = of.kind;
    if (is_named) made.type = of.type;
    for (const auto& [name, member] : of.members)
      if (is_named) made.fields.push_back(name);
  }
  for (const auto& [name, member] : of.members) {
    path.push_back({name, !is_dict});
    ZARRPOINT_CHECK(add_containers(member, path, to));
    path.pop_back();
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<tree_container>> containers_of(const tree_value& tree) {
  std::vector<tree_container> out;
  std::vector<tree_key> path;
  ZARRPOINT_CHECK(detail::add_containers(tree, path, out));
  return out;
}

}}}  // namespace zarrpoint::v0::orbax
