// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/group.hpp>
#include <zarrpoint/array/hierarchy/node_walk.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/rename.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/consolidated_v2.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE group::group(location_of_group at, group_metadata metadata, nodes consolidated)
    : at_(std::move(at)), metadata_(std::move(metadata)), consolidated_(std::move(consolidated)) {}

ZARRPOINT_INLINE result<group> group::open(any_store store, store_key key, const context& how,
                                           metadata_use use) {
  bool has_several = false;  // documents, as in v2
  const auto look = [&]() -> result<group> {
    ZARRPOINT_TRY(found, detail::read_stored_node(store, key, how.limit));
    if (!found)
      return detail::nothing_at(store, key, " is not a group: it has no zarr.json or .zgroup");
    if (found->kind == node_kind::array)
      return error{errc::invalid_argument, store.describe(key) + " is an array, not a group"};
    const auto read = [&]() -> result<group> {
      ZARRPOINT_TRY(metadata, detail::parse_group(*found));
      nodes consolidated;
      if (use == metadata_use::consolidated) {
        ZARRPOINT_TRY(listed, detail::consolidated_nodes(store, key, *found, how.limit));
        if (listed) consolidated = detail::make_counted<const node_list>(*std::move(listed));
      }
      metadata.consolidated.reset();
      return group({store, key, how}, std::move(metadata), std::move(consolidated));
    };
    has_several = found->zarr_format == 2;
    return read().at("group " + store.describe(key));
  };
  return guarded([&]() -> result<group> {
    result<group> opened = look();
    if (opened) return opened;
    const errc code = opened.failure().code;
    // A save that replaces what lies above may have been between two reads.
    if (code == errc::not_found || (code == errc::corrupt && has_several)) return look();
    return opened;
  });
}

ZARRPOINT_INLINE result<group> group::create(any_store store, store_key key,
                                             const group_options& options, const context& how) {
  return guarded([&]() -> result<group> {
    if (options.zarr_format != 2 && options.zarr_format != 3)
      return error{errc::invalid_argument, "group: zarr_format must be 2 or 3"};
    ZARRPOINT_TRY(found, detail::read_stored_node(store, key, how.limit));
    if (found)
      return error{errc::already_exists,
                   "create group " + store.describe(key) + ": an array or group is there already"};
    group_metadata metadata{options.zarr_format, options.attributes, {}};
    ZARRPOINT_CHECK(
        detail::put_group(store, key, metadata).at("create group " + store.describe(key)));
    return group({std::move(store), std::move(key), how}, std::move(metadata), nullptr);
  });
}

ZARRPOINT_INLINE result<void> group::set_attributes(node attributes) {
  return guarded([&]() -> result<void> {
    ZARRPOINT_CHECK(write_attributes(store_key::root(), attributes));
    metadata_.attributes = std::move(attributes);
    return {};
  });
}

ZARRPOINT_INLINE result<void> group::set_attributes(std::string_view path,
                                                    const node& attributes) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(relative, store_key::parse(path));
    return write_attributes(relative, attributes);
  });
}

ZARRPOINT_INLINE result<std::vector<stored_node>> group::members() const {
  return guarded([&]() -> result<std::vector<stored_node>> {
    if (!consolidated_) return detail::list_nodes(at_.store, at_.key, at_.how.limit);
    node_list out;
    for (const stored_node& one : *consolidated_)
      if (one.path.find('/') == one.path.npos) out.push_back(one);
    return out;
  });
}

ZARRPOINT_INLINE result<std::vector<stored_node>> group::walk() const {
  return guarded([&]() -> result<std::vector<stored_node>> {
    if (!consolidated_) return detail::walk_nodes(at_.store, at_.key, at_.how.limit);
    return *consolidated_;
  });
}

ZARRPOINT_INLINE result<std::optional<stored_node>> group::find(std::string_view path) const {
  return guarded([&]() -> result<std::optional<stored_node>> {
    if (!consolidated_) {
      ZARRPOINT_TRY(full, at_.key.child(path));
      ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
      if (found) found->path = path;
      return std::move(found);
    }
    for (const stored_node& one : *consolidated_)
      if (one.path == path) return std::optional(one);
    return std::optional<stored_node>();
  });
}

