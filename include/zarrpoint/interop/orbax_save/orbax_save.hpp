// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// Saves a tree as a checkpoint that Orbax restores, in one step: until the last rename the target
/// is what it was before, whatever fails. Until then it is in a directory whose name has
/// `.orbax-checkpoint-tmp`, which Orbax does not take for a checkpoint. What it writes is what one
/// process of Orbax's writes: `_METADATA`, `_CHECKPOINT_METADATA` with the times,
/// `commit_success.txt`, and as needed `manifest.ocdbt` over `ocdbt.process_0`, `_sharding`,
/// `array_metadatas/process_0`, `_strings.json`.
///
/// Errors, each naming the leaf and the file:
/// - `invalid_argument`: a tree without leaves, containers that the leaves do not fit, options that
///   make no sense.
/// - `invalid_argument`: paths that are not a tree's, such as two leaves of one path, a leaf
///   beneath another, keys beside indices, or an index left out.
/// - `invalid_argument`: names that cannot be stored. Orbax stores "a.b" and "b" beneath "a" both
///   as "a.b".
/// - `unsupported`: data types that TensorStore does not have, a cast that has no meaning, stores
///   that cannot publish.
/// - `already_exists`, and those of `zarrpoint::save`.
result<save_report> save(const location& where, std::span<const tree_item> items,
                         const save_options& options = {}, const context& how = default_context());

/// The same with the tree in braces:
/// `orbax::save("ckpt", {{"params/kernel", w}, {{"opt", 0}, m}, {"step", 1200}})`. What is Orbax's
/// own is told by the format: `{.overwrite = false, .format = orbax::format{.step = 1200}}`.
result<save_report> save(const location& where, std::initializer_list<tree_item> items,
                         const save_options& options = {}, const context& how = default_context());

/// What `zarrpoint::save` does with `{.format = orbax::format{}}`: the parts of a name between '/'
/// are keys of dicts, and an empty group is an empty dict.
result<save_report> save_as(const format& as, const save_request& what);

/// The same of `zarrpoint::save` by many processes: shards lie at the paths that their keys or
/// `format::paths` say, common values where they are in the state. Objects are `unsupported`.
result<group_saver> group_save_as(const format& as, const group_save_request& what);

/// Saves in the background. Borrowed tensors must stay alive and unchanged until the result is
/// there. Numbers, texts and what lives on a device are copied before this returns. The copy of a
/// device's is on the host or, with `save_options::device_copy`, on the device.
/// `context::stop` cancels it. Destroying the result waits for it. Errors, all by the result: those
/// of `save`.
pending<save_report> save_async(location where, std::vector<tree_item> items,
                                save_options options = {}, const context& how = default_context());

/// What one process has of a tree: shards, and values that are whole.
struct tree_part {
  std::span<const sharded_tensor> shards{};
  std::span<const tree_item> leaves{};
};

/// `save` by many processes, with the files that Orbax's processes write; all call it. Each gives
/// the shards that it has, and values that are whole. Of a box that several have, the one stores it
/// that has the fewest bytes to store, and a number the lowest rank. With OCDBT each writes to
/// `ocdbt.process_<rank>` and rank 0 makes one database of them without copying a value; without,
/// each writes its own chunks, and rank 0 the documents. No box begins inside a chunk, so that no
/// two processes write to one. All give the same options. Those that tell where and what the tree
/// is are compared (`zarr_format`, `ocdbt`, `step`, `item`, `arrays`, `rich_types`); of `rules`,
/// `shardings` and metadata what rank 0 gives counts. The directory must be one for all. The report
/// is the same for all, but for its seconds, of which single leaves have none.
///
/// Errors, the same on all ranks, are those of `save`, and before a byte is written:
/// - `invalid_argument`, naming leaves and ranks: holes, overlaps, two shards at one path.
/// - `invalid_argument`: a leaf or options that are not the same to all processes, and rules whose
///   chunks have elements of two boxes.
/// - `unsupported`: flat pieces of shards, and several processes whose target is not a directory.
///
/// `outcome_unknown` comes last: a process cannot know whether rank 0 has committed.
result<save_report> save(const location& where, const any_communicator& ranks,
                         std::span<const sharded_tensor> shards,
                         std::span<const tree_item> leaves = {}, const save_options& options = {},
                         const context& how = default_context());

/// Saves of trees by many processes that go on in the background, as `zarrpoint::async_saves` has
/// them.
class async_saves : public v0::detail::background_saves {
 public:
  explicit async_saves(any_communicator ranks, const context& how = default_context())
      : background_saves(ranks, how.executor), ranks_(std::move(ranks)), how_(how) {}

  /// Plans and stages a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there; the others may have another one, or none. Errors: those of the save by
  /// many processes up to there, the same on all.
  result<void> schedule(const location& where, const tree_part& mine,
                        const save_options& options = {}, finalizer when_committed = {});

 private:
  any_communicator ranks_;
  context how_;
};

}}}  // namespace zarrpoint::v0::orbax
