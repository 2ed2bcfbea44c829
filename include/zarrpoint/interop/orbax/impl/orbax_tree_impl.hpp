// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/hierarchy/shown_names.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE bool tree_leaf::is_empty() const {
  return value_type == "None" || value_type == "Dict" || value_type == "List" ||
         value_type == "Tuple" || value_type == "NamedTuple";
}

ZARRPOINT_INLINE std::string tree_leaf::original_name() const {
  std::string out;
  for (const tree_key& key : path) {
    if (&key != path.data()) out += '/';
    out += key.text;
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE error no_member(std::string_view name) {
  return {errc::corrupt, "a leaf has no valid " + std::string(name)};
}

ZARRPOINT_INLINE result<tree_leaf> read_leaf(const node& entry) {
  const node* const keys = entry.find("key_metadata");
  const node* const value = entry.find("value_metadata");
  if (keys == nullptr || keys->if_array() == nullptr) return no_member("\"key_metadata\"");
  tree_leaf out;
  for (const node& key : *keys->if_array()) {
    const node* const text = key.find("key");
    const node* const kind = key.find("key_type");
    if (text == nullptr || text->if_string() == nullptr) return no_member("\"key\"");
    out.path.push_back({*text->if_string(), kind != nullptr && kind->to_int64() == 1});
    if (out.path.size() > 1) out.storage += '.';
    out.storage += out.path.back().text;
  }
  const node* const type = value != nullptr ? value->find("value_type") : nullptr;
  if (type == nullptr || type->if_string() == nullptr) return no_member("\"value_type\"");
  out.value_type = *type->if_string();
  const node* const skipped = value->find("skip_deserialize");
  out.is_skipped = skipped != nullptr && skipped->if_bool() != nullptr && *skipped->if_bool();
  return out;
}

ZARRPOINT_INLINE std::string path_text(const std::vector<tree_key>& path) {
  std::string out;
  for (const tree_key& key : path) out.append(key.text).append(1, '\0');
  return out;
}

ZARRPOINT_INLINE void arrange(std::vector<tree_leaf>& leaves) {
  const auto is_empty = [](const tree_leaf& leaf) { return leaf.is_empty(); };
  if (std::any_of(leaves.begin(), leaves.end(), is_empty)) {
    std::vector<std::string> paths;
    paths.reserve(leaves.size());
    for (const tree_leaf& leaf : leaves) paths.push_back(path_text(leaf.path));
    v0::detail::sort_names(paths);
    std::erase_if(leaves, [&](const tree_leaf& leaf) {
      if (!leaf.is_empty()) return false;
      const std::string own = path_text(leaf.path);
      const auto next = std::upper_bound(paths.begin(), paths.end(), own);
      return next != paths.end() && next->starts_with(own);
    });
  }
  if (leaves.size() == 1 && leaves[0].path.empty()) return;
  // `None` is not shown, and takes no name away from what is.
  const auto is_shown = [](const tree_leaf& leaf) { return leaf.value_type != "None"; };
  std::stable_partition(leaves.begin(), leaves.end(), is_shown);
  std::vector<std::string> names;
  names.reserve(leaves.size());
  for (std::size_t i = 0; i < leaves.size() && is_shown(leaves[i]); ++i)
    names.push_back(leaves[i].original_name());
  std::vector<std::string> shown = v0::detail::shown_names(names);
  if (shown.size() < leaves.size()) {
    names = shown;
    for (std::size_t i = shown.size(); i < leaves.size(); ++i)
      names.push_back(leaves[i].original_name());
    names = v0::detail::shown_names(names);
    for (std::size_t i = shown.size(); i < leaves.size(); ++i) shown.push_back(std::move(names[i]));
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].name = std::move(shown[i]);
  sort_by_name(leaves, [](const tree_leaf& each) -> const std::string& { return each.name; });
}

}  // namespace detail

ZARRPOINT_INLINE result<tree> read_tree(bytes_view json, const json_limits& limits) {
  ZARRPOINT_TRY(document, parse_json(json, limits));
  const node* const leaves = document.find("tree_metadata");
  if (leaves == nullptr || leaves->if_object() == nullptr)
    return error{errc::corrupt, "it has no object \"tree_metadata\""};
  tree out;
  out.leaves.reserve(leaves->if_object()->size());
  for (const node::member& entry : *leaves->if_object()) {
    ZARRPOINT_TRY(leaf, detail::read_leaf(entry.value));
    out.leaves.push_back(std::move(leaf));
  }
  detail::arrange(out.leaves);
  const auto is_set = [&](const char* name) {
    const node* const value = document.find(name);
    return value != nullptr && value->if_bool() != nullptr && *value->if_bool();
  };
  out.has_all_chunks = is_set("store_array_data_equal_to_fill_value");
  out.is_ocdbt = is_set("use_ocdbt");
  node* const rich = document.find("value_metadata_tree");
  if (rich != nullptr && rich->if_string() != nullptr)
    out.rich_types = std::move(*rich->if_string());
  if (node* const custom = document.find("custom_metadata"))
    out.custom_metadata = std::move(*custom);
  return out;
}

}}}  // namespace zarrpoint::v0::orbax
