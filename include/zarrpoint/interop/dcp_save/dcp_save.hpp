// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// Saves `leaves` as a checkpoint of torch.distributed.checkpoint: `where` is a directory then,
/// with `.metadata` and `__0_0.distcp` and on. It appears in one step: until the last rename the
/// directory is what it was before, whatever fails, and files of others in it stay. What is
/// PyTorch's own is told by the format: `{.sync = false, .format = dcp::format{.chunk_bytes = n}}`.
/// Of the report `cells` are the boxes of all tensors, and `files` those beside `.metadata`.
///
/// A leaf's name is the fully qualified name. Tensors, on the host or a device, are tensors; a
/// scalar, a text, a `json_text` and a `byte_string` are values of Python, pickled: bool, int,
/// float, str, bytes and lists. A dict becomes a value for each of its members, `name.key`, as
/// PyTorch flattens it. The same leaves make the same bytes.
///
/// Errors, naming the leaf:
/// - `invalid_argument`: a name that is there twice, is not UTF-8 or has no place in a hierarchy
///   (see docs/stores.md), and boxes that overlap or leave holes.
/// - `unsupported`: a dtype that PyTorch does not have.
/// - `already_exists`: what is there and not a checkpoint of PyTorch.
/// - `outcome_unknown`: only the very last sync failed.
/// - `resource_limit`, `cancelled`, `io`.
result<save_report> save(const location& where, std::span<const leaf> leaves,
                         const save_options& options = {}, const context& how = default_context());
result<save_report> save(const location& where, std::initializer_list<leaf> leaves,
                         const save_options& options = {}, const context& how = default_context());

/// What `zarrpoint::save` does with `{.format = dcp::format{}}`.
result<save_report> save_as(const format& as, const save_request& what);

/// The same of `zarrpoint::save` by many processes: tensors have the names of their keys, and the
/// common values of the state are values. Objects are `unsupported`.
result<group_saver> group_save_as(const format& as, const group_save_request& what);

/// `save` by many processes; all call it. Each gives the shards that it has, and leaves that are
/// whole. Of what several have, the one stores it that has the fewest bytes to store, and of a
/// value the lowest rank. Rank `r` writes `__r_0.distcp` and on, rank 0 `.metadata`. All give the
/// same options; what rank 0 gives counts where it decides. The directory must be one for all.
///
/// Errors: those of `save`, the same on all ranks; `invalid_argument` for shards of one tensor that
/// differ in dtype or shape; `unsupported` for flat pieces of shards.
result<save_report> save(const location& where, const any_communicator& ranks,
                         std::span<const sharded_tensor> shards, std::span<const leaf> leaves = {},
                         const save_options& options = {}, const context& how = default_context());

/// What one process has of a state.
struct state_part {
  std::span<const sharded_tensor> shards{};
  std::span<const leaf> leaves{};
};

/// Saves by many processes, or by one, that go on in the background, as `zarrpoint::async_saves`
/// has them.
class async_saves : public v0::detail::background_saves {
 public:
  explicit async_saves(any_communicator ranks = {}, const context& how = default_context())
      : background_saves(ranks, how.executor), ranks_(std::move(ranks)), how_(how) {}

  /// Plans and copies a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there. Errors: those of `save` up to there, the same on all.
  result<void> schedule(const location& where, const state_part& mine,
                        const save_options& options = {}, finalizer when_committed = {});

 private:
  any_communicator ranks_;
  context how_;
};

}}}  // namespace zarrpoint::v0::dcp
