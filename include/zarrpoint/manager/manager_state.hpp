// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/manager/copied_leaves.hpp>
#include <zarrpoint/manager/manager.hpp>
#include <zarrpoint/store/file/place_lock.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The inside of a manager.

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// What lies under the name of a step, looked at now.
struct step_look {
  step_record record;
  step_mark mark{};
  std::optional<checkpoint> opened{};  ///< where the directory is the checkpoint
  std::optional<error> fault{};
  bool is_delta = false;
};

/// Whether an object of a step is there with its size.
using object_check = std::function<result<void>(const std::string& path, std::uint64_t size)>;

/// Adds what a save warns of, which is often the same for each step.
void add_warnings(std::vector<std::string>& to, const std::vector<std::string>& told);

}  // namespace detail

struct checkpoint_manager::state {
  struct job;
  using texts = std::vector<std::pair<std::string, std::string>>;  ///< of JSON items, by name
  struct running {
    std::int64_t step;
    pending<void> done;
  };
  static constexpr const char* folder = ".zarrpoint_manager";  ///< notes of managers, beside steps

  state(location at, any_store in, manager_options how)
      : where(std::move(at)), root(std::move(in)), options(std::move(how)) {}
  ~state() {  // waits for each, while what they change is there
    while (!under_way.empty()) under_way.pop_front();
    wait_for_removals();
  }

  const location where;
  const any_store root;
  const manager_options options;
  const wall_time opened = options.clock();
  std::optional<detail::place_lock> lock{};
  std::string owner{};  ///< in the note of other stores
  std::atomic<bool> requested{false};
  bool has_seen_request = false;  ///< a call has told it: the next save is the one
  bool is_closed = false;
  std::deque<running> under_way{};
  std::deque<std::pair<std::int64_t, wall_time>> of_group{};  ///< that all processes save

  // What saves in the background change, too.
  mutable std::mutex mutex{};
  std::mutex pruning{};
  std::vector<step_record> records{};  ///< sorted by step
  std::vector<std::int64_t> saving{};  ///< steps that are being saved, for the first time or again
  /// Of what is being saved: deltas stand on them, or what did not change is shared with them.
  std::vector<std::int64_t> bases{};
  std::vector<std::int64_t> going{};  ///< which `prune` removes: no save may take them
  std::size_t changes = 0;            ///< of the records, by saves and removals
  std::vector<std::string> warnings{};
  std::optional<error> first{}, untold{};
  std::size_t errors = 0;
  std::optional<std::int64_t> last_saved{};
  std::optional<save_report> report{};
  std::vector<detail::leaf_copies> spare{};
  std::size_t removals_asked = 0;  ///< of the task `removing`, which is at work unless this is 0
  pending<void> removing{};

  // -- places

  static result<store_key> key(std::string_view name) { return store_key::parse(name); }
  static result<store_key> note(const std::string& name) {
    return store_key::parse(std::string(folder) + '/' + name);
  }
  /// Whether a note tells the next manager what was begun. It does so where there is no lock, and
  /// a kill may leave something that has the name of a step.
  bool leaves_notes() const { return !owner.empty() || !root.can_publish(); }
  result<void> note_begun(const std::string& name) const {
    if (!leaves_notes()) return {};
    ZARRPOINT_TRY(begun, note("begun_" + name));
    return root.put(begun, {});
  }
  bool is_path() const { return detail::location_access::is_path(where); }
  std::string name_of(const std::string& name) const { return where.name() + '/' + name; }
  /// A step, or an item of one, as a path where there are paths: formats look at these.
  result<location> place(const std::string& name) const {
    if (is_path()) return location(name_of(name));
    ZARRPOINT_TRY(at, key(name));
    return location(root, at);
  }
  /// The name of a step's directory: the one that it has.
  std::string name_for(std::int64_t step) const {
    const std::lock_guard hold(mutex);
    const step_record* const there = find(step);
    return there != nullptr ? there->name
                            : detail::step_name(step, {options.prefix, options.digits});
  }

  // -- what is known; with the mutex

  const step_record* find(std::int64_t step) const {
    const auto at =
        std::lower_bound(records.begin(), records.end(), step,
                         [](const step_record& a, std::int64_t b) { return a.step < b; });
    return at != records.end() && at->step == step ? &*at : nullptr;
  }
  void put(step_record one) {
    const auto at =
        std::lower_bound(records.begin(), records.end(), one.step,
                         [](const step_record& a, std::int64_t b) { return a.step < b; });
    ++changes;
    if (at != records.end() && at->step == one.step) {
      *at = std::move(one);
    } else {
      records.insert(at, std::move(one));
    }
  }
  void forget(std::int64_t step) {
    ++changes;
    std::erase_if(records, [&](const step_record& one) { return one.step == step; });
  }
  static bool has(const std::vector<std::int64_t>& steps, std::int64_t step) {
    return std::find(steps.begin(), steps.end(), step) != steps.end();
  }
  bool is_held(std::int64_t step) const { return has(saving, step) || has(bases, step); }
  void warn(std::string text) {
    const std::lock_guard hold(mutex);
    warnings.push_back(std::move(text));
  }
  void fail(const error& why) {
    const std::lock_guard hold(mutex);
    ++errors;
    if (!first) first = why;
    if (!untold) untold = why;
  }

