// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/save_summary.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>
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

/// In which boxes a tensor is stored. Together they are the tensor, and no two overlap.
struct tensor_boxes {
  std::string name;
  std::vector<box> boxes;
};

/// Where in the state dict a value is that has this name.
struct named_path {
  std::string name;
  std::vector<path_step> path;
};

/// How a checkpoint of PyTorch is written.
struct state_save_options {
  /// A tensor of more bytes is stored in boxes of at most so many, cut along its first axes; 0: in
  /// one box.
  std::uint64_t chunk_bytes = 0;
  std::vector<tensor_boxes> boxes{};  ///< of single tensors, before `chunk_bytes`
  /// A file of a process that has so many bytes is followed by another one.
  std::uint64_t file_bytes = std::uint64_t{5} << 30;
  /// A process that has much fills up to so many files at once, one for each 128 MiB: Linux lets
  /// one thread at a time write to a file. 1: one after the other.
  std::size_t files_at_once = 8;
  /// Names that are not here stand in the state dict as they are, dots included. PyTorch makes the
  /// name of `{"model": {"w": ...}}` by joining the steps with dots.
  std::vector<named_path> paths{};
  bool overwrite = true;  ///< replace a whole checkpoint of PyTorch, as `save_options::overwrite`
  bool sync = true;       ///< survive a power cut
  /// As `group_save_options::plans`: the plan of the last save is taken where all bring the same.
  std::shared_ptr<plan_cache> plans{};
};

/// What `dcp::save` did. Of many processes each has the same.
struct state_save_report : save_summary {
  std::size_t tensors = 0;
  std::size_t boxes = 0;
  std::size_t values = 0;
  std::size_t files = 0;  ///< beside `.metadata`
};

/// Saves `leaves` as a checkpoint of torch.distributed.checkpoint: `where` is a directory then,
/// with `.metadata` and `__0_0.distcp` and on. It appears in one step: until the last rename the
/// directory is what it was before, whatever fails, and files of others in it stay.
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
result<state_save_report> save(const location& where, std::span<const leaf> leaves,
                               const state_save_options& options = {},
                               const context& how = default_context());
result<state_save_report> save(const location& where, std::initializer_list<leaf> leaves,
                               const state_save_options& options = {},
                               const context& how = default_context());

/// What `zarrpoint::save` does with `{.format = dcp::format{}}`.
result<save_report> save_as(const format& as, const save_request& what);

/// `save` by many processes; all call it. Each gives the shards that it has, and leaves that are
/// whole. Of what several have, the one stores it that has the fewest bytes to store, and of a
/// value the lowest rank. Rank `r` writes `__r_0.distcp` and on, rank 0 `.metadata`. All give the
/// same options; what rank 0 gives counts where it decides. The directory must be one for all.
///
/// Errors: those of `save`, the same on all ranks; `invalid_argument` for shards of one tensor that
/// differ in dtype or shape; `unsupported` for flat pieces of shards.
result<state_save_report> save(const location& where, const any_communicator& ranks,
                               std::span<const sharded_tensor> shards,
                               std::span<const leaf> leaves = {},
                               const state_save_options& options = {},
                               const context& how = default_context());

namespace detail {
class save_format;
}  // namespace detail

/// What one process has of a state.
struct state_part {
  std::span<const sharded_tensor> shards{};
  std::span<const leaf> leaves{};
};

/// Saves by many processes, or by one, that go on in the background, in order, as
/// `zarrpoint::async_saves` has them. `schedule` returns when everything is copied, the executor of
/// the context writes, and `finalize` commits what is written. Both are collective.
///
/// A queue that is destroyed waits for its own writes and commits nothing; what rank 0 staged is
/// removed.
class async_saves {
 public:
  explicit async_saves(any_communicator ranks = {}, const context& how = default_context())
      : ranks_(std::move(ranks)), how_(how), queue_(ranks_, how_.executor) {}

  using finalizer = std::function<result<void>(const state_save_report&)>;

  /// Plans and copies a save, and has it written. The tensors may be changed afterwards.
  /// `when_committed` is called by `finalize` on this process, once, if all processes know that the
  /// checkpoint is there. Errors: those of `save` up to there, the same on all.
  result<void> schedule(const location& where, const state_part& mine,
                        const state_save_options& options = {}, finalizer when_committed = {});

  /// Commits the saves that are complete on all processes, oldest first, or with `wait` all of
  /// them. A save that failed is an error on all, and the checkpoint that was there before stays;
  /// later saves go on. Errors: the first of the failures, after all were finalized;
  /// `invalid_argument` where processes have scheduled different numbers of saves; that of a
  /// `when_committed`, on its process alone.
  result<std::vector<state_save_report>> finalize(bool wait = true);

  /// How many saves are scheduled and not yet finalized.
  std::size_t unfinalized() const noexcept { return queue_.size(); }

 private:
  any_communicator ranks_;
  context how_;
  v0::detail::save_queue<v0::detail::collective_save<detail::save_format>, state_save_report>
      queue_;
};

}}}  // namespace zarrpoint::v0::dcp
