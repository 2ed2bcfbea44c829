// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/manager/manager.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A part of a step that loads alone, as `step_item`, of what one process brings.
struct group_item {
  std::string name;  ///< of its directory or file in the step's; the same on all processes
  state tree{};
  /// Nothing: those of the manager. The format is free.
  std::optional<group_save_options> options{};
  json document{};  ///< in place of a tree: what rank 0 brings is stored
};

/// A `checkpoint_manager` of a group of processes. All members but `request_save`, `save_requested`
/// and `warnings` are collective, and give the same on all. What rank 0 gives of options counts; it
/// alone has the lock, asks policies, looks and removes. All steps are whole, none a delta.
class group_checkpoint_manager {
 public:
  /// `saves`: how processes save together; its `storage` is that of `options`. Errors: those of
  /// `checkpoint_manager::open` on rank 0; `unsupported` with `whole_when`.
  static result<group_checkpoint_manager> open(const location& where, process_group group,
                                               manager_options options = {},
                                               group_save_options saves = {});

  group_checkpoint_manager(group_checkpoint_manager&&) noexcept;
  group_checkpoint_manager& operator=(group_checkpoint_manager&&) noexcept;
  ~group_checkpoint_manager();

  /// What rank 0's policy says, or that any process has a request. Costs a gather of a byte and a
  /// broadcast.
  result<bool> should_save(std::int64_t step);
  /// Makes the next `should_save` say yes on all processes. Async-signal-safe.
  void request_save() noexcept;
  /// Whether the last `should_save` heard of a request: time to leave the loop, after that save.
  /// Not collective; the same on all.
  bool save_requested() const noexcept;

  /// As `checkpoint_manager::save`, of what each process brings: it returns once all is staged.
  /// What is written is committed by the next `save`, `wait` or `close`.
  result<bool> save(std::int64_t step, const state& tree, std::vector<step_metric> metrics = {});

  /// The same of several items, which are committed together. Errors: `invalid_argument` where
  /// processes bring items of different names.
  result<bool> save_items(std::int64_t step, std::vector<group_item> items,
                          std::vector<step_metric> metrics = {});

  /// Commits all that is under way. Errors: the first that no call has told.
  result<void> wait();
  /// Commits, and gives the place back. Errors: the first of all in the background, even if told.
  result<void> close();

  result<std::vector<std::int64_t>> steps();
  result<std::optional<std::int64_t>> latest();
  result<std::optional<std::int64_t>> best(std::string_view metric, better is);
  /// Where a step is, for `load` by this group or another; of one with items the one of that name,
  /// or the only one. Errors: `not_found`; `invalid_argument` where it has several and none is
  /// named.
  result<location> place_of(std::int64_t step, std::string_view item = {});
  /// A JSON item of a step. Errors: those of `checkpoint_manager::document`.
  result<json> document(std::int64_t step, std::string_view item);

  // As of a `checkpoint_manager`, on rank 0; what goes, and errors, are told to all.
  result<std::vector<step_removal>> dry_run();
  result<std::vector<step_removal>> dry_run(const keep_policy& keep);
  result<std::vector<step_removal>> prune();
  result<std::vector<step_removal>> prune(const keep_policy& keep);
  result<void> remove(std::int64_t step, bool force = false);
  result<void> pin(std::int64_t step, bool pinned = true);
  result<void> refresh();

  /// On rank 0 what was passed over or could not be removed; on each what its saves warn of. Not
  /// collective.
  std::vector<std::string> warnings();

 private:
  struct state_of_rank;
  explicit group_checkpoint_manager(std::unique_ptr<state_of_rank> opened);

  std::unique_ptr<state_of_rank> state_;
};

}}  // namespace zarrpoint::v0
