// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <algorithm>
#include <utility>

// All objects beneath a key, whatever they are: copied byte by byte, erased, moved.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Calls `f(key)` for each object beneath `prefix`, that of a directory before those of the
/// directories in it, metadata documents first; each key is relative to `prefix`.
template <class F>
result<void> for_each_object(const any_store& store, const store_key& prefix, F&& f) {
  constexpr std::size_t max_depth = 256;  // of directories: more do not fit a key
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    if (static_cast<std::size_t>(std::count(at.begin(), at.end(), '/')) > max_depth)
      return error{errc::resource_limit, "directories are nested deeper than 256 levels"};
    ZARRPOINT_TRY(folder, prefix.child(at));
    ZARRPOINT_TRY(children, store.list(folder));
    const auto is_document = [](const list_entry& child) {
      return std::find(node_documents.begin(), node_documents.end(), child.name) !=
             node_documents.end();
    };
    std::partition(children.begin(), children.end(), is_document);
    for (const list_entry& child : children) {
      std::string path = at.empty() ? child.name : at + '/' + child.name;
      if (child.is_prefix) {
        open.push_back(path);
        // A store may have an object of the same name.
        ZARRPOINT_TRY(key, prefix.child(path));
        ZARRPOINT_TRY(object, store.open(key));
        if (object == nullptr) continue;
      }
      ZARRPOINT_CHECK(f(std::move(path)));
    }
  }
  return {};
}

/// Copies one object in pieces, as it is, and finishes it.
result<void> copy_object(const blob& from, blob_writer& to);

/// A key of a store.
struct tree_place {
  const any_store& store;
  store_key key;
};

/// Copies all objects beneath `from` to the same keys beneath `to`, where nothing may be, as they
/// are: chunks are not decoded. In one step where the store of `to` can publish; else the documents
/// at the top come last, so that nothing is taken for whole before it is. Errors: `not_found`,
/// `already_exists`, `unsupported` for stores that cannot list or write, `cancelled`, `io`.
result<void> copy_tree(const detail::tree_place& from, const detail::tree_place& to,
                       const context& how = default_context());

/// Erases all objects beneath `key`: in one step where the store can, else the documents at the top
/// first, so that what is half gone is not a node. False when there were none. Errors:
/// `unsupported`, `io`.
result<bool> erase_tree(const any_store& store, const store_key& key);

/// Moves all objects beneath `from` to `to`: in one step where the store can rename, else by a copy
/// and an `erase_tree`. Errors: those of both.
result<void> rename_tree(const any_store& store, const store_key& from, const store_key& to,
                         const context& how = default_context());

}}}  // namespace zarrpoint::v0::detail
