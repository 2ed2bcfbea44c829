// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

class plan_cache;

namespace orbax {

/// What Orbax makes of an array when it is not told what to make.
enum class array_kind : std::uint8_t {
  numpy,  ///< `np.ndarray`, which restores anywhere
  jax,    ///< `jax.Array`, which needs a sharding: one that was saved, or one to restore to
};

/// Whose tree it is. A `CheckpointManager` of Orbax's that restored a step without being told how
/// goes on saving only as the step says; without a manager either restores the other's.
enum class tree_handler : std::uint8_t {
  standard,  ///< `StandardSave`, `StandardCheckpointer`
  pytree,    ///< `PyTreeSave`, `PyTreeCheckpointer`
  v1,        ///< `orbax.checkpoint.v1`, in its layout: the tree is the item `state`
};

/// A key of `jax.random` that is an item of its own (`JaxRandomKeySave`).
struct jax_key {
  std::vector<std::uint32_t> data;  ///< as `jax.random.key_data` gives them
  bool is_typed = true;             ///< of `jax.random.key`, with JAX's default generator
  dims shape{};                     ///< of `data`; empty: one axis
};

/// What `np.random.get_state()` gives for MT19937 (`NumpyRandomKeySave`).
struct numpy_state {
  std::vector<std::uint32_t> key;  ///< 624 numbers
  std::int64_t position = 624;
  bool has_gauss = false;
  double gauss = 0;
};

/// Items of a step beside its tree, by their names. They replace those of the same names.
struct extra_items {
  std::vector<std::pair<std::string, node>> json{};  ///< `JsonSave`
  std::vector<std::pair<std::string, jax_key>> jax_keys{};
  std::vector<std::pair<std::string, numpy_state>> numpy_states{};
};

/// How `save` writes a tree.
struct save_tree_options {
  int zarr_format = 3;  ///< or 2, as Orbax's older API (v0) does by default
  bool ocdbt = true;    ///< an OCDBT database; false: a directory for each array
  /// Per leaf, by name, as for `zarrpoint::save`. But codecs are `zstd_codecs()` by default, as
  /// Orbax compresses too. Chunks may be set for Zarr v2, where they are what is stored.
  std::vector<leaf_rule> rules{};
  /// In place of rules, but for their casts, and of what shardings say of chunks; for the save by
  /// one process. TensorStore, which Orbax reads with, must know the codecs. Orbax stores every
  /// chunk, and has kinds of its own: `elide_fill` and `kind` have no effect.
  std::span<const leaf_layout> layouts{};
  /// Replace a whole checkpoint of Orbax's at the target, or this item of it, as
  /// `save_options::overwrite`.
  bool overwrite = true;
  bool sync = true;          ///< survive a power cut, as `save_options::sync`
  bool device_copy = false;  ///< for `save_async`, as `save_options::device_copy`
  array_kind arrays = array_kind::numpy;
  tree_handler handler = tree_handler::standard;
  /// Of arrays by their names, as `tree_store::shardings` gives them: they are `jax.Array`, and in
  /// chunks of what each device had, unless rules say otherwise.
  std::vector<std::pair<std::string, sharding>> shardings{};
  /// For the save by many processes: where in the tree a shard is, by its key. Of others the parts
  /// of the key between '/' are keys of dicts.
  std::vector<std::pair<std::string, tree_path>> paths{};
  /// Keeps tuples and named tuples, as Orbax's `support_rich_types`; these are all of them, and an
  /// empty list means that all is lists and dicts. Without it, and to a reader that does not ask
  /// for it, tuples are lists and named tuples dicts.
  std::optional<std::vector<tree_container>> rich_types{};
  /// The user's: objects, or null. Of the tree, in `_METADATA`; of the checkpoint or step, in
  /// `_CHECKPOINT_METADATA`, which an item that joins a step leaves as it was if it is null.
  node custom_metadata{}, step_metadata{};
  /// The target is the root of a manager (`CheckpointManager`), and this the step.
  std::optional<std::uint64_t> step{};
  /// The item of the step. Empty: "default" with `step` ("state" with `tree_handler::v1`, also
  /// without); without, the target is the tree itself.
  /// Given without `step`, the target is the directory of a step.
  std::string item{};
  /// What is saved with the tree, in the same step; of many processes rank 0's.
  extra_items extras{};
  /// Keeps the plan, as `group_save_options::plans`; step and user's metadata may differ. Without
  /// effect for `save_async`.
  std::shared_ptr<plan_cache> plans{};
  /// Files and nodes of the database. With Orbax's own values for the rest.
  ocdbt_write_options database{};
};

}  // namespace orbax
}}  // namespace zarrpoint::v0
