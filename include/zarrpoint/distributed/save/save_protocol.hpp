// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The save of many processes, of which one alone is the smallest group. The steps stand here once.
//
//   prepare, describe   each process              agree, gather
//   plan                rank 0                    scatter
//   take_part, join     each process              agree
//   pieces              each, where pieces move   agree, exchange
//   stage               each process              agree
//   write               each process, perhaps in the background
//                                                 agree, gather
//   commit              rank 0                    tell
//
// A format is a class that derives from `save_format`. It only works: it sends nothing and agrees
// on nothing. The protocol counts all messages against `limits::memory`, turns exceptions into
// errors, names the rank that failed, keeps plans, and knows whether rank 0 may have committed.
// `collective_save` is a whole save: `begin`, `write` and `finish`, which `save_queue` runs in the
// background.

namespace zarrpoint { inline namespace v0 {

namespace detail {
struct last_plan;
class collective_save;
}  // namespace detail

/// The plan of the last save of a process, see `save_options::plans`.
class plan_cache {
 private:
  friend class detail::collective_save;

  std::shared_ptr<const detail::last_plan> kept_;
};

namespace detail {

/// A layout, as one process saves to it. No function is collective; an
/// error of any of them is an error on all processes.
class save_format {
 public:
  virtual ~save_format() = default;

  /// Each: checks what it was given. No element is touched, and nothing on disk.
  virtual result<void> prepare() { return {}; }
  /// What all processes should bring alike; only one that differs from rank 0 sends it.
  virtual std::string_view shared() const { return {}; }
  /// Each: what this process brings. `differs`: and its `shared`.
  virtual result<message> describe(bool differs) = 0;

  /// Rank 0: decides all, opens the tree, and has a part for each process. Nothing that is there
  /// changes unless all can be planned.
  virtual result<std::vector<message>> plan(std::vector<message> described) = 0;
  /// Rank 0, after `plan` or `reuse`: the tree's `publication::staged_name`. Empty: the place
  /// itself.
  virtual std::string staged_name() const = 0;
  /// Each, rank 0 too: what it has to do.
  virtual result<void> take_part(bytes_view part) = 0;
  /// Each but rank 0: the tree that rank 0 opened.
  virtual result<void> join(const std::string& staged_name) = 0;

  /// For a plan that is used again: what makes it another's, what is kept of it, and `plan` and
  /// `take_part` from that.
  virtual std::string plan_kind() const { return {}; }
  virtual std::shared_ptr<const void> keep_plan() const { return nullptr; }
  virtual result<void> reuse(const std::shared_ptr<const void>& /*kept*/) { return {}; }

  /// Whether processes send each other elements, the same on all; and what each is sent.
  virtual bool exchanges() const { return false; }
  virtual result<std::vector<message>> pieces(message_budget& /*counted*/) const {
    return std::vector<message>{};
  }
  /// Each: has its elements at hand; with `copies` the caller may change its tensors afterwards.
  /// `pieces`: by rank, what was sent to this process.
  virtual result<void> stage(std::vector<message> pieces, bool copies) = 0;

  /// Each: encodes and writes its part; a receipt for `commit`. Perhaps on another thread.
  virtual result<message> write() = 0;

  /// Rank 0, with the receipts of all by rank: what is written last, and the rename, upon which it
  /// calls `commit.take_place()`. What the others are told of it.
  virtual result<message> commit(std::vector<message> receipts, commit_outcome& commit) = 0;

  /// What it tells. Times, and whether the plan was kept, are the protocol's to say. So is what
  /// the others have of rank 0, which is nothing where that had no memory to tell it.
  save_report report{};
  /// Warnings of each process for itself, such as about options: they come behind those that rank 0
  /// tells.
  std::vector<std::string> more_warnings{};
};

/// Who saves, and how errors call it: `action` and `name`, as in "save model.zarr".
struct save_group {
  any_communicator ranks{};
  context how{};
  std::string name{};
  std::string action = "save";
  plan_cache* plans = nullptr;  ///< on every process or on none

  bool is_root() const { return ranks.rank() == 0; }
};

/// A save of whatever format. `begin` and `finish` are collective, `write` is not.
class collective_save {
 public:
  explicit collective_save(save_group group) : group_(std::move(group)) {
    group_.how = with_scratch(group_.how);
  }
  collective_save(const collective_save&) = delete;
  collective_save& operator=(const collective_save&) = delete;

  /// A save that has not begun, in the format that `make(const save_group&)` returns: a
  /// `result<std::shared_ptr<save_format>>`.
  template <class Make>
  static result<std::shared_ptr<collective_save>> make(save_group group, const Make& make_format) {
    return guarded([&]() -> result<std::shared_ptr<collective_save>> {
      auto out = make_counted<collective_save>(std::move(group));
      result<std::shared_ptr<save_format>> format = make_format(std::as_const(out->group_));
      if (!format)
        return std::move(format).failure().at(out->group_.action + " " + out->group_.name);
      out->format_ = *std::move(format);
      return out;
    });
  }

  /// With `copies` the caller may change its tensors afterwards.
  result<void> begin(bool copies);
  result<message> write();
  result<save_report> finish(result<message> receipt);
  /// All of it: the caller waits.
  result<save_report> run();

  /// The tree that all write to: another one for each save, the same on all processes.
  const std::string& staged_name() const noexcept { return staged_name_; }

 private:
  result<void> plan();
  result<std::vector<message>> plan_all(std::vector<message> described, message_budget& counted);
  result<void> take(bytes_view part);
  result<bool> is_known(const message& described) const;
  result<void> plan_again();
  result<void> stage(bool copies);
  result<void> commit(result<message> receipt);
  error explain(error failure) const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  save_group group_;
  std::shared_ptr<save_format> format_;
  commit_outcome commit_{group_.ranks};
  std::string plan_id_;
  std::string staged_name_;
  bool is_reused_ = false;
  double blocked_seconds_ = 0;
};

/// Collective: fails, where this process could not even make its save. The others are told in place
/// of waiting for it.
error give_up(const any_communicator& ranks, error failure);

/// A save in the foreground, as it was made.
result<save_report> run_save(const any_communicator& ranks,
                             result<std::shared_ptr<collective_save>> made);

/// What rank 0 tells of a save, but for what each process measures itself.
message encode_report(const save_report& of);
/// Errors: `corrupt`.
result<void> decode_report(bytes_view told, save_report& to);

}  // namespace detail
}}  // namespace zarrpoint::v0