ZARRPOINT_INLINE result<group> group::open_group(std::string_view path) const {
  return guarded([&]() -> result<group> {
    ZARRPOINT_TRY(full, at_.key.child(path));
    if (!consolidated_) return open(at_.store, std::move(full), at_.how);
    ZARRPOINT_TRY(found, require(path, node_kind::group));
    ZARRPOINT_TRY(metadata, detail::parse_group(found).at("group " + at_.store.describe(full)));
    metadata.consolidated.reset();
    auto beneath = detail::make_counted<node_list>();
    const std::string prefix = std::string(path) + '/';
    for (const stored_node& one : *consolidated_) {
      if (!one.path.starts_with(prefix)) continue;
      beneath->push_back(one);
      beneath->back().path.erase(0, prefix.size());
    }
    return group({at_.store, std::move(full), at_.how}, std::move(metadata), std::move(beneath));
  });
}

ZARRPOINT_INLINE result<array> group::open_array(std::string_view path) const {
  return guarded([&]() -> result<array> {
    ZARRPOINT_TRY(full, at_.key.child(path));
    ZARRPOINT_TRY(found, require(path, node_kind::array));
    ZARRPOINT_TRY(metadata, detail::parse_array(found).at("array " + at_.store.describe(full)));
    return array::from_metadata(at_.store, std::move(full), std::move(metadata), at_.how);
  });
}

ZARRPOINT_INLINE result<group> group::create_group(std::string_view path, node attributes) const {
  return guarded([&]() -> result<group> {
    ZARRPOINT_CHECK(make_parents(path));
    ZARRPOINT_TRY(full, at_.key.child(path));
    return create(at_.store, std::move(full), {zarr_format(), std::move(attributes)}, at_.how);
  });
}

ZARRPOINT_INLINE result<array> group::create_array(std::string_view path,
                                                   array_metadata metadata) const {
  return guarded([&]() -> result<array> {
    if (metadata.zarr_format != zarr_format())
      return error{errc::invalid_argument,
                   "create array " + detail::in_quotes(path) + ": an array of Zarr v" +
                       std::to_string(metadata.zarr_format) + " cannot be made in a group of v" +
                       std::to_string(zarr_format())};
    ZARRPOINT_CHECK(make_parents(path));
    ZARRPOINT_TRY(full, at_.key.child(path));
    ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
    if (found)
      return error{errc::already_exists, "create array " + at_.store.describe(full) +
                                             ": an array or group is there already"};
    return array::create(at_.store, std::move(full), std::move(metadata), at_.how);
  });
}

ZARRPOINT_INLINE result<bool> group::erase(std::string_view path) const {
  return guarded([&]() -> result<bool> {
    ZARRPOINT_TRY(full, member_key(path));
    return detail::erase_tree(at_.store, full);
  });
}

ZARRPOINT_INLINE result<void> group::rename(std::string_view from, std::string_view to) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(old_key, member_key(from));
    ZARRPOINT_TRY(new_key, member_key(to));
    ZARRPOINT_CHECK(detail::check_rename(at_.store, old_key, new_key));
    ZARRPOINT_CHECK(stored_at(from));
    ZARRPOINT_CHECK(check_free(to));
    ZARRPOINT_CHECK(make_parents(to));
    return detail::rename_tree(at_.store, old_key, new_key, at_.how);
  });
}

ZARRPOINT_INLINE result<void> group::copy(std::string_view path, const group& target,
                                          std::string_view to) const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(from_key, member_key(path));
    ZARRPOINT_TRY(to_key, target.member_key(to));
    ZARRPOINT_TRY(found, stored_at(path));
    if (found.zarr_format != target.zarr_format())
      return error{errc::invalid_argument,
                   "copy " + at_.store.describe(from_key) + ": a node of Zarr v" +
                       std::to_string(found.zarr_format) + " cannot be copied to a group of v" +
                       std::to_string(target.zarr_format())};
    if (at_.store.is_above(from_key, target.at_.store, to_key))
      return error{errc::invalid_argument, "copy " + at_.store.describe(from_key) +
                                               ": a group cannot be copied into itself"};
    ZARRPOINT_CHECK(target.check_free(to));
    ZARRPOINT_CHECK(target.make_parents(to));
    return detail::copy_tree({at_.store, from_key}, {target.at_.store, to_key}, at_.how);
  });
}

ZARRPOINT_INLINE result<void> group::consolidate() const {
  return guarded([&]() -> result<void> {
    ZARRPOINT_TRY(beneath, detail::walk_nodes(at_.store, at_.key, at_.how.limit));
    ZARRPOINT_TRY(root, own_node());
    return zarr_format() == 3 ? consolidate_v3(std::move(root), beneath)
                              : consolidate_v2(root, beneath);
  });
}

ZARRPOINT_INLINE result<stored_node> group::own_node() const {
  ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, at_.key, at_.how.limit));
  if (!found || found->kind != node_kind::group || found->zarr_format != zarr_format())
    return error{errc::not_found,
                 "the group at " + at_.store.describe(at_.key) + " was removed or replaced"};
  return *std::move(found);
}

