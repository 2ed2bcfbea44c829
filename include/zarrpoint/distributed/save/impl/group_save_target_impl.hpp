// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/save/overwritten_paths.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/save/group_save_target.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> group_save_target::check(const stored_place& target,
                                                       const location& where,
                                                       const save_options& storage) const {
  ZARRPOINT_TRY(replaceable, saver.sharded_saver()->is_checkpoint(beneath(target)));
  if (!replaceable) return check_target(target, where, storage, how.limit).transform([](bool) {});
  if (storage.overwrite) return {};
  return error{errc::already_exists,
               where.name() + " is there already, and save_options::overwrite is false"};
}

ZARRPOINT_INLINE result<bool> group_save_target::holds_checkpoint(const any_store& root) const {
  for (const std::string_view name : {"zarr.json", ".zgroup", ".zattrs", ".zarray"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_TRY(document, root.open(key));
    if (document != nullptr) return true;
  }
  return saver.sharded_saver()->is_checkpoint(root);
}

ZARRPOINT_INLINE result<bool> group_save_target::holds_something(const any_store& root) {
  if (!root.can_list()) return true;
  return root.list(store_key::root()).transform([](const auto& all) { return !all.empty(); });
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::string>>> group_save_target::paths_of(
    const any_store& root) const {
  ZARRPOINT_TRY(is_savers, saver.sharded_saver()->is_checkpoint(root));
  std::optional<std::vector<std::string>> out = std::vector<std::string>();
  if (is_savers) {
    ZARRPOINT_TRY(theirs, saver.sharded_saver()->paths_of(root));
    out = std::move(theirs);
  }
  if (!out) return out;
  // Ours must not stay beside what replaces it: a load would take it for the checkpoint.
  ZARRPOINT_TRY(is_ours, is_savers ? holds_commit(root, how.limit) : result<bool>(true));
  if (is_ours) {
    ZARRPOINT_TRY(ours, paths_of_checkpoint(root, how));
    out->insert(out->end(), ours.begin(), ours.end());
  }
  sort_names(*out);
  return out;
}

ZARRPOINT_INLINE any_store group_save_target::beneath(const stored_place& target) {
  return target.key.is_root() ? target.store : any_store(prefix_store(target.store, target.key));
}

ZARRPOINT_INLINE std::string group_save_target::removed_all(std::string_view why) const {
  return "all that lay with the old checkpoint was removed, and kept does not name it: " +
         (why.empty() ? "strategy " + to_string(saver) +
                            " does not say which files are the checkpoint (paths_of)"
                      : std::string(why));
}

}}}  // namespace zarrpoint::v0::detail
