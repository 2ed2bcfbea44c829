// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/manager/group_manager.hpp>
#include <zarrpoint/manager/manager_state.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <deque>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------- group_manager.hpp

struct group_checkpoint_manager::state_of_rank {
  state_of_rank(location at, process_group of, group_save_options how)
      : where(std::move(at)), group(std::move(of)), saves(std::move(how)), queue(group) {}

  const location where;
  const process_group group;
  group_save_options saves;
  std::optional<checkpoint_manager> root{};  ///< on rank 0
  std::string item{};                        ///< of steps in a format of their own
  std::size_t most_under_way = 1;
  when_busy busy = when_busy::wait;
  bool background = true;
  std::atomic<bool> requested{false};
  bool has_told_request = false;  ///< its own, by `should_save`
  bool was_requested = false;     ///< by any process
  async_saves queue;
  std::deque<std::int64_t> queued{};  ///< whose step each save of the queue is, or is a part of
  std::optional<error> first{};
  std::size_t errors = 0;
  std::vector<std::string> warnings{};  ///< but on rank 0

  checkpoint_manager::state* inner() { return root ? root->state_.get() : nullptr; }

  /// What rank 0 makes by `f`, which returns a result of a node, on every rank.
  template <class F>
  result<json> from_root(F&& f) {
    result<message> mine = message();
    if (root) {
      mine = guarded([&]() -> result<message> {
        ZARRPOINT_TRY(made, f(*inner()));
        const std::string text = dump_json(made);
        const bytes_view bytes = as_bytes(text);
        return message(bytes.begin(), bytes.end());
      });
    }
    ZARRPOINT_TRY(all, detail::broadcast_result(group.ranks, std::move(mine)));
    return parse_json(all);
  }

  /// An error that all processes have, and that `close` tells again.
  error note(error why) {
    ++errors;
    if (!first) first = why;
    return why;
  }

  /// Commits what is written, or with `all` what is under way; with `removals` all is done then.
  result<void> finish(bool all, bool removals = false) {
    auto committed = queue.finalize(all);
    result<void> mine;
    auto* const at = inner();
    for (; queued.size() > queue.unfinalized(); queued.pop_front())
      if (at != nullptr) at->of_group.pop_front();
    if (at != nullptr && removals) at->wait_for_removals();
    if (at != nullptr && committed) mine = at->tell();  // else the next call tells it
    if (!committed) return note(std::move(committed).failure());
    auto agreed = agree(group.ranks, std::move(mine));
    if (!agreed) return note(std::move(agreed).failure());
    return {};
  }

  /// How many steps are under way.
  std::size_t steps() const {
    std::size_t out = 0;
    for (std::size_t i = 0; i < queued.size(); ++i) out += i == 0 || queued[i] != queued[i - 1];
    return out;
  }

  result<location> place(const std::string& name) const {
    if (detail::location_access::is_path(where)) return location(where.name() + '/' + name);
    ZARRPOINT_TRY(at, detail::location_access::to_write(where, true, group.how.stores));
    ZARRPOINT_TRY(key, at.key.child(name));
    return location(at.store, key);
  }
  /// Where rank 0 has the items of a step written, `tree` being `job::tree_name`.
  result<any_store> tree_of(const std::string& name, const std::string& tree) const {
    ZARRPOINT_TRY(at, place(name));
    const bool sync = saves.storage.sync;
    ZARRPOINT_TRY(target, detail::location_access::to_write(at, sync, group.how.stores));
    if (tree.empty()) return detail::beneath(target);
    return detail::open_staged(target, tree, sync);
  }

  /// What rank 0 has decided of a save.
  struct order {
    std::shared_ptr<checkpoint_manager::state::job> work{};  ///< on rank 0
    json told{};
  };
  result<order> prepare(std::int64_t step, const std::vector<group_item>& items,
                        std::vector<step_metric> metrics);
  result<void> schedule(const order& what, const location& at, const group_item& item,
                        const std::string& before);
  result<bool> begin(std::int64_t step, std::vector<group_item> items,
                     std::vector<step_metric> metrics);

