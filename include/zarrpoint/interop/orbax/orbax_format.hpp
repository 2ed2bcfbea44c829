// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/format.hpp>

#include <optional>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// Checkpoints of Orbax in directories, as a format of `formats<...>`. `run/checkpoints` is the
/// tree of the newest step; `run/checkpoints/1200/ema` and `run/checkpoints:ema` are those of an
/// item. Each may have the path of a node behind it. An item of JSON is a group whose attributes
/// are the item, or have it as "value" if it is not an object.
struct format {
  static constexpr std::string_view name = "orbax";
  static result<claim> sniff(const place_look& at);
  /// Errors: those of `find_tree` and `tree_store::open`.
  static result<stored_place> open(const place_look& at, const place_use& use);
};

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

/// The tree that `format` opens for a path. Nothing where no directory on the way is Orbax's.
/// Errors: those of `find_tree`.
result<std::optional<found_path>> find_at(const std::string& path,
                                          link_scope links = link_scope::none);

}}}  // namespace zarrpoint::v0::orbax
