// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

// What a tree consists of, before anything is decided of how it is stored.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// The order of JAX: dicts by their keys, lists by their indices.
bool comes_before(const tree_key& a, const tree_key& b);

/// The same of paths.
struct path_is_before {
  bool operator()(const std::vector<tree_key>& a, const std::vector<tree_key>& b) const;
};

/// A leaf of a tree without its elements, or the part of it that one process has.
struct described_leaf {
  std::vector<tree_key> path;
  /// Of what is empty its type, such as "None"; of an array what it is to be, or nothing.
  std::string value_type;
  bool is_empty = false;
  std::optional<std::string> text;         ///< of a text
  bool is_number = false;                  ///< an array that is a number of C++
  tensor_spec spec{};                      ///< of an array, all of it
  box at{};                                ///< what of the array is here
  std::string random_key;                  ///< see `tree_item`
  std::optional<std::string> shard_key{};  ///< of a shard

  bool is_array() const noexcept { return !is_empty && !text; }
  std::string name() const { return tree_path(path).joined('/'); }
  friend bool operator==(const described_leaf&, const described_leaf&) = default;
};

/// How processes cut an array, each of which writes its own boxes.
struct leaf_cuts {
  /// What chunks must divide along each axis, 0 where nothing cuts it; empty if nothing cuts any.
  dims unit{};
  index_t largest = 0;  ///< the elements of the largest box
};

/// The leaves of a tree and their values.
struct described_tree {
  std::vector<described_leaf> leaves;
  std::vector<std::optional<leaf>> values;  ///< one for each; nothing for what is empty
};

/// Describes items; those with members are several leaves. No element of an array is read. Errors:
/// those of `save` for a single leaf.
result<described_tree> describe_items(std::span<const tree_item> items);

/// `invalid_argument`.
error bad_tree(std::string what);

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/impl/orbax_described_impl.hpp>
#endif
