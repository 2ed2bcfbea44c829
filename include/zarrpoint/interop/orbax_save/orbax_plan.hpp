// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/write_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_described.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a tree becomes, before an element is touched.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// One leaf of the tree.
struct planned_item {
  tree_leaf told;
  std::size_t source = 0;                     ///< which of the described leaves it is
  std::string text{};                         ///< of a "string"
  std::optional<std::size_t> array{};         ///< which of `tree_plan::arrays` it is
  const orbax::sharding* sharding = nullptr;  ///< of a "jax.Array", if it is known
  std::string random_key{};                   ///< see `tree_item`
};

/// All of it.
struct tree_plan {
  std::vector<planned_item> items;               ///< in the order in which JAX flattens a tree
  std::vector<v0::detail::planned_leaf> arrays;  ///< their values are still to be told
  std::vector<std::string> warnings;
  std::uint64_t bytes = 0;
};

/// Leaves to plan for.
struct leaves_to_plan {
  std::span<const described_leaf> leaves;
  std::span<const leaf_cuts> cuts{};  ///< of each; empty if one process writes all
};

/// Plans. Pure: no element is read. Errors: those of `save`.
result<tree_plan> plan_tree(const leaves_to_plan& of, const save_tree_options& options);

/// Whether Orbax restores a "scalar" of this type: as `bool`, `int` or `float`.
bool is_python_number(const dtype& type);

/// Errors: `invalid_argument` for a name that no item may have.
result<void> check_item_name(const std::string& item);

/// The file or directory that a save of Orbax's has beside its arrays under this name.
bool is_own_name(std::string_view name);

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/impl/orbax_plan_impl.hpp>
#endif
