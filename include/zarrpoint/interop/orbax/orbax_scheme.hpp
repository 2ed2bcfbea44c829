// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_scheme.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace orbax {

/// Where in a directory of Orbax's the tree is.
struct found_tree {
  stored_place place;  ///< the directory with `_METADATA`
  std::string path;    ///< from the directory that was asked for; empty if it is that
};

/// The tree in a directory of Orbax's: its own, that of the one item which has one (`state`,
/// `default`), or that of the newest step beneath a manager's root. Errors: `not_found` for a
/// directory in which there is none; `invalid_argument` for several items, naming them;
/// `unsupported` for a save that was not finished.
result<found_tree> find_tree(const stored_place& directory);

/// The directory at `path` as such a tree. Errors: those of `find_tree` and `tree_store::open`.
result<stored_place> tree_place(const std::string& path, link_scope links = link_scope::none);

/// What a path is to read: a directory of Orbax's as the tree in it, one with an OCDBT database as
/// that, any other as it is. `links` is `file_store_options::follow_links`.
result<stored_place> directory_place(const std::string& path, link_scope links = link_scope::none);

}  // namespace orbax

/// `orbax://`: a directory of Orbax's. What is written there is `unsupported`.
struct orbax_scheme {
  static constexpr std::string_view name = "orbax";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// Paths: as those of `ocdbt_file_scheme`, and to read, a directory of Orbax's is the tree in it.
struct orbax_file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// The schemes of a `context` that opens what Orbax wrote: `open(path, {.stores =
/// orbax_stores::table()})`.
using orbax_stores = ocdbt_stores::with<orbax_scheme, orbax_file_scheme>;

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax/impl/orbax_scheme_impl.hpp>
#endif
