// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/manager/policies.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// A part of a step that loads alone, with options of its own: the model, the optimizer, a JSON
/// document.
struct step_item {
  std::string name;  ///< of its directory or file in the step's; "x.safetensors" for such a file
  std::vector<leaf> leaves{};
  /// Nothing: those of the manager. The format is free.
  std::optional<save_options> options{};
  json document{};  ///< in place of leaves: the document `name`, read by
                    ///< `checkpoint_manager::document`
};

class group_checkpoint_manager;

/// What `save` does when as many saves as may be are under way.
enum class when_busy : std::uint8_t { wait, skip };

/// How a manager works.
struct manager_options {
  save_policy save_when = save_policy::always();
  /// Asked in the background, too, as `clock` is: of the manager they may call `records` and
  /// `steps`.
  keep_policy keep = keep_policy::all();
  /// Which steps are whole. The others are deltas on the newest whole one, which is the `last_step`
  /// that the policy sees. Nothing: all are whole. So are the first, and steps with items.
  std::optional<save_policy> whole_when{};
  /// Of each step; `overwrite` and `previous` do not count. With a `format` a step is a directory
  /// with one item.
  save_options storage{};
  std::string item = "default";  ///< its name, as Orbax has it; "model.safetensors" for such a file
  bool background = true;        ///< `save` returns once the tensors are copied
  /// `save` copies tensors of the host, into memory that is kept for the next one. False: they stay
  /// as they are until `wait`.
  bool copy = true;
  /// What did not change since the newest whole step is not written again: steps have hard links to
  /// the same files, or copies that the server makes; see `save_options::previous`. It is asked
  /// for, since what damages such a file damages it in all of them.
  bool share_unchanged = false;
  std::size_t most_under_way = 1;
  when_busy busy = when_busy::wait;
  /// A new step is read back and verified before an older one goes. A damaged one is renamed to
  /// "damaged_...", or where a store cannot do that loses its documents.
  bool verify = false;
  /// False: other managers may be at work there. Nothing is saved or removed.
  bool exclusive = true;
  std::string prefix = "step_";  ///< of directories; "" for names as Orbax's managers have them
  std::size_t digits = 8;        ///< of a step's number, at least
  std::function<wall_time()> clock = [] { return std::chrono::system_clock::now(); };
  context how = default_context();
};

/// A step that was opened.
struct restored_step {
  std::int64_t step = 0;
  checkpoint data;
  std::vector<step_metric> metrics;
};

/// The steps of a run in one directory, or at any place that can be listed and written: when to
/// save, what to keep, which is the newest whole one.
///
/// - Each step is a checkpoint of its own, which all that reads checkpoints reads.
/// - What is committed has the mark of a manager, with the metrics. There is no other state: a new
///   manager knows what the one before knew.
/// - A step may be a delta on an older one, which stays as long as the delta does.
/// - A step goes only after a newer one is committed, and verified if that was asked for. What no
///   manager wrote never goes. A step loses its name, or its commit document, before the rest.
/// - One manager at a time has a place. Another is refused where a lock tells of it, on files. In
///   other stores the one that came later takes the place, and the earlier one's calls fail.
/// - An error in the background is that of the next `save` or `wait`, once, and of `close`.
///
/// One thread uses it at a time; `request_save` is for signals.
class checkpoint_manager {
 public:
  /// Errors: `unavailable` where another manager has the place; `unsupported` for a store that
  /// cannot be listed or written, and for `whole_when` where deltas cannot be saved; `io`.
  static result<checkpoint_manager> open(const location& where, manager_options options = {});

  checkpoint_manager(checkpoint_manager&&) noexcept;
  checkpoint_manager& operator=(checkpoint_manager&&) noexcept;
  /// Waits for what is under way. What `close` would have said is lost.
  ~checkpoint_manager();

  /// Whether the policy wants this step, or `request_save` was called since the last save; false
  /// for a step that is there already or under way.
  bool should_save(std::int64_t step) const;

