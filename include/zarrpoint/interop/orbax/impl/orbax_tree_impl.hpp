// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE bool tree_leaf::is_empty() const {
  return value_type == "None" || value_type == "Dict" || value_type == "List" ||
         value_type == "Tuple" || value_type == "NamedTuple";
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
    if (out.path.size() > 1) {
      out.name += '/';
      out.storage += '.';
    }
    out.name += out.path.back().text;
    out.storage += out.path.back().text;
    if (out.name.size() > store_key::max_size)
      return error{errc::unsupported, "a leaf has a path of more than " +
                                          std::to_string(store_key::max_size) + " bytes"};
  }
  const node* const type = value != nullptr ? value->find("value_type") : nullptr;
  if (type == nullptr || type->if_string() == nullptr) return no_member("\"value_type\"");
  out.value_type = *type->if_string();
  const node* const skipped = value->find("skip_deserialize");
  out.is_skipped = skipped != nullptr && skipped->if_bool() != nullptr && *skipped->if_bool();
  return out;
}

ZARRPOINT_INLINE result<void> arrange(std::vector<tree_leaf>& leaves) {
  sort_by_name(leaves, [](const tree_leaf& each) -> const std::string& { return each.name; });
  const auto has = [&](std::string_view name) {
    const auto at = std::lower_bound(
        leaves.begin(), leaves.end(), name,
        [](const tree_leaf& leaf, std::string_view wanted) { return leaf.name < wanted; });
    return at != leaves.end() && at->name == name;
  };
  // What partial saves put in the place of a subtree goes when the subtree is there.
  std::vector<std::string> replaced;
  if (leaves.size() > 1 && leaves[0].name.empty()) replaced.emplace_back();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::string& name = leaves[i].name;
    if (i > 0 && leaves[i - 1].name == name)
      return error{errc::unsupported, "two leaves have the name " + v0::detail::in_quotes(name)};
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      if (has(std::string_view(name).substr(0, at))) replaced.push_back(name.substr(0, at));
  }
  v0::detail::sort_names(replaced);
  std::erase_if(leaves, [&](const tree_leaf& leaf) {
    return std::binary_search(replaced.begin(), replaced.end(), leaf.name);
  });
  return {};
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
  ZARRPOINT_CHECK(detail::arrange(out.leaves));
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
