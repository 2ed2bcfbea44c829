// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/hierarchy/node_walk.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/consolidated_v2.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Deep and wide enough for any hierarchy; one with a cycle of links would not end otherwise.
inline constexpr std::size_t max_node_depth = 64;

/// The order in which zarr-python consolidates: by depth, then by name.
ZARRPOINT_INLINE bool node_order(const stored_node& a, const stored_node& b) {
  const auto depth = [](const std::string& path) {
    return path.empty() ? std::ptrdiff_t{-1} : std::count(path.begin(), path.end(), '/');
  };
  const auto depth_a = depth(a.path);
  const auto depth_b = depth(b.path);
  return depth_a != depth_b ? depth_a < depth_b : a.path < b.path;
}

/// Whether a directory may be a node: names with "__" are reserved, others cannot be named.
ZARRPOINT_INLINE bool may_be_node(std::string_view name) {
  return check_safe_name(name).has_value() && !name.starts_with("__");
}

ZARRPOINT_INLINE result<std::vector<stored_node>> list_nodes(const any_store& store,
                                                             const store_key& key,
                                                             const limits& limit) {
  ZARRPOINT_TRY(children, store.list(key));
  std::vector<stored_node> out;
  for (const list_entry& child : children) {
    if (!child.is_prefix || !detail::may_be_node(child.name)) continue;
    ZARRPOINT_TRY(child_key, key.child(child.name));
    ZARRPOINT_TRY(found, detail::read_stored_node(store, child_key, limit));
    if (!found) continue;
    found->path = child.name;
    out.push_back(*std::move(found));
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<stored_node>> walk_nodes(const any_store& store,
                                                             const store_key& key,
                                                             const limits& limit) {
  std::vector<stored_node> out;
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    ZARRPOINT_TRY(group, key.child(at));
    ZARRPOINT_TRY(children, list_nodes(store, group, limit));
    for (stored_node& child : children) {
      if (!at.empty()) child.path = at + '/' + child.path;
      const auto depth =
          static_cast<std::size_t>(std::count(child.path.begin(), child.path.end(), '/'));
      if (depth > detail::max_node_depth || out.size() >= detail::max_nodes)
        return error{errc::resource_limit,
                     "hierarchy of more than " + std::to_string(detail::max_nodes) +
                         " nodes, or nested deeper than " + std::to_string(detail::max_node_depth) +
                         ", at " + detail::in_quotes(child.path)};
      if (child.kind == node_kind::group) open.push_back(child.path);
      out.push_back(std::move(child));
    }
  }
  std::sort(out.begin(), out.end(), detail::node_order);
  return out;
}

ZARRPOINT_INLINE result<std::optional<std::vector<stored_node>>> consolidated_nodes(
    const any_store& store, const store_key& key, const stored_node& root, const limits& limit) {
  std::vector<stored_node> out;
  if (root.zarr_format == 3) {
    ZARRPOINT_TRY(group, parse_group_v3(root.document));
    if (!group.consolidated) return std::optional<std::vector<stored_node>>();
    for (auto& [path, document] : *group.consolidated) {
      ZARRPOINT_TRY(kind, parse_node_kind_v3(document).at(detail::in_quotes(path)));
      out.push_back({path, kind, 3, std::move(document), {}});
    }
  } else {
    ZARRPOINT_TRY(document, detail::read_node_document(store, key, ".zmetadata", limit));
    if (!document) return std::optional<std::vector<stored_node>>();
    ZARRPOINT_TRY(nodes, parse_zmetadata(*document).at(store.describe(key) + "/.zmetadata"));
    for (v2_node& one : nodes) {
      if (!one.path.empty())
        out.push_back(
            {std::move(one.path), one.kind, 2, std::move(one.document), std::move(one.attributes)});
    }
  }
  std::sort(out.begin(), out.end(), detail::node_order);
  return std::optional(std::move(out));
}

}}}  // namespace zarrpoint::v0::detail
