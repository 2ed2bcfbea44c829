// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_scheme.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <cstdint>
#include <optional>
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
/// `default`), or that of the newest step beneath a manager's root. With `item`, that item of the
/// step, or of the newest step that has it, which may be one of JSON. Errors: `not_found` for a
/// directory in which there is none; `invalid_argument` for several items, naming them;
/// `unsupported` for a save that was not finished.
result<found_tree> find_tree(const stored_place& directory, std::string_view item = {});

/// What a path names: a directory of Orbax's or what lies in it, with `:item` for one of several.
struct found_path {
  std::string directory;  ///< the part of the path that is one
  found_tree found;       ///< in it
  store_key rest;         ///< beneath the tree
};

/// The tree that `path` leads to: `run/checkpoints`, `run/checkpoints/1200/ema`, and
/// `run/checkpoints:ema` for an item of the newest step, each with the path of a node behind it.
/// Nothing where no directory on the way is Orbax's. Errors: those of `find_tree`.
result<std::optional<found_path>> find_at(const std::string& path,
                                          link_scope links = link_scope::none);

/// The tree that `path` leads to; of an item of JSON a group whose attributes are the item, or have
/// it as "value" if it is not an object. Errors: those of `find_tree` and `tree_store::open`.
result<stored_place> tree_place(const std::string& path, link_scope links = link_scope::none,
                                std::uint64_t memory = UINT64_MAX);

/// What a path is to read: a directory of Orbax's as the tree in it, one with an OCDBT database as
/// that, any other as it is. `links` is `file_store_options::follow_links`,
/// `memory` that of `tree_store::open` and `ocdbt_options::within`.
result<stored_place> directory_place(const std::string& path, link_scope links = link_scope::none,
                                     std::uint64_t memory = UINT64_MAX);

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