  /// Makes the next `should_save` say yes. Async-signal-safe.
  void request_save() noexcept;
  /// Whether that was called: time to leave the loop. It says so until the first save that begins
  /// after this call or `should_save` has told it; what comes later is for the save after.
  bool save_requested() const noexcept;

  /// Saves a step; true once it is under way, or done without `background`. False: it was skipped,
  /// by `when_busy::skip`. A step that a manager wrote is replaced in one step. A damaged one is
  /// renamed, where the store can. Errors: of an earlier save in the background: then nothing was
  /// begun, and the next call saves. `invalid_argument` for a step below 0; `already_exists` for
  /// what no manager wrote; and those of `zarrpoint::save`.
  result<bool> save(std::int64_t step, std::vector<leaf> leaves,
                    std::vector<step_metric> metrics = {});

  /// The same of several items, which are committed together.
  result<bool> save_items(std::int64_t step, std::vector<step_item> items,
                          std::vector<step_metric> metrics = {});

  /// Waits for all saves that are under way. Errors: the first of theirs that no call has told.
  result<void> wait();

  /// Waits, and gives the place back. Call it at the end of a run. Errors: the first of all errors
  /// in the background, even if a call has told it, with the number of the others.
  result<void> close();

  /// All steps, sorted; those with a fault and those that others wrote, too.
  std::vector<step_record> records() const;
  /// The numbers of those without a fault, sorted.
  std::vector<std::int64_t> steps() const;

  /// The newest step that is whole: it opens, and each of its objects is there with its size. What
  /// is damaged is passed over, and told by `warnings`. Nothing where there is none. Errors: `io`,
  /// `unavailable`, `unsupported`: what may be whole is not passed over.
  result<std::optional<std::int64_t>> latest();

  /// The best whole step by a metric; see `best_of`. Errors: as `latest`.
  result<std::optional<std::int64_t>> best(std::string_view metric, better is);

  /// Opens a step; of one with items the one of that name, or the only one. Errors: `not_found`;
  /// `invalid_argument` where a step has several items and none is named; those of `open`.
  result<restored_step> restore(std::int64_t step, std::string_view item = {});
  /// The newest whole step. Errors: `not_found` where there is none.
  result<restored_step> restore_latest(std::string_view item = {});
  result<restored_step> restore_best(std::string_view metric, better is,
                                     std::string_view item = {});
  /// A JSON item of a step. Errors: `not_found`, `corrupt`, `resource_limit`.
  result<json> document(std::int64_t step, std::string_view item) const;

  /// What the policy, or another one, would remove now, and why; and what it does not keep, but
  /// `stays` for the deltas that stand on it.
  std::vector<step_removal> dry_run() const;
  std::vector<step_removal> dry_run(const keep_policy& keep) const;
  /// Removes what the policy, or another one, does not keep. Returns what went.
  result<std::vector<step_removal>> prune();
  result<std::vector<step_removal>> prune(const keep_policy& keep);

  /// Removes one step. Errors: `invalid_argument` for the newest whole one and for pinned ones,
  /// unless `force` is set; for what no manager wrote, and while deltas stand on it, always. What a
  /// save or a removal that failed has left is a manager's, unless it can be opened.
  result<void> remove(std::int64_t step, bool force = false);

  /// Keeps a step whatever the policies say, or no longer; by any manager, an exclusive one or not.
  result<void> pin(std::int64_t step, bool pinned = true);

  /// Looks again at what is there.
  result<void> refresh();

  /// What was passed over, moved aside or could not be removed, in sentences; emptied by the call.
  std::vector<std::string> warnings();

  /// Of the save that ended last; nothing before, and after a failure. With items, all together.
  std::optional<save_report> last_report() const;

 private:
  friend class group_checkpoint_manager;
  struct state;
  explicit checkpoint_manager(std::unique_ptr<state> opened);

  std::unique_ptr<state> state_;
};

}}  // namespace zarrpoint::v0