  template <class F>
  result<void> on_root(F&& work) {
    return from_root([&](checkpoint_manager::state&) -> result<json> {
             ZARRPOINT_CHECK(work(*root));
             return json();
           })
        .transform([](const json&) {});
  }
  template <class F>
  result<std::vector<step_removal>> removals_on_root(F&& work) {
    ZARRPOINT_TRY(told, from_root([&](checkpoint_manager::state&) -> result<json> {
                    ZARRPOINT_TRY(all, result<std::vector<step_removal>>(work(*root)));
                    json::array out;
                    for (step_removal& one : all)
                      out.emplace_back(json::array{one.step, std::move(one.name),
                                                   std::move(one.why), one.stays});
                    return json(std::move(out));
                  }));
    std::vector<step_removal> out;
    for (const json& one : *told.if_array()) {
      const json::array& of = *one.if_array();
      out.push_back({*of[0].to_int64(), *of[1].if_string(), *of[2].if_string(), *of[3].if_bool()});
    }
    return out;
  }

  template <class F>
  result<std::optional<std::int64_t>> step_from_root(F&& ask) {
    ZARRPOINT_TRY(found, from_root([&](checkpoint_manager::state&) -> result<json> {
                    ZARRPOINT_TRY(step, ask(*root));
                    return step ? json(*step) : json();
                  }));
    return found.to_int64();
  }
};

ZARRPOINT_INLINE group_checkpoint_manager::group_checkpoint_manager(
    std::unique_ptr<state_of_rank> opened)
    : state_(std::move(opened)) {}
ZARRPOINT_INLINE group_checkpoint_manager::group_checkpoint_manager(
    group_checkpoint_manager&&) noexcept = default;
ZARRPOINT_INLINE group_checkpoint_manager& group_checkpoint_manager::operator=(
    group_checkpoint_manager&&) noexcept = default;
ZARRPOINT_INLINE group_checkpoint_manager::~group_checkpoint_manager() = default;

ZARRPOINT_INLINE result<group_checkpoint_manager> group_checkpoint_manager::open(
    const location& where, process_group group, manager_options options, group_save_options saves) {
  return guarded([&]() -> result<group_checkpoint_manager> {
    const auto plans = std::move(saves.storage.plans);
    saves.storage = options.storage;
    if (!saves.storage.plans) saves.storage.plans = plans;
    std::unique_ptr<state_of_rank> made(
        new state_of_rank(where, std::move(group), std::move(saves)));
    state_of_rank& self = *made;
    self.busy = options.busy;
    self.background = options.background;
    self.most_under_way = std::max<std::size_t>(options.most_under_way, 1);
    self.item = options.item;
    result<void> mine;
    if (options.whole_when)
      mine = error{errc::unsupported,
                   "manage " + where.name() +
                       ": a group saves whole steps, since a delta is written by one process that "
                       "has its base: leave out whole_when"};
    if (mine && self.group.ranks.rank() == 0) {
      auto opened = checkpoint_manager::open(where, std::move(options));
      if (opened) {
        self.root = *std::move(opened);
      } else {
        mine = std::move(opened).failure();
      }
    }
    ZARRPOINT_CHECK(agree(self.group.ranks, std::move(mine)));
    return group_checkpoint_manager(std::move(made));
  });
}

ZARRPOINT_INLINE void group_checkpoint_manager::request_save() noexcept {
  state_->requested.store(true, std::memory_order_relaxed);
}

