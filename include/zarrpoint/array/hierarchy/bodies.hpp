// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/migrate.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <cstdint>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- stored_node.hpp

/// Deep and wide enough for any hierarchy; one with a cycle of links would not end otherwise.
inline constexpr std::size_t max_node_depth = 64;

/// The order in which zarr-python consolidates: by depth, then by name.
ZARRPOINT_INLINE bool node_order(const stored_node& a, const stored_node& b) {
  const auto depth = [](const std::string& path) {
    return path.empty() ? std::ptrdiff_t{-1} : std::count(path.begin(), path.end(), '/');
  };
  const auto depth_a = depth(a.path);
  const auto depth_b = depth(b.path);
  return depth_a != depth_b ? depth_a < depth_b : a.path < b.path;
}

/// Whether a directory may be a node: names with "__" are reserved, others cannot be named.
ZARRPOINT_INLINE bool may_be_node(std::string_view name) {
  return check_safe_name(name).has_value() && !name.starts_with("__");
}

ZARRPOINT_INLINE result<std::vector<stored_node>> list_nodes(const any_store& store,
                                                             const store_key& key,
                                                             const limits& limit) {
  ZARRPOINT_TRY(children, store.list(key));
  std::vector<stored_node> out;
  for (const list_entry& child : children) {
    if (!child.is_prefix || !detail::may_be_node(child.name)) continue;
    ZARRPOINT_TRY(child_key, key.child(child.name));
    ZARRPOINT_TRY(found, detail::read_stored_node(store, child_key, limit));
    if (!found) continue;
    found->path = child.name;
    out.push_back(*std::move(found));
  }
  return out;
}

ZARRPOINT_INLINE result<std::vector<stored_node>> walk_nodes(const any_store& store,
                                                             const store_key& key,
                                                             const limits& limit) {
  std::vector<stored_node> out;
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    ZARRPOINT_TRY(group, key.child(at));
    ZARRPOINT_TRY(children, list_nodes(store, group, limit));
    for (stored_node& child : children) {
      if (!at.empty()) child.path = at + '/' + child.path;
      const auto depth =
          static_cast<std::size_t>(std::count(child.path.begin(), child.path.end(), '/'));
      if (depth > detail::max_node_depth || out.size() >= detail::max_nodes)
        return error{errc::resource_limit, "the hierarchy has more than " +
                                               std::to_string(detail::max_nodes) +
                                               " nodes, or is nested deeper than " +
                                               std::to_string(detail::max_node_depth) + ", at " +
                                               detail::in_quotes(child.path)};
      if (child.kind == node_kind::group) open.push_back(child.path);
      out.push_back(std::move(child));
    }
  }
  std::sort(out.begin(), out.end(), detail::node_order);
  return out;
}

