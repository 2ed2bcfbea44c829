// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The text of a document at `where`.
ZARRPOINT_INLINE result<std::optional<node>> parse_stored_text(bytes_view text,
                                                               const std::string& where,
                                                               const limits& limit) {
  json_limits most = document_limits(limit);
  most.keep_twice = where.ends_with(".zattrs");
  ZARRPOINT_TRY(document, parse_json(text, most).at(where));
  return std::optional<node>(std::move(document));
}

ZARRPOINT_INLINE result<std::optional<node>> read_document(const any_store& store,
                                                           const store_key& of,
                                                           std::string_view name,
                                                           const limits& limit) {
  ZARRPOINT_TRY(key, of.child(name));
  ZARRPOINT_TRY(text, get(store, key, document_limits(limit).max_bytes));
  if (!text) return std::optional<node>();
  return parse_stored_text(*text, store.describe(key), limit);
}

ZARRPOINT_INLINE result<std::optional<node>> read_node_document(const any_store& store,
                                                                const store_key& of,
                                                                std::string_view name,
                                                                const limits& limit) {
  ZARRPOINT_TRY(key, of.child(name));
  ZARRPOINT_TRY(text, get(store, key, document_limits(limit).max_bytes));
  if (!text || text->empty()) return std::optional<node>();
  return parse_stored_text(*text, store.describe(key), limit);
}

ZARRPOINT_INLINE result<std::optional<stored_node>> read_stored_node(const any_store& store,
                                                                     const store_key& key,
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

ZARRPOINT_INLINE result<void> put_node_document(const any_store& store, const store_key& of,
                                                std::string_view name, const node& document) {
  ZARRPOINT_TRY(key, of.child(name));
  return store.put(key, as_bytes(dump_json(document, json_style::pretty)));
}

ZARRPOINT_INLINE result<void> put_v2_attributes(const any_store& store, const store_key& of,
                                                const node& attributes) {
  const node::object* members = attributes.if_object();
  if (members != nullptr && !members->empty())
    return put_node_document(store, of, ".zattrs", attributes);
  ZARRPOINT_TRY(key, of.child(".zattrs"));
  ZARRPOINT_CHECK(store.erase(key));
  return {};
}

ZARRPOINT_INLINE result<void> put_group(const any_store& store, const store_key& key,
                                        const group_metadata& group) {
  if (group.zarr_format == 3) {
    ZARRPOINT_TRY(document, to_v3(group));
    return put_node_document(store, key, "zarr.json", document);
  }
  ZARRPOINT_TRY(documents, to_v2(group));
  if (!documents.attributes.is_null())
    ZARRPOINT_CHECK(put_node_document(store, key, ".zattrs", documents.attributes));
  return put_node_document(store, key, ".zgroup", documents.document);
}

ZARRPOINT_INLINE result<group_metadata> parse_group(const stored_node& of) {
  if (of.kind != node_kind::group) return error{errc::corrupt, "is an array, not a group"};
  return of.zarr_format == 3 ? parse_group_v3(of.document)
                             : parse_group_v2(of.document, &of.attributes);
}

ZARRPOINT_INLINE result<array_metadata> parse_array(const stored_node& of) {
  if (of.kind != node_kind::array) return error{errc::corrupt, "is a group, not an array"};
  return of.zarr_format == 3 ? parse_array_v3(of.document)
                             : parse_array_v2(of.document, &of.attributes);
}

}}}  // namespace zarrpoint::v0::detail
