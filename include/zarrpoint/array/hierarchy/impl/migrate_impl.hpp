// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/hierarchy/migrate.hpp>
#include <zarrpoint/array/hierarchy/node_walk.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>

#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<node> to_v3_document(const stored_node& of) {
  if (of.kind == node_kind::group) {
    ZARRPOINT_TRY(group, parse_group(of));
    group.zarr_format = 3;
    return to_v3(group);
  }
  ZARRPOINT_TRY(array, parse_array(of));
  array.zarr_format = 3;
  if (array.fill.is_null()) array.fill = fill_value::zero(array.type);
  detail::mend_levels(array.codecs);
  ZARRPOINT_TRY(document, to_v3(array));
  // What v3 readers do not take is better found now.
  ZARRPOINT_CHECK(parse_array_v3(document));
  return std::move(document);
}

}  // namespace detail

ZARRPOINT_INLINE result<std::vector<std::string>> migrate_to_v3(const any_store& store,
                                                                const store_key& key,
                                                                const migrate_options& options,
                                                                const context& how) {
  return guarded([&]() -> result<std::vector<std::string>> {
    ZARRPOINT_TRY(root, detail::read_stored_node(store, key, how.limit));
    if (!root)
      return detail::nothing_at(store, key,
                                " is not a node: it has no zarr.json, .zarray or .zgroup")
          .at("migrate " + store.describe(key));
    std::vector<stored_node> all{*root};
    if (root->kind == node_kind::group) {
      ZARRPOINT_TRY(beneath, detail::walk_nodes(store, key, how.limit));
      for (stored_node& one : beneath) all.push_back(std::move(one));
    }
    std::vector<node> documents;
    documents.reserve(all.size());
    for (const stored_node& one : all) {
      const std::string where =
          "migrate " + store.describe(key) + (one.path.empty() ? "" : "/" + one.path);
      if (one.zarr_format == 3)
        return error{errc::already_exists, where + ": a zarr.json is there already"};
      ZARRPOINT_TRY(document, detail::to_v3_document(one).at(where));
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
  });
}

}}  // namespace zarrpoint::v0
