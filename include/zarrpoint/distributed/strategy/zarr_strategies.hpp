// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/strategy/strategy.hpp>

// Our own format: a checkpoint as `save` writes it, but with as many objects in an array as there
// are cells, each written by one process.

namespace zarrpoint { inline namespace v0 {

namespace detail {

struct cell_job;

/// The leaf that holds what all processes have in common.
inline constexpr std::string_view common_leaf = "common_state";
/// The stored kind of a grid of objects.
inline constexpr std::string_view object_kind = "object";
/// The member of the root's attributes that names the strategies that read a checkpoint.
inline constexpr std::string_view strategies_member = "zarrpoint_strategies";

}  // namespace detail

/// Writes shards in our own format: Zarr v3, each cell one shard (or, in an irregular grid, one
/// chunk of a rectilinear grid). `save_options::rules` apply; a `shard_shape` other than that of
/// the cells is `invalid_argument`. `attributes_of` names tensors, objects and groups.
struct zarr_saver {
  static constexpr std::string_view name = "zarr_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::save_sharded;

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const;

  result<message> write(const save_job& job, const shard_writes& mine) const;

  result<void> finish(const save_job& job, const save_receipts& all) const;

 private:
  static result<void> write_cell(const save_job& job, const detail::cell_job& cell);

  static result<void> write_object(const save_job& job, const context& how,
                                   const sharded_object& object, chunk_digests& digests);
};
static_assert(sharded_saver<zarr_saver>);

/// Writes what all processes have in common as JSON: a leaf of its own, `common_state`.
struct json_common_saver {
  static constexpr std::string_view name = "json_common_saver";
  static constexpr std::string_view backend = "json";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_common;

  result<std::vector<leaf_record>> save_common(const save_job& job, const json& common) const;
};
static_assert(common_saver<json_common_saver>);

/// Reads shards of our own format, and of any Zarr hierarchy.
struct zarr_loader {
  static constexpr std::string_view name = "zarr_loader";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::load_sharded;

  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const;
};
static_assert(sharded_loader<zarr_loader>);

/// Reads nothing of what all processes have in common. It is a `group_load_options::common` for
/// callers that want tensors and objects only, or whose common part is damaged or of a backend that
/// the program has not.
struct no_common_loader {
  static constexpr std::string_view name = "no_common_loader";
  static constexpr std::string_view backend = "none";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_common;

  result<void> check_backend(std::string_view) const { return {}; }
  result<void> check_version(int) const { return {}; }

  result<json> load_common(const load_job&) const { return json(); }
};
static_assert(common_loader<no_common_loader>);

/// Reads what `json_common_saver` wrote; null where there is no such leaf.
struct json_common_loader {
  static constexpr std::string_view name = "json_common_loader";
  static constexpr std::string_view backend = "json";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::load_common;

  result<json> load_common(const load_job& job) const;
};
static_assert(common_loader<json_common_loader>);

}}  // namespace zarrpoint::v0
