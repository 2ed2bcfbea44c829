// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/write_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_item.hpp>
#include <zarrpoint/interop/orbax/orbax_save_options.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
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
  std::string text{};                         ///< of a "string"
  std::optional<std::size_t> array{};         ///< which of `tree_plan::arrays` it is
  const orbax::sharding* sharding = nullptr;  ///< of a "jax.Array", if it is known
  std::string random_key{};                   ///< see `tree_item`
};

/// All of it.
struct tree_plan {
  std::vector<planned_item> items;  ///< in the order in which JAX flattens a tree
  std::deque<leaf> values;          ///< what `arrays` point to
  std::vector<v0::detail::planned_leaf> arrays;
  std::vector<std::string> warnings;
  std::uint64_t bytes = 0;
};

/// Describes and plans. Pure: no element is read. Errors: those of `save`.
result<tree_plan> plan_tree(std::span<const tree_item> items, const save_tree_options& options);

/// How Zarr keeps an array of `spec`. `local`, if not null, is what one device had of it.
result<array_metadata> plan_array(std::string_view name, const tensor_spec& spec, const dims* local,
                                  const save_tree_options& options,
                                  std::vector<std::string>& warnings);

/// Whether Orbax restores a "scalar" of this type: as `bool`, `int` or `float`.
bool is_python_number(const dtype& type);

/// The file or directory that a save of Orbax's has beside its arrays under this name.
bool is_own_name(std::string_view name);

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax/impl/orbax_plan_impl.hpp>
#endif