ZARRPOINT_INLINE result<bool> group_checkpoint_manager::should_save(std::int64_t step) {
  const bool asks = state_->requested.load(std::memory_order_relaxed);
  state_->has_told_request = asks;
  ZARRPOINT_TRY(all, gather(state_->group.ranks, message(asks ? 1 : 0)));
  ZARRPOINT_TRY(answer, state_->from_root([&](checkpoint_manager::state& at) -> result<json> {
    for (const message& one : all)
      if (!one.empty()) at.requested.store(true, std::memory_order_relaxed);
    json out;
    out.set("due", state_->root->should_save(step));
    out.set("requested", state_->root->save_requested());
    return out;
  }));
  state_->was_requested = *answer.find("requested")->if_bool();
  return *answer.find("due")->if_bool();
}

ZARRPOINT_INLINE bool group_checkpoint_manager::save_requested() const noexcept {
  return state_->was_requested;
}

/// Rank 0 sees to what is there, and opens the place. Items without names are the step itself.
ZARRPOINT_INLINE result<group_checkpoint_manager::state_of_rank::order>
group_checkpoint_manager::state_of_rank::prepare(std::int64_t step,
                                                 const std::vector<group_item>& items,
                                                 std::vector<step_metric> metrics) {
  order out;
  const auto decide = [&](checkpoint_manager::state& at) -> result<json> {
    ZARRPOINT_CHECK(at.check_owner());
    for (const auto& one : at.of_group)
      if (one.first == step) return error{errc::already_exists, "it is being saved"};
    ZARRPOINT_TRY(work, at.prepare(step, std::move(metrics)));
    json::array names, previous;
    for (const group_item& one : items) {
      if (!one.name.empty()) ZARRPOINT_CHECK(at.name_item(*work, one.name, one.document));
      names.emplace_back(one.name);
      previous.emplace_back();  // null: a document
      if (!one.document.is_null()) continue;
      previous.back() = at.share(*work, one.name);
      ++work->unfinished;
    }
    ZARRPOINT_CHECK(items.front().name.empty() ? at.note_begun(work->name)
                                               : at.open_items(*work, group.ranks.size() > 1));
    json made;
    made.set("name", work->name);
    made.set("tree", work->tree_name);
    made.set("replaces", work->replaces);
    made.set("mark", to_json(work->mark));
    made.set("names", std::move(names));
    made.set("previous", std::move(previous));
    out.work = std::move(work);
    return made;
  };
  ZARRPOINT_TRY(told, from_root(decide));
  out.told = std::move(told);
  const json::array& names = *out.told.find("names")->if_array();
  const bool are_same = std::equal(
      names.begin(), names.end(), items.begin(), items.end(),
      [](const json& name, const group_item& mine) { return *name.if_string() == mine.name; });
  ZARRPOINT_CHECK(agree(
      group.ranks, are_same ? result<void>()
                            : error{errc::invalid_argument, "the items are not those of rank 0"}));
  return out;
}

/// Has one item saved, or the step itself; the last one of a step commits it.
ZARRPOINT_INLINE result<void> group_checkpoint_manager::state_of_rank::schedule(
    const order& what, const location& at, const group_item& item, const std::string& before) {
  group_save_options how = item.options.value_or(saves);
  how.storage.overwrite = false;
  how.storage.previous.reset();
  if (item.name.empty()) {
    how.storage.overwrite = *what.told.find("replaces")->if_bool();
    how.storage.attributes.set(std::string(detail::step_mark::member), *what.told.find("mark"));
  }
  if (!before.empty() && !how.storage.format) {
    ZARRPOINT_TRY(previous, agree(group.ranks, place(before)));
    how.storage.previous = std::move(previous);
  }
  // No error of one process alone: the others would wait for it.
  async_saves::finalizer then = [this](const save_report& done) -> result<void> {
    static_cast<void>(guarded([&]() -> result<void> {
      detail::add_warnings(warnings, done.warnings);
      return {};
    }));
    return {};
  };
  checkpoint_manager::state* const root = inner();
  if (root != nullptr) {
    then = [root, work = what.work, name = item.name](const save_report& done) -> result<void> {
      // `tell` has what fails.
      auto concluded = guarded([&]() -> result<void> {
        if (!name.empty()) work->add(name, done);
        if (--work->unfinished != 0) return {};
        save_report report = done;
        if (name.empty()) {
          if (auto seen = root->look(work->name)) report.stored_bytes = seen->record.bytes;
          root->conclude(*work, std::move(report));
        } else {
          root->conclude(*work, guarded([&] { return root->commit_items(*work); }));
        }
        return {};
      });
      if (!concluded) root->fail(concluded.failure());
      return {};
    };
  }
  return queue.schedule(at, item.tree, how, std::move(then));
}

