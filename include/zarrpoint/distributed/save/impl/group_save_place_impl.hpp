// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/distributed/save/staged_store.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::vector<std::string>> erase_own(const any_store& root,
                                                            const owned_paths& owned) {
  std::vector<std::string> kept;
  std::vector<store_key> open{store_key::root()};
  while (!open.empty()) {
    const store_key at = std::move(open.back());
    open.pop_back();
    ZARRPOINT_TRY(entries, root.list(at));
    for (const list_entry& entry : entries) {
      const auto key = at.child(entry.name);
      if (!key) continue;
      const std::string path(key->str());
      const path_owner owner = owned.owner_of(path);
      if (owner == path_owner::foreign) kept.push_back(entry.is_prefix ? path + "/" : path);
      if (owner == path_owner::mixed && entry.is_prefix) open.push_back(*key);
      if (owner != path_owner::own) continue;
      if (entry.is_prefix) ZARRPOINT_CHECK(root.erase_all(*key));
      ZARRPOINT_CHECK(root.erase(*key));
    }
  }
  sort_names(kept);
  return kept;
}

ZARRPOINT_INLINE result<stored_place> group_save_place::target() const {
  return location_access::to_write(where_, storage_.sync, group_.how.stores);
}

ZARRPOINT_INLINE result<bool> group_save_place::check(const stored_place& target) const {
  const sharded_saver_interface* const saver = saver_.sharded_saver();
  const any_store root = beneath(target);
  const auto look = [](bool is_whole) { return own_look{is_whole}; };
  replace_rule rule{where_.name(), storage_.overwrite, "a zarrpoint checkpoint",
                    directory_kind::zarr};
  if (!saver->has_own_format())
    return check_replace(target, rule, holds_commit(root, group_.how.limit).transform(look));
  // Whatever else its files are called; but a load would take a checkpoint of ours for the whole.
  rule.name = "a checkpoint of " + to_string(saver_);
  rule.kind.reset();
  rule.may_hold = {directory_kind::megatron, directory_kind::orbax, directory_kind::dcp};
  return check_replace(target, rule, saver->is_checkpoint(root).transform(look));
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::string>>> group_save_place::paths_of(
    const any_store& root) const {
  const sharded_saver_interface* const saver = saver_.sharded_saver();
  if (!saver->has_own_format())
    return paths_of_checkpoint(root, group_.how).transform([](auto paths) {
      return std::optional(std::move(paths));
    });
  ZARRPOINT_TRY(is_savers, saver->is_checkpoint(root));
  if (!is_savers) return std::optional(std::vector<std::string>());
  ZARRPOINT_TRY(paths, saver->paths_of(root));
  if (paths) sort_names(*paths);
  return std::move(paths);
}

/// A warning that nothing was kept.
ZARRPOINT_INLINE std::string removed_all(const any_strategy& saver, const any_store& from) {
  return "all that lay with the old checkpoint was removed, and kept does not name it: " +
         (from.can_list() ? "strategy " + to_string(saver) +
                                " does not say which files are the checkpoint (paths_of)"
                          : std::string("its store cannot list"));
}

ZARRPOINT_INLINE save_job group_save_place::job_in(any_store tree) const {
  return {std::move(tree), storage_, group_.how, group_.ranks.rank()};
}

ZARRPOINT_INLINE result<void> group_save_place::open() {
  ZARRPOINT_TRY(target, this->target());
  ZARRPOINT_TRY(is_there, check(target));
  is_there_ = is_there;
  if (storage_.overwrite) replaced_ = beneath(target);
  const bool alone = group_.ranks.size() == 1;
  if (target.store.can_publish()) {
    ZARRPOINT_TRY(staged, stage(target, {.overwrite = storage_.overwrite, .sync = storage_.sync}));
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
  job_.emplace(job_in(beneath(target)));
  return {};
}

ZARRPOINT_INLINE result<void> group_save_place::clear(save_summary& report) {
  if (tree_) return {};
  std::optional<std::vector<std::string>> old;
  if (is_there_ && job_->store.can_list()) {
    ZARRPOINT_TRY(paths, paths_of(job_->store));
    old = std::move(paths);
  }
  ZARRPOINT_CHECK(erase_root_document(job_->store));
  if (!is_there_) return {};
  // It may be of another layout, which must not show through.
  const auto erase = [&]() -> result<void> {
    if (!old) {
      ZARRPOINT_CHECK(job_->store.erase_all(store_key::root()));
      unnamed_ = removed_all(saver_, job_->store);
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
    ZARRPOINT_TRY(paths, paths_of(job_->store));
    if (paths) return *std::move(paths);
  }
  std::vector<std::string> out = names();
  sort_names(out);
  return out;
}

ZARRPOINT_INLINE result<void> group_save_place::join(const std::string& staged_name) {
  ZARRPOINT_TRY(target, this->target());
  if (staged_name.empty()) {
    job_.emplace(job_in(beneath(target)));
    return {};
  }
  ZARRPOINT_TRY(tree, open_staged(target, staged_name, storage_.sync));
  job_.emplace(job_in(std::move(tree)));
  return {};
}

ZARRPOINT_INLINE result<void> group_save_place::publish(
    const std::function<std::vector<std::string>()>& names, commit_outcome& commit,
    save_summary& report) {
  if (!tree_) {
    commit.take_place();
    if (!unnamed_.empty()) report.warnings.push_back(unnamed_);
    return {};
  }
  std::optional<owned_paths> owned;
  if (replaced_) {
    bool is_there = true;
    if (replaced_->can_list()) {
      ZARRPOINT_TRY(entries, replaced_->list(store_key::root()));
      is_there = !entries.empty();
    }
    ZARRPOINT_TRY(old, is_there ? paths_of(*replaced_)
                                : result<std::optional<std::vector<std::string>>>(std::nullopt));
    if (old) {
      ZARRPOINT_TRY(mine, taken(names));
      owned = {*std::move(old), std::move(mine)};
    } else if (is_there) {
      unnamed_ = removed_all(saver_, *replaced_);
    }
  }
  if (!unnamed_.empty()) report.warnings.push_back(unnamed_);
  ZARRPOINT_CHECK(detail::publish(*tree_, owned, report));
  commit.take_place();
  return {};
}

}}}  // namespace zarrpoint::v0::detail
