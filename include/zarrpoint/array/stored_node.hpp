// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/context.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>
#include <zarrpoint/zarr/json.hpp>
#include <zarrpoint/zarr/metadata_v2.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint::inline v0 {

/// A group or an array as its documents have it, not looked into: one that this build cannot read
/// does not keep the others from being found.
struct stored_node {
  std::string path;  ///< relative to where it was looked for; empty for the place itself
  node_kind kind = node_kind::group;
  int zarr_format = 3;
  node document{};    ///< `zarr.json`, `.zarray` or `.zgroup`
  node attributes{};  ///< the `.zattrs` of a v2 node; null when there is none

  friend bool operator==(const stored_node&, const stored_node&) = default;
};

/// The metadata documents of a node, of both formats.
inline constexpr std::array<std::string_view, 5> node_documents{"zarr.json", ".zarray", ".zgroup",
                                                                ".zattrs", ".zmetadata"};

namespace detail {

/// A JSON document; nothing when there is none, or an empty one: the lock file of a process
/// synchronizer is an empty `.zarray`.
template <class = void>
result<std::optional<node>> read_node_document(const any_store& store, const store_key& of,
                                               std::string_view name, const limits& limit) {
  ZARRPOINT_TRY(key, of.child(name));
  ZARRPOINT_TRY(text, get(store, key, limit.metadata_bytes));
  if (!text || text->empty()) return std::optional<node>();
  ZARRPOINT_TRY(
      document,
      parse_json(bytes_view(*text), {.max_bytes = limit.metadata_bytes}).at(store.describe(key)));
  return std::optional<node>(std::move(document));
}

/// The node at `key`, of v3 if there are documents of both formats; nothing when there is none.
template <class = void>
result<std::optional<stored_node>> read_stored_node(const any_store& store, const store_key& key,
                                                    const limits& limit) {
  ZARRPOINT_TRY(v3, read_node_document(store, key, "zarr.json", limit));
  if (v3) {
    ZARRPOINT_TRY(kind, parse_node_kind_v3(*v3).at(store.describe(key) + "/zarr.json"));
    return std::optional(stored_node{{}, kind, 3, *std::move(v3), {}});
  }
  for (const node_kind kind : {node_kind::array, node_kind::group}) {
    ZARRPOINT_TRY(v2, read_node_document(store, key,
                                         kind == node_kind::array ? ".zarray" : ".zgroup", limit));
    if (!v2) continue;
    ZARRPOINT_TRY(attributes, read_node_document(store, key, ".zattrs", limit));
    return std::optional(
        stored_node{{}, kind, 2, *std::move(v2), attributes ? *std::move(attributes) : node()});
  }
  return std::optional<stored_node>();
}

/// Writes one document of a node; a reader sees the old one or the new one.
template <class = void>
result<void> put_node_document(const any_store& store, const store_key& of, std::string_view name,
                               const node& document) {
  ZARRPOINT_TRY(key, of.child(name));
  return store.put(key, as_bytes(dump_json(document, json_style::pretty)));
}

/// Writes `.zattrs`, or takes it away when there are no attributes.
template <class = void>
result<void> put_v2_attributes(const any_store& store, const store_key& of,
                               const node& attributes) {
  const node::object* members = attributes.if_object();
  if (members != nullptr && !members->empty())
    return put_node_document(store, of, ".zattrs", attributes);
  ZARRPOINT_TRY(key, of.child(".zattrs"));
  ZARRPOINT_CHECK(store.erase(key));
  return {};
}

/// Writes the documents of a new group, that which makes it one last.
template <class = void>
result<void> put_group(const any_store& store, const store_key& key, const group_metadata& group) {
  if (group.zarr_format == 3) {
    ZARRPOINT_TRY(document, to_v3(group));
    return put_node_document(store, key, "zarr.json", document);
  }
  ZARRPOINT_TRY(documents, to_v2(group));
  if (!documents.attributes.is_null())
    ZARRPOINT_CHECK(put_node_document(store, key, ".zattrs", documents.attributes));
  return put_node_document(store, key, ".zgroup", documents.document);
}

}  // namespace detail

/// The group that a node's documents describe. Errors: `corrupt`, also when it is an array;
/// `unsupported` for what must be understood and is not.
inline result<group_metadata> parse_group(const stored_node& of) {
  if (of.kind != node_kind::group) return error{errc::corrupt, "is an array, not a group"};
  return of.zarr_format == 3 ? parse_group_v3(of.document)
                             : parse_group_v2(of.document, &of.attributes);
}

/// The array that a node's documents describe. Errors: as `parse_array_v3`.
inline result<array_metadata> parse_array(const stored_node& of) {
  if (of.kind != node_kind::array) return error{errc::corrupt, "is a group, not an array"};
  return of.zarr_format == 3 ? parse_array_v3(of.document)
                             : parse_array_v2(of.document, &of.attributes);
}

}  // namespace zarrpoint::inline v0
