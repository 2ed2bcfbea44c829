// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A group or an array as its documents have it, not looked into: one that this build cannot read
/// does not keep the others from being found.
struct stored_node {
  std::string path;  ///< relative to where it was looked for; empty for the place itself
  node_kind kind = node_kind::group;
  int zarr_format = 3;
  json document{};    ///< `zarr.json`, `.zarray` or `.zgroup`
  json attributes{};  ///< the `.zattrs` of a v2 node; null when there is none

  friend bool operator==(const stored_node&, const stored_node&) = default;
};

namespace detail {

/// The metadata documents of a node, of both formats.
inline constexpr std::array<std::string_view, 5> node_documents{"zarr.json", ".zarray", ".zgroup",
                                                                ".zattrs", ".zmetadata"};

/// A JSON document; nothing when there is none. `none_if_empty`: nor for an empty one, such as the
/// `.zarray` that is the lock file of a process synchronizer; else that is not JSON.
result<std::optional<json>> read_document(const any_store& store, const store_key& of,
                                          std::string_view name, const limits& limit,
                                          bool none_if_empty = false);

/// The node at `key`, of v3 if there are documents of both formats; nothing when there is none.
result<std::optional<stored_node>> read_stored_node(const any_store& store, const store_key& key,
                                                    const limits& limit);

/// Writes one document of a node; a reader sees the old one or the new one.
result<void> put_node_document(const any_store& store, const store_key& of, std::string_view name,
                               const json& document);

/// Writes `.zattrs`, or takes it away when there are no attributes.
result<void> put_v2_attributes(const any_store& store, const store_key& of, const json& attributes);

/// Writes the documents of a new group, that which makes it one last.
result<void> put_group(const any_store& store, const store_key& key, const group_metadata& group);

/// The group that a node's documents describe. Errors: `corrupt`, also when it is an array;
/// `unsupported` for what must be understood and is not.
result<group_metadata> parse_group(const stored_node& of);

/// The array that a node's documents describe. Errors: as `parse_array_v3`.
result<array_metadata> parse_array(const stored_node& of);

inline constexpr std::size_t max_nodes = 4'000'000;

/// The groups and arrays directly beneath the group at `key`, by name. What is neither is passed
/// over. Errors: `unsupported` for a store that cannot list; `corrupt`, `resource_limit`, `io`.
result<std::vector<stored_node>> list_nodes(const any_store& store, const store_key& key,
                                            const limits& limit = {});

/// All groups and arrays beneath the group at `key`, by depth and then by path. Errors: as
/// `list_nodes`, and `resource_limit` for more than 4 million, or nested deeper than 64.
result<std::vector<stored_node>> walk_nodes(const any_store& store, const store_key& key,
                                            const limits& limit = {});

/// What the consolidated metadata of the group at `key` say is beneath it, in the same order;
/// nothing when there are none. They are as old as when they were written. Errors: `corrupt`,
/// `unsupported`, `io`.
result<std::optional<std::vector<stored_node>>> consolidated_nodes(const any_store& store,
                                                                   const store_key& key,
                                                                   const stored_node& root,
                                                                   const limits& limit = {});

}  // namespace detail

}}  // namespace zarrpoint::v0
