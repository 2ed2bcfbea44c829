// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/consolidated_v2.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::vector<v2_node>> parse_zmetadata(const node& document) {
  ZARRPOINT_TRY(format, detail::required(document, "zarr_consolidated_format"));
  if (*format != node(1)) return detail::unsupported("zarr_consolidated_format is not 1");
  ZARRPOINT_TRY(metadata, detail::required(document, "metadata"));
  const node::object* members = metadata->if_object();
  if (members == nullptr) return detail::corrupt("metadata must be an object");
  std::vector<v2_node> nodes;
  std::vector<std::pair<std::string_view, const node*>> attributes;
  for (const auto& [key, value] : *members) {
    const std::string_view whole = key;
    const auto slash = whole.rfind('/');
    const std::string_view path = slash == whole.npos ? "" : whole.substr(0, slash);
    const std::string_view name = slash == whole.npos ? whole : whole.substr(slash + 1);
    const bool is_array = name == ".zarray";
    if (!is_array && name != ".zgroup" && name != ".zattrs") continue;
    if (slash != whole.npos) ZARRPOINT_CHECK(detail::check_safe_path(path));
    if (value.if_object() == nullptr)
      return detail::corrupt(detail::in_quotes(key) + " must be an object");
    if (name == ".zattrs") {
      attributes.emplace_back(path, &value);
    } else {
      nodes.push_back(
          {std::string(path), is_array ? node_kind::array : node_kind::group, value, node()});
    }
  }
  detail::sort_by_text(nodes, [](const v2_node& one) -> std::string_view { return one.path; });
  const auto twice =
      std::adjacent_find(nodes.begin(), nodes.end(),
                         [](const v2_node& a, const v2_node& b) { return a.path == b.path; });
  if (twice != nodes.end())
    return detail::corrupt(detail::in_quotes(twice->path) + " is both an array and a group");
  for (const auto& [path, value] : attributes) {
    const auto at =
        std::lower_bound(nodes.begin(), nodes.end(), path,
                         [](const v2_node& a, std::string_view wanted) { return a.path < wanted; });
    if (at != nodes.end() && at->path == path) at->attributes = *value;
  }
  return nodes;
}

ZARRPOINT_INLINE result<node> to_zmetadata(std::span<const v2_node> nodes) {
  node::object metadata;
  for (const v2_node& one : nodes) {
    if (!one.path.empty()) ZARRPOINT_CHECK(check_node_path(one.path));
    const std::string prefix = one.path.empty() ? "" : one.path + "/";
    const bool is_array = one.kind == node_kind::array;
    metadata.push_back({prefix + (is_array ? ".zarray" : ".zgroup"), one.document});
    if (!one.attributes.is_null()) metadata.push_back({prefix + ".zattrs", one.attributes});
  }
  detail::sort_by_text(metadata,
                       [](const node::member& one) -> std::string_view { return one.key; });
  node out(node::object{{"metadata", std::move(metadata)}, {"zarr_consolidated_format", 1}});
  ZARRPOINT_CHECK(detail::check_writable(out));
  return out;
}

}}}  // namespace zarrpoint::v0::detail