  /// A save has begun: it is the one that was asked for, unless nobody has heard of that yet.
  void take_request() {
    if (std::exchange(has_seen_request, false)) requested.store(false, std::memory_order_relaxed);
  }

  // -- looking

  result<detail::step_look> look(const std::string& name) const;
  result<void> check_objects(const detail::step_look& of, const std::string& name) const;
  result<std::optional<std::string>> fault_of(const std::string& name) const;
  result<bool> pass_over(const step_record& seen);
  result<void> scan();
  result<std::vector<std::int64_t>> notes(std::string_view kind) const;
  result<void> read_pins();
  result<bool> may_be_whole(const detail::step_look& of) const;
  result<bool> is_unfinished(const detail::step_look& of) const;
  result<void> finish_what_was_begun();
  result<void> check_owner() const;

  // -- deltas

  result<checkpoint> open_step(const location& at) const;
  result<bool> look_at_delta(const store_key& at, detail::step_look& out) const;
  result<void> check_delta(const std::string& name, const detail::object_check& check) const;
  save_options options_of(const job& work) const;
  result<void> choose_base(job& work);
  std::string share(job& work, const std::string& item = {});
  result<std::optional<location>> previous(job& work, const std::string& item = {});
  bool condemn_base(const step_record& base);
  result<save_report> save_whole(job& work, const error& why);
  result<void> make_whole_what_stands_on(std::int64_t step);

  // -- saving and removing

  result<void> tell();
  void reap(std::size_t most);
  result<std::shared_ptr<job>> prepare(std::int64_t step, std::vector<step_metric> metrics);
  result<bool> begin(std::int64_t step, std::vector<step_item> items,
                     std::vector<step_metric> metrics, bool is_plain);
  result<void> make_room(job& work);
  result<pending<void>> start(std::shared_ptr<job> work, std::vector<step_item> items);
  result<pending<void>> start_plain(std::shared_ptr<job> work, step_item item);
  result<void> name_item(job& work, const std::string& name, const json& document) const;
  result<void> open_items(job& work, bool by_many) const;
  result<save_report> finish_items(job& work);
  result<save_report> commit_items(job& work);
  void conclude(job& work, result<save_report> saved);
  result<void> verify_step(const std::string& name, const texts& documents) const;
  result<void> move_aside(const std::string& name, const std::string& why);
  void condemn(step_record step);
  result<void> erase_documents(const std::string& name) const;
  result<void> erase_step(const store_key& at) const;
  result<void> erase_keys(const std::string& name) const;
  result<void> remove(const step_record& of);
  result<std::vector<step_removal>> prune(const keep_policy& keep);
  std::vector<step_removal> would_go(const keep_policy& keep) const;
  void remove_old();
  void wait_for_removals();

  // -- restoring

  result<std::string> name_to_open(std::int64_t step, std::string_view item) const;
};

/// One save that is under way.
struct checkpoint_manager::state::job {
  explicit job(checkpoint_manager::state* of) : in(of) {}
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job() {
    const std::lock_guard hold(in->mutex);
    let_go();
  }
  /// No step is held any more, so that policies may remove them. With the mutex, as all of these.
  void let_go() {
    if (std::exchange(is_held, false)) release(in->saving, mark.step);
    release_base();
    for (const std::int64_t step : shared) release(in->bases, step);
    shared.clear();
  }
  void release_base() {
    if (base) release(in->bases, base->step);
    base.reset();
  }
  static void release(std::vector<std::int64_t>& held, std::int64_t step) {
    const auto at = std::find(held.begin(), held.end(), step);
    if (at != held.end()) held.erase(at);
  }
  void add(const std::string& item, save_report one);

  checkpoint_manager::state* const in;
  std::string name{};
  detail::step_mark mark{};
  bool is_held = false;                ///< the step is in `saving`
  bool replaces = false;               ///< a step that a manager wrote
  std::optional<step_record> base{};   ///< of a delta
  std::vector<leaf> whole{};           ///< to save if that is damaged
  std::vector<std::int64_t> shared{};  ///< what did not change since these is
  detail::leaf_copies copies{};
  std::unique_ptr<publication> tree{};
  std::string tree_name{};           ///< where others write to it, too
  std::optional<any_store> store{};  ///< of the step
  std::vector<std::pair<std::string, pending<save_report>>> parts{};
  std::size_t unfinished = 0;  ///< parts of a group
  texts documents{};
  save_report all{};  ///< of its items together
};

}}  // namespace zarrpoint::v0
