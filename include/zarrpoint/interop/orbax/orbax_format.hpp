// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/store/format.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

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
  std::vector<std::pair<std::string, json>> documents{};  ///< `JsonSave`
  std::vector<std::pair<std::string, jax_key>> jax_keys{};
  std::vector<std::pair<std::string, numpy_state>> numpy_states{};
};

/// Checkpoints of Orbax in directories, as a format of `formats<...>`. `run/checkpoints` is the
/// tree of the newest step; `run/checkpoints/1200/ema` and `run/checkpoints:ema` are those of an
/// item. Each may have the path of a node behind it. An item of JSON is a group whose attributes
/// are the item, or have it as "value" if it is not an object.
///
/// As `save_options::format` its members say how a tree is written. Of `save_options` codecs are
/// `zstd_codecs()` by default, as Orbax compresses too, and chunks may be set for Zarr v2, where
/// they are what is stored. TensorStore, which Orbax reads with, must know the codecs of `layouts`.
/// Orbax stores every chunk, and has kinds of its own: `elide_fill` and `kind` have no effect.
struct format {
  static constexpr std::string_view name = "orbax";
  static result<claim> sniff(const place_look& at);
  /// Errors: those of `find_tree` and `tree_store::open`.
  static result<stored_place> open(const place_look& at, const place_use& use);

  bool ocdbt = true;  ///< an OCDBT database; false: a directory for each array
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
  json custom_metadata{}, step_metadata{};
  /// The target is the root of a manager (`CheckpointManager`), and this the step.
  std::optional<std::uint64_t> step{};
  /// The item of the step. Empty: "default" with `step` ("state" with `tree_handler::v1`, also
  /// without); without, the target is the tree itself.
  /// Given without `step`, the target is the directory of a step.
  std::string item{};
  /// What is saved with the tree, in the same step; of many processes rank 0's.
  extra_items extras{};
  /// Files and nodes of the database. With Orbax's own values for the rest.
  ocdbt_write_options database{};
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
