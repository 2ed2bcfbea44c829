// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <cstddef>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// What a place in a tree is.
enum class value_kind : std::uint8_t { leaf, dict, list, tuple, named_tuple };

/// A tree as Python had it. Members stand in the order of the indices; of a dict, in that of their
/// names; of a named tuple, in that of its fields.
struct tree_value {
  value_kind kind = value_kind::leaf;
  /// Of a leaf `tree_leaf::value_type`, so that "None" is one; of a named tuple its class with its
  /// module, "optax.ScaleByAdamState".
  std::string type;
  std::string name;  ///< of a leaf: `tree_leaf::name`
  std::vector<std::pair<std::string, tree_value>> members;

  friend bool operator==(const tree_value&, const tree_value&) = default;
};

/// The tree with its containers. Orbax keeps tuples, named tuples and their classes with
/// `support_rich_types` only; otherwise tuples are lists, and named tuples and objects with
/// attributes are dicts, here as for Orbax itself. Errors: `corrupt`; `resource_limit` for more
/// than 64 levels.
result<tree_value> to_value(const tree& from);

/// A leaf as a value of Python: `bool`, `int` (integers), `float` (doubles) and `str` for arrays of
/// rank 0 in a tree that is opened as a store. Errors: `invalid_argument` for other arrays; those
/// of `array::open` and `array::read`.
result<node> read_scalar(const any_store& tree, std::string_view name);

namespace detail {

/// The most levels of a tree: `to_value` calls itself for each.
inline constexpr std::size_t most_levels = 64;

}  // namespace detail

}}}  // namespace zarrpoint::v0::orbax