ZARRPOINT_INLINE result<std::optional<std::vector<stored_node>>> consolidated_nodes(
    const any_store& store, const store_key& key, const stored_node& root, const limits& limit) {
  std::vector<stored_node> out;
  if (root.zarr_format == 3) {
    ZARRPOINT_TRY(group, parse_group_v3(root.document));
    if (!group.consolidated) return std::optional<std::vector<stored_node>>();
    for (auto& [path, document] : *group.consolidated) {
      ZARRPOINT_TRY(kind, parse_node_kind_v3(document).at(detail::in_quotes(path)));
      out.push_back({path, kind, 3, std::move(document), {}});
    }
  } else {
    ZARRPOINT_TRY(document, detail::read_document(store, key, ".zmetadata", limit, true));
    if (!document) return std::optional<std::vector<stored_node>>();
    ZARRPOINT_TRY(nodes, parse_zmetadata(*document).at(store.describe(key) + "/.zmetadata"));
    for (v2_node& one : nodes) {
      if (!one.path.empty())
        out.push_back(
            {std::move(one.path), one.kind, 2, std::move(one.document), std::move(one.attributes)});
    }
  }
  std::sort(out.begin(), out.end(), detail::node_order);
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE result<std::optional<json>> read_document(const any_store& store,
                                                           const store_key& of,
                                                           std::string_view name,
                                                           const limits& limit,
                                                           bool none_if_empty) {
  ZARRPOINT_TRY(key, of.child(name));
  json_limits most = document_limits(limit);
  ZARRPOINT_TRY(text, get(store, key, most.max_bytes));
  if (!text || (none_if_empty && text->empty())) return std::optional<json>();
  most.keep_twice = name == ".zattrs";
  ZARRPOINT_TRY(document, parse_json(*text, most).at(store.describe(key)));
  return std::optional<json>(std::move(document));
}

ZARRPOINT_INLINE result<std::optional<stored_node>> read_stored_node(const any_store& store,
                                                                     const store_key& key,
                                                                     const limits& limit) {
  ZARRPOINT_TRY(v3, read_document(store, key, "zarr.json", limit, true));
  if (v3) {
    ZARRPOINT_TRY(kind, parse_node_kind_v3(*v3).at(store.describe(key) + "/zarr.json"));
    return std::optional(stored_node{{}, kind, 3, *std::move(v3), {}});
  }
  for (const node_kind kind : {node_kind::array, node_kind::group}) {
    ZARRPOINT_TRY(v2, read_document(store, key, kind == node_kind::array ? ".zarray" : ".zgroup",
                                    limit, true));
    if (!v2) continue;
    ZARRPOINT_TRY(attributes, read_document(store, key, ".zattrs", limit, true));
    return std::optional(
        stored_node{{}, kind, 2, *std::move(v2), attributes ? *std::move(attributes) : json()});
  }
  return std::optional<stored_node>();
}

ZARRPOINT_INLINE result<void> put_node_document(const any_store& store, const store_key& of,
                                                std::string_view name, const json& document) {
  ZARRPOINT_TRY(key, of.child(name));
  return store.put(key, as_bytes(dump_json(document, json_style::pretty)));
}

ZARRPOINT_INLINE result<void> put_v2_attributes(const any_store& store, const store_key& of,
                                                const json& attributes) {
  const json::object* members = attributes.if_object();
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

}  // namespace detail

// ------------------------------------------------------------------------------------- migrate.hpp

namespace detail {

ZARRPOINT_INLINE result<json> to_v3_document(const stored_node& of) {
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
    std::vector<json> documents;
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

namespace detail {

// ---------------------------------------------------------------------------------- store_tree.hpp

ZARRPOINT_INLINE result<void> copy_object(const blob& from, blob_writer& to) {
  ZARRPOINT_CHECK(to.reserve(from.size()));
  std::vector<std::byte> piece(
      static_cast<std::size_t>(std::min<std::uint64_t>(from.size(), std::uint64_t{4} << 20)));
  for (std::uint64_t at = 0; at < from.size(); at += piece.size()) {
    const mutable_bytes part = mutable_bytes(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(from.size() - at, piece.size())));
    ZARRPOINT_CHECK(from.read(at, part));
    ZARRPOINT_CHECK(to.write(at, part));
  }
  return to.finish();
}

/// Copies `paths` beneath `from` to the same beneath `to`.
ZARRPOINT_INLINE result<void> copy_objects(const tree_place& from, const tree_place& to,
                                           const std::vector<std::string>& paths,
                                           const context& how) {
  return parallel_for(how.executor, paths.size(),
                      [&](std::size_t i) -> result<void> {
                        ZARRPOINT_TRY(source_key, from.key.child(paths[i]));
                        ZARRPOINT_TRY(target_key, to.key.child(paths[i]));
                        ZARRPOINT_TRY(source, from.store.open(source_key));
                        if (source == nullptr) return {};  // erased meanwhile
                        ZARRPOINT_TRY(target, to.store.create(target_key));
                        return copy_object(*source, *target).at("copy " + source->name());
                      },
                      {.stop = how.stop});
}

ZARRPOINT_INLINE result<void> copy_tree(const detail::tree_place& from,
                                        const detail::tree_place& to, const context& how) {
  std::vector<std::string> first, last;
  ZARRPOINT_CHECK(
      detail::for_each_object(from.store, from.key, [&](std::string path) -> result<void> {
        (path.find('/') == path.npos ? last : first).push_back(std::move(path));
        return {};
      }));
  if (first.empty() && last.empty())
    return error{errc::not_found, "copy " + from.store.describe(from.key) + ": nothing is there"};
  if (to.store.can_publish() && !to.key.is_root()) {
    ZARRPOINT_TRY(staged, to.store.stage(to.key, {}));
    const any_store tree = staged->store();
    ZARRPOINT_CHECK(detail::copy_objects(from, {tree, store_key::root()}, first, how));
    ZARRPOINT_CHECK(detail::copy_objects(from, {tree, store_key::root()}, last, how));
    return staged->commit();
  }
  if (to.store.can_list()) {
    ZARRPOINT_TRY(there, to.store.list(to.key));
    if (!there.empty())
      return error{errc::already_exists,
                   "copy to " + to.store.describe(to.key) + ": something is there already"};
  }
  ZARRPOINT_CHECK(detail::copy_objects(from, to, first, how));
  return detail::copy_objects(from, to, last, how);
}

ZARRPOINT_INLINE result<bool> erase_tree(const any_store& store, const store_key& key) {
  auto erased = store.erase_all(key);
  if (erased || erased.failure().code != errc::unsupported) return erased;
  std::vector<std::string> paths;
  ZARRPOINT_CHECK(detail::for_each_object(store, key, [&](std::string path) -> result<void> {
    paths.push_back(std::move(path));
    return {};
  }));
  for (const std::string& path : paths) {
    ZARRPOINT_TRY(full, key.child(path));
    ZARRPOINT_CHECK(store.erase(full));
  }
  return !paths.empty();
}

ZARRPOINT_INLINE result<void> rename_tree(const any_store& store, const store_key& from,
                                          const store_key& to, const context& how) {
  auto renamed = store.rename(from, to);
  if (renamed || renamed.failure().code != errc::unsupported) return renamed;
  ZARRPOINT_CHECK(detail::check_rename(store, from, to));
  ZARRPOINT_CHECK(copy_tree({store, from}, {store, to}, how));
  ZARRPOINT_CHECK(erase_tree(store, from));
  return {};
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/base/bodies.hpp>
#include <zarrpoint/zarr/v2/bodies.hpp>
#endif
