// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// One step from the root of a tree to a leaf.
struct tree_key {
  std::string text;
  bool is_index = false;  ///< of a list or tuple; otherwise of a dict or an attribute

  friend bool operator==(const tree_key&, const tree_key&) = default;
};

/// One leaf of a tree, as `_METADATA` tells it.
struct tree_leaf {
  std::vector<tree_key> path;
  /// Its name in the hierarchy: the texts of `path`, joined by "/". Where that is not a key, or is
  /// another's or lies beneath another's, it is told as `detail::shown_names` says.
  std::string name;
  /// The same joined by ".": where Orbax keeps the array.
  std::string storage;
  /// "jax.Array", "np.ndarray", "scalar", "string"; "None", "Dict", "List", "Tuple" and
  /// "NamedTuple" for what is empty.
  std::string value_type;
  /// Nothing is stored for it: its value type tells all, or an older file, `checkpoint`, has it.
  bool is_skipped = false;

  /// Whether its value type tells its value.
  bool is_empty() const;
  /// The texts of `path`, joined by "/".
  std::string original_name() const;
};

/// The tree of an Orbax checkpoint (`_METADATA`).
struct tree {
  std::vector<tree_leaf> leaves;  ///< sorted by name; no name is another's, or its parent's
  /// An array has all of its chunks, so that a missing one was lost.
  bool has_all_chunks = false;
  bool is_ocdbt = false;  ///< its arrays were saved to an OCDBT database
  json custom_metadata;   ///< the user's, or null
  /// `value_metadata_tree`, which says what containers were: see `to_value`. Mostly empty.
  std::string rich_types;
};

/// Reads `_METADATA`. Errors: `corrupt`; `resource_limit`.
result<tree> read_tree(bytes_view text, const json_limits& limits = {});

namespace detail {

/// Sorts leaves, which most files have in order, since a leaf is large.
template <class T, class F>
void sort_by_name(std::vector<T>& leaves, F name) {
  v0::detail::sort_by(leaves, [&](const T& a, const T& b) { return name(a) < name(b); });
}

/// The texts of a path, each with a zero behind it: no two paths have the same.
std::string path_text(const std::vector<tree_key>& path);

/// Drops what partial saves put in the place of a subtree that is there; names and sorts the rest.
void arrange(std::vector<tree_leaf>& leaves);

}  // namespace detail

}}}  // namespace zarrpoint::v0::orbax
