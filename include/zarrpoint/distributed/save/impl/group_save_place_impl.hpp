// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/overwritten_paths.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/write_threads.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<stored_place> group_save_place::target() const {
  return location_access::to_write(where_, storage_.sync, group_.how.stores);
}

ZARRPOINT_INLINE save_job group_save_place::job_in(any_store tree) const {
  return {std::move(tree), storage_, group_.how, group_.ranks.rank()};
}

ZARRPOINT_INLINE result<void> group_save_place::open() {
  ZARRPOINT_TRY(target, this->target());
  ZARRPOINT_CHECK(as_target().check(target, where_, storage_));
  if (storage_.overwrite) replaced_ = group_save_target::beneath(target);
  const bool alone = group_.ranks.size() == 1;
  if (target.store.can_publish()) {
    ZARRPOINT_TRY(
        staged, target.store.stage(target.key, {.overwrite = storage_.overwrite,
                                                .sync = storage_.sync,
                                                .write_behind = &v0::detail::write_threads::make}));
    if (alone || !staged->staged_name().empty()) {
      tree_ = std::move(staged);
      job_.emplace(job_in(tree_->store()));
      return {};
    }
  }
  if (!alone && location_access::is_path(where_))
    return error{errc::unsupported, "several processes can save to a directory only"};
  // A store that the processes share, being threads: in place, as `save` writes to a store that
  // cannot publish.
  job_.emplace(job_in(group_save_target::beneath(target)));
  return {};
}

ZARRPOINT_INLINE result<void> group_save_place::clear(group_save_report& report) {
  if (tree_) return {};
  ZARRPOINT_TRY(holds, as_target().holds_checkpoint(job_->store));
  std::optional<std::vector<std::string>> old;
  if (holds && job_->store.can_list()) {
    ZARRPOINT_TRY(paths, as_target().paths_of(job_->store));
    old = std::move(paths);
  }
  ZARRPOINT_CHECK(erase_root_document(job_->store));
  if (!holds) return {};
  // It may be of another layout, which must not show through.
  const auto erase = [&]() -> result<void> {
    if (!old) {
      ZARRPOINT_CHECK(job_->store.erase_all(store_key::root()));
      unnamed_ = as_target().removed_all(job_->store.can_list() ? "" : "its store cannot list");
      return {};
    }
    ZARRPOINT_TRY(kept, erase_own(job_->store, {*std::move(old), {}}));
    report.kept = std::move(kept);
    return {};
  };
  const auto erased = erase();
  if (erased) return {};
  if (erased.failure().code != errc::unsupported) return erased.failure();
  // Ours is none without its root document. What names another's must not vouch for new data.
  ZARRPOINT_TRY(stays, saver_.sharded_saver()->is_checkpoint(job_->store));
  if (!stays) return {};
  return error{errc::unsupported,
               "the old checkpoint of strategy " + to_string(saver_) +
                   " cannot be removed, which its store can neither list nor erase at once"};
}

ZARRPOINT_INLINE result<std::vector<std::string>> group_save_place::taken(
    const std::function<std::vector<std::string>()>& names) const {
  // In other layouts than ours the objects of a key may lie in a folder that others may use, too.
  ZARRPOINT_TRY(is_savers, saver_.sharded_saver()->is_checkpoint(job_->store));
  if (is_savers) {
    ZARRPOINT_TRY(paths, as_target().paths_of(job_->store));
    if (paths) return *std::move(paths);
  }
  std::vector<std::string> out = names();
  sort_names(out);
  return out;
}

ZARRPOINT_INLINE result<void> group_save_place::join(const std::string& staged_name) {
  ZARRPOINT_TRY(target, this->target());
  if (staged_name.empty()) {
    job_.emplace(job_in(group_save_target::beneath(target)));
    return {};
  }
  ZARRPOINT_TRY(tree, open_staged(target, staged_name, storage_.sync));
  job_.emplace(job_in(std::move(tree)));
  return {};
}

ZARRPOINT_INLINE result<void> group_save_place::publish(
    const std::function<std::vector<std::string>()>& names, told_commit& commit,
    group_save_report& report) {
  if (!tree_) {
    commit.take_place();
    if (!unnamed_.empty()) report.warnings.push_back(unnamed_);
    return {};
  }
  ZARRPOINT_TRY(is_there,
                replaced_ ? group_save_target::holds_something(*replaced_) : result<bool>(false));
  if (is_there) {
    ZARRPOINT_TRY(old, as_target().paths_of(*replaced_));
    if (old) {
      ZARRPOINT_TRY(mine, taken(names));
      ZARRPOINT_TRY(kept, tree_->keep({*std::move(old), std::move(mine)}));
      report.kept = std::move(kept);
    } else {
      unnamed_ = as_target().removed_all("");
    }
  }
  if (!unnamed_.empty()) report.warnings.push_back(unnamed_);
  ZARRPOINT_CHECK(tree_->commit());
  commit.take_place();
  // The new checkpoint is in its place: that it cannot be told of is not a failure of the save.
  static_cast<void>(guarded([&]() -> result<void> {
    return add_late(tree_->late(), report.kept, report.warnings), result<void>();
  }));
  return {};
}

}}}  // namespace zarrpoint::v0::detail
