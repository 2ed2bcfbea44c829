// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// When a step is saved, and which steps stay: pure functions of what is there.

namespace zarrpoint { inline namespace v0 {

/// A time of the clock on the wall.
using wall_time = std::chrono::system_clock::time_point;

/// A number that a step was saved with, such as {"loss", 0.3}. Any double, NaN too.
using step_metric = std::pair<std::string, double>;

/// One step in a directory of steps, as its own documents tell.
struct step_record {
  std::int64_t step = 0;
  std::string name;                    ///< of its directory, e.g. "step_00000100"
  wall_time saved_at{};                ///< when its save began
  std::vector<step_metric> metrics{};  ///< as given to `save`
  std::vector<std::string> items{};    ///< empty: the directory is the checkpoint
  std::uint64_t bytes = 0;             ///< of all its objects
  /// A manager has written it: there is a mark in what was committed. Nothing else is ever removed.
  bool is_managed = false;
  bool is_pinned = false;  ///< `checkpoint_manager::pin` keeps it, whatever the policy says
  std::string fault{};     ///< why it cannot be used; empty: nothing wrong is known
  std::optional<std::int64_t> base{};  ///< the step on which this one stands, as a delta
  /// The fault is that it could not be looked at: it may be whole, and may stand on another.
  bool is_unread = false;

  /// The metric of that name; nothing where there is none, and for NaN.
  std::optional<double> metric(std::string_view of) const;
};

/// Which values of a metric are good ones.
enum class better : std::uint8_t { lower, higher };

/// The best of `steps` by a metric: the step whose value is lowest or highest, of equal values the
/// newer one. A step that lacks the metric, or has NaN, is never the best. Infinities are values
/// like others. Null where no step has the metric.
const step_record* best_of(std::span<const step_record> steps, std::string_view metric, better is);

/// What a `save_policy` decides from.
struct save_moment {
  std::int64_t step = 0;                    ///< that may be saved now
  wall_time now{};                          ///< by the clock of the manager
  wall_time opened{};                       ///< when the manager was opened
  std::optional<std::int64_t> last_step{};  ///< the newest that is saved, or under way
  std::optional<wall_time> last_time{};     ///< when that save began
};

/// When to save: a function of a `save_moment`, one of these or one's own. `a | b` is either,
/// `a & b` both.
class save_policy {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, save_policy> &&
             std::is_invocable_r_v<bool, const F&, const save_moment&>)
  save_policy(F decide)  // NOLINT(google-explicit-constructor)
      : decide_(std::move(decide)) {}

  /// Multiples of `n`, 0 too. Where steps are left out: the first at which a multiple was passed
  /// since the last save. Never for `n` below 1.
  static save_policy every_steps(std::int64_t n);
  /// When so much time has gone since the last save began, that of an earlier run too, or else
  /// since the manager was opened. A clock that went back counts as gone.
  static save_policy every(std::chrono::milliseconds time);
  static save_policy at_steps(std::vector<std::int64_t> steps);
  /// While no step is there.
  static save_policy first();
  static save_policy always();
  static save_policy never();

  friend save_policy operator|(save_policy a, save_policy b);
  friend save_policy operator&(save_policy a, save_policy b);

  bool operator()(const save_moment& at) const { return decide_(at); }

 private:
  std::function<bool(const save_moment&)> decide_;
};

/// What a `keep_policy` decides from: the whole steps that managers wrote, sorted by step.
struct keep_question {
  std::span<const step_record> steps;
  wall_time now{};
};

/// Which steps stay: for each step of a question whether to keep it. `a | b` keeps what either
/// keeps; `a & b` asks `b` about what `a` keeps, as in `keep_policy::newest(9) &
/// keep_policy::within_bytes(1 << 30)`.
class keep_policy {
 public:
  /// One's own: a vector<bool> as long as the steps. Of another length, it keeps all.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, keep_policy> &&
             std::is_invocable_r_v<std::vector<bool>, const F&, const keep_question&>)
  keep_policy(F decide, std::string name = "a function of the program")  // NOLINT
      : decide_(std::move(decide)), name_(std::move(name)) {}

  static keep_policy all();
  /// The `n` with the largest numbers.
  static keep_policy newest(std::size_t n);
  /// Multiples of `k`, 0 too. None for `k` below 1.
  static keep_policy every_steps(std::int64_t k);
  /// From the oldest on, each that was saved so long after the one kept before.
  static keep_policy every(std::chrono::milliseconds time);
  /// The best `m` by a metric, see `best_of`: of equal values the newer ones; never a step that
  /// lacks the metric or has NaN. Where no step has it all are kept: a metric whose name is
  /// mistyped removes nothing.
  static keep_policy best(std::size_t m, std::string metric, better is);
  static keep_policy steps(std::vector<std::int64_t> steps);
  /// From the newest on, as many as fit together: the first that does not fit ends it.
  static keep_policy within_bytes(std::uint64_t bytes);
  /// Those saved at most so long ago.
  static keep_policy within(std::chrono::milliseconds age);

  friend keep_policy operator|(keep_policy a, keep_policy b);
  friend keep_policy operator&(keep_policy a, keep_policy b);

  std::vector<bool> operator()(const keep_question& of) const;
  const std::string& name() const noexcept { return name_; }  ///< e.g. "the newest 3"

 private:
  std::function<std::vector<bool>(const keep_question&)> decide_;
  std::string name_;
};

/// A step that goes, and why, in words.
struct step_removal {
  std::int64_t step = 0;
  std::string name;  ///< of its directory
  std::string why;
  bool stays = false;  ///< no policy keeps it, and it stays for the deltas that stand on it
};

/// What a manager would remove: of the whole steps that managers wrote, those that `keep` does not
/// keep. Never the newest of them, never `last` (the one saved last in this run), never one that is
/// pinned. Steps with a fault neither count nor go. What a delta that is left stands on is told
/// with `stays`. Pure; `steps` are sorted by step.
std::vector<step_removal> removals(std::span<const step_record> steps, const keep_policy& keep,
                                   wall_time now, std::optional<std::int64_t> last = {});

namespace detail {

/// Why a step stays for those that stand on it, or may do so; empty if none does.
std::string why_needed(const step_record& of, std::span<const step_record> others);

/// How directories of steps are called.
struct step_names {
  std::string prefix = "step_";
  std::size_t digits = 8;  ///< at least so many, filled with zeros
};

std::string step_name(std::int64_t step, const step_names& how);

/// The step that a name tells: digits, alone or after "step_" or "step-"; nothing for other names,
/// and for numbers beyond 2^63 - 1.
std::optional<std::int64_t> parse_step_name(std::string_view name);

/// What a manager says of a step within what it commits: a member of the root's attributes, or a
/// document beside items.
struct step_mark {
  static constexpr std::string_view member = "zarrpoint_manager";  ///< of the root's attributes
  static constexpr const char* file = "zarrpoint_step.json";       ///< beside items

  std::int64_t step = 0;
  wall_time saved_at{};
  std::vector<step_metric> metrics{};
  std::vector<std::string> items{};
  std::vector<std::pair<std::string, std::uint64_t>> files{};  ///< of all items, with sizes
};

/// Whether an item may have this name: that of a file in the step's directory.
bool is_item_name(std::string_view name);

json to_json(const step_mark& of);
/// Errors: `corrupt` for what no manager writes, `unsupported` for what a later version does.
result<step_mark> parse_step_mark(const json& from);

}  // namespace detail

}}  // namespace zarrpoint::v0