ZARRPOINT_INLINE result<bool> group_checkpoint_manager::state_of_rank::begin(
    std::int64_t step, std::vector<group_item> items, std::vector<step_metric> metrics) {
  ZARRPOINT_CHECK(finish(false));
  if (steps() >= most_under_way) {
    if (busy == when_busy::skip) return false;
    ZARRPOINT_CHECK(finish(true));
  }
  ZARRPOINT_TRY(what, prepare(step, items, std::move(metrics)));
  const std::string& name = *what.told.find("name")->if_string();
  std::optional<any_store> tree;
  if (!items.front().name.empty()) {
    // A directory has one name on all. In a bucket rank 0's own store keeps documents back.
    const std::string& tree_name = *what.told.find("tree")->if_string();
    const bool is_own =
        what.work && (tree_name.empty() || tree_name.find('/') != std::string::npos);
    ZARRPOINT_TRY(opened, agree(group.ranks, is_own ? result<any_store>(*what.work->store)
                                                    : tree_of(name, tree_name)));
    tree = std::move(opened);
  }
  const json::array& previous = *what.told.find("previous")->if_array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (previous[i].is_null()) continue;
    auto at = agree(group.ranks, [&]() -> result<location> {
      if (!tree) return place(name);
      ZARRPOINT_TRY(key, store_key::parse(items[i].name));
      return location(*tree, key);
    }());
    auto begun =
        at ? schedule(what, *at, items[i], *previous[i].if_string()) : result<void>(at.failure());
    if (!begun) {  // on all: what was scheduled before is written, and not committed
      if (!queued.empty() && queued.back() == step) static_cast<void>(finish(true));
      return std::move(begun).failure();
    }
    queued.push_back(step);
    if (auto* const root = inner()) root->of_group.emplace_back(step, what.work->mark.saved_at);
  }
  if (auto* const root = inner()) {
    root->take_request();
    if (what.work->unfinished == 0)  // of documents alone
      root->conclude(*what.work, guarded([&] { return root->commit_items(*what.work); }));
  }
  if (std::exchange(has_told_request, false)) requested.store(false, std::memory_order_relaxed);
  if (!background) ZARRPOINT_CHECK(finish(true, true));
  return true;
}

ZARRPOINT_INLINE result<bool> group_checkpoint_manager::save(std::int64_t step, const state& tree,
                                                             std::vector<step_metric> metrics) {
  return guarded([&] {
           std::vector<group_item> items(1);
           items.front().tree = tree;
           if (state_->saves.storage.format) items.front().name = state_->item;
           return state_->begin(step, std::move(items), std::move(metrics));
         })
      .at("save step " + std::to_string(step) + " in " + state_->where.name());
}

ZARRPOINT_INLINE result<bool> group_checkpoint_manager::save_items(
    std::int64_t step, std::vector<group_item> items, std::vector<step_metric> metrics) {
  return guarded([&]() -> result<bool> {
           bool are_named = !items.empty();
           for (const group_item& one : items) are_named = are_named && !one.name.empty();
           ZARRPOINT_CHECK(
               agree(state_->group.ranks,
                     are_named ? result<void>()
                               : error{errc::invalid_argument, "a step needs items with names"}));
           return state_->begin(step, std::move(items), std::move(metrics));
         })
      .at("save step " + std::to_string(step) + " in " + state_->where.name());
}

