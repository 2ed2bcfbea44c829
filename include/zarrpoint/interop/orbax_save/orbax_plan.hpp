// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// What a tree becomes, before an element is touched.

/// How it is saved: what all formats have, and what is Orbax's own.
struct tree_options {
  save_options how;  ///< its `format` counts for nothing
  format as;
};

/// One leaf of the tree.
struct planned_item {
  tree_leaf told;
  std::size_t source = 0;              ///< which of the described leaves it is
  std::string text{};                  ///< of a "string"
  std::optional<std::size_t> array{};  ///< which of `tree_plan::arrays` it is
  std::string random_key{};            ///< see `tree_item`
};

/// All of it.
struct tree_plan {
  std::vector<planned_item> items;               ///< in the order in which JAX flattens a tree
  std::vector<v0::detail::planned_leaf> arrays;  ///< their values are still to be told
  std::string shardings;                         ///< `_sharding`; empty where no array has one
  std::vector<std::string> warnings;
  std::uint64_t bytes = 0;
};

/// Leaves to plan for.
struct leaves_to_plan {
  std::span<const described_leaf> leaves;
  std::span<const leaf_cuts> cuts{};  ///< of each; empty if one process writes all
};

/// Plans. Pure: no element is read. Errors: those of `save`.
result<void> check_metadata(const format& as);
result<tree_plan> plan_tree(const leaves_to_plan& of, const tree_options& options);

/// Whether Orbax restores a "scalar" of this type: as `bool`, `int` or `float`.
bool is_python_number(const dtype& type);

/// Errors: `invalid_argument` for a name that no item may have.
result<void> check_item_name(const std::string& item);

/// The file or directory that a save of Orbax's has beside its arrays under this name.
bool is_own_name(std::string_view name);

// The chunks of arrays, by what devices and processes have of them and what rules say. `unit` is
// that of `leaf_cuts`.

/// The chunk of an array of Zarr v2, by the rules that `plan_layout` has for v3 only.
result<dims> chunk_of_v2(std::string_view name, const tensor_spec& spec, const dims* local,
                         const std::vector<leaf_rule>& rules);

/// What a chunk is at most: what a device had, if that is known, and of that what no process shares
/// with another.
std::optional<dims> largest_chunk(const std::optional<dims>& of_device, const dims& unit,
                                  const dims& shape);

/// A part of `spec`, of at most 64 MiB unless all parts are small, which is one object of Zarr v2.
/// Along an axis that `unit` cuts it is an equal part.
dims part_of_v2(const tensor_spec& spec, const dims& unit);

/// Whether no chunk has elements of two boxes, which two processes may write.
result<void> check_units(const dims& chunk, const dims& unit);

/// Whether the largest box, of so many elements, is very many small objects.
bool are_many_small(const array_metadata& of, index_t largest);

}}}}  // namespace zarrpoint::v0::orbax::detail

// A tree with the kinds of its containers: `value_metadata_tree`.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// Whether it may be a field of a named tuple: a name of Python in ASCII, no keyword, and not one
/// that begins with '_'.
bool is_field_name(const std::string& text);

/// Checks a container by itself. Errors: `invalid_argument`, naming it.
result<void> check_container(const tree_container& of);

/// Checks containers by themselves, and against the leaves of a plan, which are in order. Errors:
/// `invalid_argument`, naming the container.
result<void> check_containers(const tree_plan& plan, const std::vector<tree_container>& all);

/// What Orbax tells of a value: its type, and how it is stored.
json value_entry(const planned_item& item, const tree_plan& plan);

/// The text of a plan with these containers, which were checked.
std::string rich_text(const tree_plan& plan, const std::vector<tree_container>& all);

}}}}  // namespace zarrpoint::v0::orbax::detail
