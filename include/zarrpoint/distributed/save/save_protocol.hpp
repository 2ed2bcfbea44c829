// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>

#include <chrono>
#include <initializer_list>
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
// `collective_save<Format>` is a whole save: `begin`, `write` and `finish`, which `save_queue` runs
// in the background.

namespace zarrpoint { inline namespace v0 {

namespace detail {
struct last_plan;
class save_protocol;
}  // namespace detail

/// The plan of the last save of a process, see `group_save_options::plans`.
class plan_cache {
 private:
  friend class detail::save_protocol;

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
  /// What all processes should bring alike; only one that differs from rank 0 sends it. Empty where
  /// the format has nothing of that kind, the same on all processes.
  virtual std::string_view shared() const { return {}; }
  virtual bool has_shared() const { return false; }
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
  /// Each but rank 0; not called where rank 0 had no memory to tell it.
  virtual result<void> take_report(bytes_view told) = 0;
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

/// The steps that all formats have. `begin` and `finish` are collective, `write` is not.
class save_protocol {
 public:
  /// Both stay the caller's.
  save_protocol(const save_group& group, save_format& format)
      : group_(group), format_(format), commit_(group.ranks) {}

  result<void> begin(bool copies);
  result<message> write();
  result<void> finish(result<message> receipt);

  const std::string& staged_name() const noexcept { return staged_name_; }
  bool plan_was_reused() const noexcept { return is_reused_; }
  double seconds() const;

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
  const save_group& group_;
  save_format& format_;
  commit_outcome commit_;
  std::string plan_id_;
  std::string staged_name_;
  bool is_reused_ = false;
};

struct save_times {
  double blocked_seconds = 0;  ///< of `begin`
  double seconds = 0;
  bool plan_reused = false;
};

/// A save in the layout of `Format`, which is made of a `const save_group&` and of what else it
/// takes, and has a `report_type` and `report_type report(const save_times&)`.
template <class Format>
class collective_save {
 public:
  using report_type = typename Format::report_type;

  template <class... Of>
  explicit collective_save(save_group group, const Of&... of)
      : group_(with_scratch_memory(std::move(group))), format_(group_, of...) {}
  collective_save(const collective_save&) = delete;
  collective_save& operator=(const collective_save&) = delete;

  result<void> begin(bool copies) {
    ZARRPOINT_CHECK(protocol_.begin(copies));
    blocked_seconds_ = protocol_.seconds();
    return {};
  }
  result<message> write() { return protocol_.write(); }
  result<report_type> finish(result<message> receipt) {
    ZARRPOINT_CHECK(protocol_.finish(std::move(receipt)));
    return format_.report({blocked_seconds_, protocol_.seconds(), protocol_.plan_was_reused()});
  }
  /// All of it: the caller waits.
  result<report_type> run() {
    ZARRPOINT_CHECK(protocol_.begin(false));
    ZARRPOINT_CHECK(protocol_.finish(protocol_.write()));
    const double seconds = protocol_.seconds();
    return format_.report({seconds, seconds, protocol_.plan_was_reused()});
  }

  /// The tree that all write to: another one for each save, the same on all processes.
  const std::string& staged_name() const noexcept { return protocol_.staged_name(); }

 private:
  static save_group with_scratch_memory(save_group group) {
    group.how = with_scratch(group.how);
    return group;
  }

  save_group group_;
  Format format_;
  save_protocol protocol_{group_, format_};
  double blocked_seconds_ = 0;
};

/// Texts that rank 0 tells of a save, list by list.
message encode_lists(std::initializer_list<const std::vector<std::string>*> lists);
result<void> decode_lists(bytes_view told, std::initializer_list<std::vector<std::string>*> lists);

}  // namespace detail
}}  // namespace zarrpoint::v0