ZARRPOINT_INLINE result<void> group_checkpoint_manager::wait() {
  return state_->finish(true, true);
}

ZARRPOINT_INLINE result<void> group_checkpoint_manager::close() {
  static_cast<void>(state_->finish(true, true));  // it is the first, or comes after it
  if (state_->root) static_cast<void>(state_->root->close());
  if (!state_->first) return {};
  error out = *state_->first;
  if (state_->errors > 1)
    out.message += "; and " + std::to_string(state_->errors - 1) + " more errors after it";
  return out.at("close the manager of " + state_->where.name());
}

ZARRPOINT_INLINE result<std::vector<std::int64_t>> group_checkpoint_manager::steps() {
  ZARRPOINT_TRY(found, state_->from_root([&](checkpoint_manager::state&) -> result<json> {
    json::array out;
    for (const std::int64_t step : state_->root->steps()) out.emplace_back(step);
    return json(std::move(out));
  }));
  std::vector<std::int64_t> out;
  for (const json& one : *found.if_array()) out.push_back(*one.to_int64());
  return out;
}

ZARRPOINT_INLINE result<std::optional<std::int64_t>> group_checkpoint_manager::latest() {
  return state_->step_from_root([](checkpoint_manager& at) { return at.latest(); });
}

ZARRPOINT_INLINE result<std::optional<std::int64_t>> group_checkpoint_manager::best(
    std::string_view metric, better is) {
  return state_->step_from_root([&](checkpoint_manager& at) { return at.best(metric, is); });
}

ZARRPOINT_INLINE result<location> group_checkpoint_manager::place_of(std::int64_t step,
                                                                     std::string_view item) {
  ZARRPOINT_TRY(name, state_->from_root([&](checkpoint_manager::state& at) -> result<json> {
    ZARRPOINT_TRY(found, at.name_to_open(step, item));
    return json(std::move(found));
  }));
  return state_->place(*name.if_string());
}

ZARRPOINT_INLINE result<json> group_checkpoint_manager::document(std::int64_t step,
                                                                 std::string_view item) {
  return state_->from_root(
      [&](checkpoint_manager::state&) { return state_->root->document(step, item); });
}

ZARRPOINT_INLINE result<std::vector<step_removal>> group_checkpoint_manager::dry_run() {
  return state_->removals_on_root([](checkpoint_manager& at) { return at.dry_run(); });
}
ZARRPOINT_INLINE result<std::vector<step_removal>> group_checkpoint_manager::dry_run(
    const keep_policy& keep) {
  return state_->removals_on_root([&](checkpoint_manager& at) { return at.dry_run(keep); });
}
ZARRPOINT_INLINE result<std::vector<step_removal>> group_checkpoint_manager::prune() {
  return state_->removals_on_root([](checkpoint_manager& at) { return at.prune(); });
}
ZARRPOINT_INLINE result<std::vector<step_removal>> group_checkpoint_manager::prune(
    const keep_policy& keep) {
  return state_->removals_on_root([&](checkpoint_manager& at) { return at.prune(keep); });
}
ZARRPOINT_INLINE result<void> group_checkpoint_manager::remove(std::int64_t step, bool force) {
  return state_->on_root([&](checkpoint_manager& at) { return at.remove(step, force); });
}
ZARRPOINT_INLINE result<void> group_checkpoint_manager::pin(std::int64_t step, bool pinned) {
  return state_->on_root([&](checkpoint_manager& at) { return at.pin(step, pinned); });
}
ZARRPOINT_INLINE result<void> group_checkpoint_manager::refresh() {
  return state_->on_root([](checkpoint_manager& at) { return at.refresh(); });
}

ZARRPOINT_INLINE std::vector<std::string> group_checkpoint_manager::warnings() {
  return state_->root ? state_->root->warnings() : std::exchange(state_->warnings, {});
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/manager/bodies.hpp>
#endif
