// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/commit_document.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/zarr/consolidated_v2.hpp>
#include <zarrpoint/zarr/json.hpp>
#include <zarrpoint/zarr/metadata_v2.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The metadata documents of a checkpoint: one for each array and group, the root's last.

namespace zarrpoint::inline v0::detail {

template <class = void>
result<void> put_document(const any_store& store, const store_key& node_key, std::string_view file,
                          const node& document) {
  ZARRPOINT_TRY(key, node_key.child(file));
  // The root's document is for machines, and long; the others are for people, too.
  const json_style style = node_key.is_root() ? json_style::compact : json_style::pretty;
  return store.put(key, as_bytes(dump_json(document, style)));
}

/// The document of an array, as `leaf_record::metadata` and its file hold it.
template <class = void>
result<node> array_document(const array_metadata& metadata) {
  if (metadata.zarr_format != 2) return to_v3(metadata);
  ZARRPOINT_TRY(documents, to_v2(metadata));
  return std::move(documents.document);
}

template <class = void>
result<void> put_array_document(const any_store& store, const store_key& key,
                                const leaf_record& leaf, int zarr_format) {
  return put_document(store, key, zarr_format == 2 ? ".zarray" : "zarr.json", leaf.metadata);
}

template <class = void>
result<node> group_document(int zarr_format) {
  if (zarr_format == 2) return node(node::object{{"zarr_format", 2}});
  return to_v3(group_metadata{});
}

/// The documents of the groups below the root.
template <class = void>
result<void> put_group_documents(const any_store& store, const std::set<std::string>& groups,
                                 int zarr_format) {
  ZARRPOINT_TRY(document, group_document(zarr_format));
  for (const std::string& group : groups) {
    ZARRPOINT_TRY(key, store_key::parse(group));
    ZARRPOINT_CHECK(put_document(store, key, zarr_format == 2 ? ".zgroup" : "zarr.json", document));
  }
  return {};
}

/// Every node below the root, by depth and then by name, as zarr-python orders them.
template <class = void>
result<consolidated_documents> consolidate(const commit_document& document,
                                           const std::set<std::string>& groups) {
  consolidated_documents out;
  out.reserve(groups.size() + document.leaves.size());
  // zarr-python marks groups below with an empty consolidation of their own.
  group_metadata marked;
  marked.consolidated.emplace();
  ZARRPOINT_TRY(group, to_v3(marked));
  for (const std::string& path : groups) out.emplace_back(path, group);
  for (const leaf_record& leaf : document.leaves) out.emplace_back(leaf.name, leaf.metadata);
  const auto depth = [](const std::string& path) {
    return std::count(path.begin(), path.end(), '/');
  };
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    const auto depth_a = depth(a.first);
    const auto depth_b = depth(b.first);
    return depth_a != depth_b ? depth_a < depth_b : a.first < b.first;
  });
  return out;
}

/// The same for Zarr v2, where consolidation is a file of its own.
template <class = void>
result<node> consolidate_v2(const commit_document& document, const std::set<std::string>& groups,
                            const node& attributes) {
  ZARRPOINT_TRY(group, group_document(2));
  std::vector<v2_node> nodes{{"", node_kind::group, group, attributes}};
  for (const std::string& path : groups) nodes.push_back({path, node_kind::group, group, node()});
  for (const leaf_record& leaf : document.leaves)
    nodes.push_back({leaf.name, node_kind::array, leaf.metadata, node()});
  return to_zmetadata(nodes);
}

/// The caller's attributes with the commit document among them.
template <class = void>
node root_attributes(const commit_document& document, const save_options& options) {
  node attributes = options.attributes.is_null() ? node(node::object{}) : options.attributes;
  attributes.set(std::string(commit_document::member_name), to_node(document));
  return attributes;
}

/// The file that makes it a checkpoint: written last.
template <class = void>
result<void> put_root_document(const any_store& store, const commit_document& document,
                               const std::set<std::string>& groups, const save_options& options) {
  const store_key root = store_key::root();
  if (options.zarr_format == 2) {
    ZARRPOINT_TRY(group, group_document(2));
    ZARRPOINT_CHECK(put_document(store, root, ".zgroup", group));
    if (options.consolidated_metadata) {
      ZARRPOINT_TRY(consolidated, consolidate_v2(document, groups, options.attributes));
      ZARRPOINT_CHECK(put_document(store, root, ".zmetadata", consolidated));
    }
    return put_document(store, root, ".zattrs", root_attributes(document, options));
  }
  group_metadata metadata;
  metadata.attributes = root_attributes(document, options);
  if (options.consolidated_metadata) {
    ZARRPOINT_TRY(documents, consolidate(document, groups));
    metadata.consolidated = std::move(documents);
  }
  ZARRPOINT_TRY(node, to_v3(metadata));
  return put_document(store, root, "zarr.json", node);
}

/// Takes away what makes a hierarchy a checkpoint, before it is overwritten in place.
template <class = void>
result<void> erase_root_document(const any_store& store) {
  for (const std::string_view name : {"zarr.json", ".zattrs", ".zgroup"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_CHECK(store.erase(key));
  }
  return {};
}

/// The attributes that a caller gives must leave our member alone.
template <class = void>
result<void> check_attributes(const node& attributes) {
  if (attributes.is_null()) return {};
  if (attributes.if_object() == nullptr)
    return error{errc::invalid_argument, "save_options::attributes is no object"};
  if (attributes.find(commit_document::member_name) != nullptr)
    return error{errc::invalid_argument,
                 "save_options::attributes: the member \"zarrpoint\" is reserved"};
  return {};
}

}  // namespace zarrpoint::inline v0::detail
