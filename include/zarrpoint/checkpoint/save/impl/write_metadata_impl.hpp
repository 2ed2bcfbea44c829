// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/consolidated_v2.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> put_document(const any_store& store, const store_key& node_key,
                                           std::string_view file, const node& document) {
  ZARRPOINT_TRY(key, node_key.child(file));
  return store.put(key, as_bytes(dump_json(document, json_style::pretty)));
}

ZARRPOINT_INLINE result<node> array_document(const array_metadata& metadata) {
  if (metadata.zarr_format != 2) return to_v3(metadata);
  ZARRPOINT_TRY(documents, to_v2(metadata));
  return std::move(documents.document);
}

ZARRPOINT_INLINE result<void> put_array_document(const any_store& store, const store_key& key,
                                                 const leaf_record& leaf, int zarr_format) {
  return put_document(store, key, zarr_format == 2 ? ".zarray" : "zarr.json", leaf.metadata);
}

ZARRPOINT_INLINE result<node> group_document(int zarr_format) {
  if (zarr_format == 2) return node(node::object{{"zarr_format", 2}});
  return to_v3(group_metadata{});
}

ZARRPOINT_INLINE result<void> put_group_documents(const any_store& store,
                                                  const std::set<std::string>& groups,
                                                  int zarr_format) {
  ZARRPOINT_TRY(document, group_document(zarr_format));
  for (const std::string& group : groups) {
    ZARRPOINT_TRY(key, store_key::parse(group));
    ZARRPOINT_CHECK(put_document(store, key, zarr_format == 2 ? ".zgroup" : "zarr.json", document));
  }
  return {};
}

ZARRPOINT_INLINE result<consolidated_documents> consolidate(const commit_document& document,
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

ZARRPOINT_INLINE result<node> consolidate_v2(const commit_document& document,
                                             const std::set<std::string>& groups,
                                             const node& attributes) {
  ZARRPOINT_TRY(group, group_document(2));
  std::vector<v2_node> nodes{{"", node_kind::group, group, attributes}};
  for (const std::string& path : groups) nodes.push_back({path, node_kind::group, group, node()});
  for (const leaf_record& leaf : document.leaves)
    nodes.push_back({leaf.name, node_kind::array, leaf.metadata, node()});
  return to_zmetadata(nodes);
}

/// The caller's attributes with the commit document among them.
ZARRPOINT_INLINE node root_attributes(const commit_document& document,
                                      const save_options& options) {
  node attributes = options.attributes.is_null() ? node(node::object{}) : options.attributes;
  attributes.set(std::string(commit_document::member_name), to_node(document));
  return attributes;
}

ZARRPOINT_INLINE result<bool> put_root_document(const any_store& store, const root_document& of) {
  const store_key root = store_key::root();
  const bool is_v2 = of.options.zarr_format == 2;
  bool consolidated = of.options.consolidated_metadata;
  std::string text;
  if (is_v2) {
    ZARRPOINT_TRY(group, group_document(2));
    ZARRPOINT_CHECK(put_document(store, root, ".zgroup", group));
    if (consolidated) {
      ZARRPOINT_TRY(nodes, consolidate_v2(of.commit, of.groups, of.options.attributes));
      text = dump_json(nodes, json_style::compact);
      consolidated = text.size() <= of.max_bytes;
    }
    if (consolidated) {
      ZARRPOINT_TRY(key, root.child(".zmetadata"));
      ZARRPOINT_CHECK(store.put(key, as_bytes(text)));
    }
    text = dump_json(root_attributes(of.commit, of.options), json_style::compact);
  } else {
    group_metadata metadata;
    metadata.attributes = root_attributes(of.commit, of.options);
    if (consolidated) {
      ZARRPOINT_TRY(documents, consolidate(of.commit, of.groups));
      metadata.consolidated = std::move(documents);
    }
    ZARRPOINT_TRY(document, to_v3(metadata));
    text = dump_json(document, json_style::compact);
    if (consolidated && text.size() > of.max_bytes) {
      consolidated = false;
      metadata.consolidated.reset();
      ZARRPOINT_TRY(shorter, to_v3(metadata));
      text = dump_json(shorter, json_style::compact);
    }
  }
  if (text.size() > of.max_bytes)
    return error{errc::resource_limit,
                 "the commit document of " + std::to_string(of.commit.leaves.size()) +
                     " leaves takes " + std::to_string(text.size()) +
                     " bytes, more than limits::metadata_bytes of " + std::to_string(of.max_bytes)};
  ZARRPOINT_TRY(key, root.child(is_v2 ? ".zattrs" : "zarr.json"));
  ZARRPOINT_CHECK(store.put(key, as_bytes(text)));
  return consolidated == of.options.consolidated_metadata;
}

ZARRPOINT_INLINE result<bool> put_hierarchy(const any_store& store, const root_document& of,
                                            bool all_core) {
  ZARRPOINT_CHECK(put_group_documents(store, of.groups, of.options.zarr_format));
  save_options of_root = of.options;
  of_root.consolidated_metadata = of.options.consolidated_metadata && all_core;
  return put_root_document(store, {of.commit, of.groups, of_root, of.max_bytes});
}

ZARRPOINT_INLINE bool is_core_array(const array_metadata& metadata) {
  return metadata.type.record() == nullptr && metadata.type.is_core();
}

ZARRPOINT_INLINE result<void> erase_root_document(const any_store& store) {
  for (const std::string_view name : {"zarr.json", ".zattrs", ".zgroup", ".zmetadata"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_CHECK(store.erase(key));
  }
  return {};
}

ZARRPOINT_INLINE result<void> check_attributes(const node& attributes) {
  if (attributes.is_null()) return {};
  ZARRPOINT_CHECK(check_writable_attributes(attributes).at("save_options"));
  if (attributes.find(commit_document::member_name) != nullptr)
    return error{errc::invalid_argument,
                 "save_options: attributes: the member \"zarrpoint\" is reserved"};
  return {};
}

}}}  // namespace zarrpoint::v0::detail
