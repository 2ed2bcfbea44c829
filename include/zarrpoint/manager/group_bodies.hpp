// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/manager/group_manager.hpp>
#include <zarrpoint/manager/manager_state.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

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
  std::size_t most_under_way = 1;
  when_busy busy = when_busy::wait;
  bool background = true;
  std::atomic<bool> requested{false};
  bool has_told_request = false;  ///< its own, by `should_save`
  bool was_requested = false;     ///< by any process
  async_saves queue;
  std::optional<error> first{};
  std::size_t errors = 0;

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

  /// Commits what is written, or with `all` what is under way.
  result<void> finish(bool all) {
    auto committed = queue.finalize(all);
    result<void> mine;
    if (auto* const at = inner()) {
      while (at->of_group.size() > queue.unfinalized()) at->of_group.pop_front();
      if (committed) mine = at->tell();  // else the next call tells it
    }
    if (!committed) return note(std::move(committed).failure());
    auto agreed = agree(group.ranks, std::move(mine));
    if (!agreed) return note(std::move(agreed).failure());
    return {};
  }

  result<std::string> name_of(std::int64_t step) {
    ZARRPOINT_TRY(
        name, from_root([&](checkpoint_manager::state& at) -> result<json> {
          const std::lock_guard hold(at.mutex);
          const step_record* const found = at.find(step);
          if (found == nullptr)
            return error{errc::not_found, at.where.name() + " has no step " + std::to_string(step)};
          return json(found->name);
        }));
    return *name.if_string();
  }

  result<location> place(const std::string& name) const {
    if (detail::location_access::is_path(where)) return location(where.name() + '/' + name);
    ZARRPOINT_TRY(at, detail::location_access::to_write(where, true, group.how.stores));
    ZARRPOINT_TRY(key, at.key.child(name));
    return location(at.store, key);
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
    result<void> mine;
    if (options.storage.format)
      mine =
          error{errc::unsupported, "manage " + where.name() +
                                       ": a group saves its steps in Zarr: leave out the format"};
    if (options.whole_when)
      mine = error{errc::unsupported,
                   "manage " + where.name() + ": a group saves whole steps: leave out whole_when"};
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

ZARRPOINT_INLINE result<bool> group_checkpoint_manager::save(std::int64_t step, const state& tree,
                                                             std::vector<step_metric> metrics) {
  state_of_rank& self = *state_;
  const auto run = [&]() -> result<bool> {
    ZARRPOINT_CHECK(self.finish(false));
    if (self.queue.unfinalized() >= self.most_under_way) {
      if (self.busy == when_busy::skip) return false;
      ZARRPOINT_CHECK(self.finish(true));
    }
    std::shared_ptr<checkpoint_manager::state::job> work;
    ZARRPOINT_TRY(agreed, self.from_root([&](checkpoint_manager::state& at) -> result<json> {
      ZARRPOINT_CHECK(at.check_owner());
      for (const auto& one : at.of_group)
        if (one.first == step) return error{errc::already_exists, "it is being saved"};
      ZARRPOINT_TRY(made, at.prepare(step, std::move(metrics)));
      work = std::move(made);
      if (at.leaves_notes()) {
        ZARRPOINT_TRY(begun, checkpoint_manager::state::note("begun_" + work->name));
        ZARRPOINT_CHECK(at.root.put(begun, {}));
      }
      json out;
      out.set("name", work->name);
      out.set("replaces", work->replaces);
      out.set("mark", to_json(work->mark));
      out.set("previous", at.share(*work));
      return out;
    }));
    group_save_options how = self.saves;
    how.storage.overwrite = *agreed.find("replaces")->if_bool();
    how.storage.attributes.set(std::string(detail::step_mark::member), *agreed.find("mark"));
    how.storage.previous.reset();
    ZARRPOINT_TRY(at, agree(self.group.ranks, self.place(*agreed.find("name")->if_string())));
    if (const std::string& before = *agreed.find("previous")->if_string(); !before.empty()) {
      ZARRPOINT_TRY(previous, agree(self.group.ranks, self.place(before)));
      how.storage.previous = std::move(previous);
    }
    async_saves::finalizer then;
    checkpoint_manager::state* const inner = self.inner();
    if (inner != nullptr) {
      then = [inner, work](const save_report& done) -> result<void> {
        // No error of one process alone: the others would wait for it. `tell` has it.
        auto concluded = guarded([&]() -> result<void> {
          save_report report = done;
          if (auto seen = inner->look(work->name)) report.stored_bytes = seen->record.bytes;
          static_cast<void>(inner->conclude(*work, std::move(report)));
          return {};
        });
        if (!concluded) inner->fail(concluded.failure());
        return {};
      };
    }
    ZARRPOINT_CHECK(self.queue.schedule(at, tree, how, std::move(then)));
    if (inner != nullptr) {
      inner->of_group.emplace_back(step, work->mark.saved_at);
      inner->take_request();
    }
    if (std::exchange(self.has_told_request, false))
      self.requested.store(false, std::memory_order_relaxed);
    if (!self.background) ZARRPOINT_CHECK(self.finish(true));
    return true;
  };
  return guarded(run).at("save step " + std::to_string(step) + " in " + self.where.name());
}

ZARRPOINT_INLINE result<void> group_checkpoint_manager::wait() { return state_->finish(true); }

ZARRPOINT_INLINE result<void> group_checkpoint_manager::close() {
  static_cast<void>(state_->finish(true));  // it is the first, or comes after it
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

ZARRPOINT_INLINE result<location> group_checkpoint_manager::place_of(std::int64_t step) {
  ZARRPOINT_TRY(name, state_->name_of(step));
  return state_->place(name);
}

ZARRPOINT_INLINE std::vector<std::string> group_checkpoint_manager::warnings() {
  return state_->root ? state_->root->warnings() : std::vector<std::string>();
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/save_bodies.hpp>
#include <zarrpoint/manager/bodies.hpp>
#endif
