// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/context.hpp>
#include <zarrpoint/array/node_walk.hpp>
#include <zarrpoint/array/stored_node.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>

#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// How a hierarchy goes from Zarr v2 to v3.
struct migrate_options {
  bool dry_run = false;    ///< finds out what could not be told in v3, and writes nothing
  bool remove_v2 = false;  ///< erases the documents of v2 when those of v3 are all there
};

/// The `zarr.json` that says what the documents of a v2 node say. The chunks of an array stay where
/// they are, with the key encoding `v2`; a fill value that is null becomes zero, as which every
/// reader reads it. Errors: `unsupported` for what v3 cannot say, naming it; `corrupt`.
template <class = void>
result<node> to_v3_document(const stored_node& of) {
  if (of.kind == node_kind::group) {
    ZARRPOINT_TRY(group, parse_group(of));
    group.zarr_format = 3;
    return to_v3(group);
  }
  ZARRPOINT_TRY(array, parse_array(of));
  array.zarr_format = 3;
  if (array.fill.is_null()) array.fill = fill_value::zero(array.type);
  ZARRPOINT_TRY(document, to_v3(array));
  // What v3 readers do not take is better found now.
  ZARRPOINT_CHECK(parse_array_v3(document));
  return std::move(document);
}

/// Writes a `zarr.json` for the node at `key` and each one beneath, which then are of both formats;
/// readers of either find theirs. Chunks are not touched. Nothing is written unless all of it can
/// be told in v3; the document of `key` itself comes last. Returns the paths, relative to `key`.
/// Errors: `not_found`, `already_exists` when a `zarr.json` is there, `unsupported` naming the
/// node and what v3 cannot say, `corrupt`, `io`.
template <class = void>
result<std::vector<std::string>> migrate_to_v3(const any_store& store, const store_key& key,
                                               const migrate_options& options = {},
                                               const context& how = {}) {
  ZARRPOINT_TRY(root, detail::read_stored_node(store, key, how.limit));
  if (!root) return error{errc::not_found, "migrate " + store.describe(key) + ": no node"};
  std::vector<stored_node> all{*root};
  if (root->kind == node_kind::group) {
    ZARRPOINT_TRY(beneath, walk_nodes(store, key, how.limit));
    for (stored_node& one : beneath) all.push_back(std::move(one));
  }
  std::vector<node> documents;
  documents.reserve(all.size());
  for (const stored_node& one : all) {
    const std::string where =
        "migrate " + store.describe(key) + (one.path.empty() ? "" : "/" + one.path);
    if (one.zarr_format == 3)
      return error{errc::already_exists, where + ": a zarr.json is there already"};
    ZARRPOINT_TRY(document, to_v3_document(one).at(where));
    documents.push_back(std::move(document));
  }
  std::vector<std::string> paths;
  paths.reserve(all.size());
  for (const stored_node& one : all) paths.push_back(one.path);
  if (options.dry_run) return paths;
  for (std::size_t i = all.size(); i-- > 0;) {
    ZARRPOINT_TRY(at, key.child(all[i].path));
    ZARRPOINT_CHECK(detail::put_node_document(store, at, "zarr.json", documents[i]));
  }
  if (!options.remove_v2) return paths;
  for (const stored_node& one : all) {
    for (const std::string_view name : {".zmetadata", ".zarray", ".zgroup", ".zattrs"}) {
      ZARRPOINT_TRY(at, key.child(one.path));
      ZARRPOINT_TRY(document, at.child(name));
      ZARRPOINT_CHECK(store.erase(document));
    }
  }
  return paths;
}

}  // namespace zarrpoint::inline v0