ZARRPOINT_INLINE result<stored_node> group::require(std::string_view path, node_kind kind) const {
  ZARRPOINT_TRY(found, find(path));
  ZARRPOINT_TRY(full, at_.key.child(path));
  const std::string_view wanted = kind == node_kind::array ? " is not an array" : " is not a group";
  if (!found && consolidated_)
    return error{errc::not_found,
                 at_.store.describe(full) + " is not in the consolidated metadata"};
  if (!found)
    return detail::nothing_at(at_.store, full,
                              std::string(wanted) + ": it has no zarr.json, .zarray or .zgroup");
  if (found->kind != kind)
    return error{errc::invalid_argument, at_.store.describe(full) + std::string(wanted)};
  return *std::move(found);
}

ZARRPOINT_INLINE result<stored_node> group::stored_at(std::string_view path) const {
  ZARRPOINT_TRY(full, at_.key.child(path));
  ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
  if (!found)
    return detail::nothing_at(at_.store, full,
                              " is not a node: it has no zarr.json, .zarray or .zgroup");
  return *std::move(found);
}

ZARRPOINT_INLINE result<store_key> group::member_key(std::string_view path) const {
  if (path.empty())
    return error{errc::invalid_argument, "group " + at_.store.describe(at_.key) +
                                             ": give the path of a member; it is empty"};
  return at_.key.child(path);
}

ZARRPOINT_INLINE result<void> group::check_free(std::string_view path) const {
  ZARRPOINT_CHECK(detail::check_node_path(path));
  ZARRPOINT_TRY(full, at_.key.child(path));
  ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, full, at_.how.limit));
  if (!found) return {};
  return error{errc::already_exists,
               at_.store.describe(full) + ": an array or group is there already"};
}

ZARRPOINT_INLINE result<void> group::make_parents(std::string_view path) const {
  ZARRPOINT_CHECK(detail::check_node_path(path));
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    ZARRPOINT_TRY(above, at_.key.child(path.substr(0, slash)));
    ZARRPOINT_TRY(found, detail::read_stored_node(at_.store, above, at_.how.limit));
    if (!found) {
      ZARRPOINT_CHECK(detail::put_group(at_.store, above, {zarr_format(), {}, {}}));
    } else if (found->kind == node_kind::array || found->zarr_format != zarr_format()) {
      return error{errc::invalid_argument, at_.store.describe(above) + " is not a group of Zarr v" +
                                               std::to_string(zarr_format())};
    }
  }
  return {};
}

ZARRPOINT_INLINE result<void> group::write_attributes(const store_key& relative,
                                                      const node& attributes) const {
  ZARRPOINT_CHECK(detail::check_writable_attributes(attributes));
  ZARRPOINT_TRY(full, at_.key.child(relative));
  ZARRPOINT_TRY(found, stored_at(relative.str()));
  if (found.zarr_format == 2) return detail::put_v2_attributes(at_.store, full, attributes);
  found.document.set("attributes", attributes.is_null() ? node(node::object{}) : attributes);
  return detail::put_node_document(at_.store, full, "zarr.json", found.document);
}

ZARRPOINT_INLINE result<void> group::consolidate_v3(stored_node root,
                                                    const node_list& beneath) const {
  node::object documents;
  documents.reserve(beneath.size());
  for (const stored_node& one : beneath) {
    if (one.zarr_format != 3) continue;  // of another hierarchy, to which v3 is blind
    documents.push_back({one.path, one.document});
    // A group below says that nothing is known about it except what is here.
    if (one.kind == node_kind::group)
      documents.back().value.set("consolidated_metadata", inline_documents({}));
  }
  root.document.set("consolidated_metadata", inline_documents(std::move(documents)));
  return detail::put_node_document(at_.store, at_.key, "zarr.json", root.document);
}

ZARRPOINT_INLINE node group::inline_documents(node::object documents) {
  return node(node::object{
      {"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(documents)}});
}

ZARRPOINT_INLINE result<void> group::consolidate_v2(const stored_node& root,
                                                    const node_list& beneath) const {
  std::vector<detail::v2_node> all{{"", node_kind::group, root.document, root.attributes}};
  for (const stored_node& one : beneath)
    if (one.zarr_format == 2) all.push_back({one.path, one.kind, one.document, one.attributes});
  ZARRPOINT_TRY(document, detail::to_zmetadata(all));
  return detail::put_node_document(at_.store, at_.key, ".zmetadata", document);
}

}}  // namespace zarrpoint::v0
