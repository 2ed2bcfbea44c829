// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Erases what is not foreign. Returns the paths of the rest, those of directories with a "/" at
/// the end.
result<std::vector<std::string>> erase_own(const any_store& root, const owned_paths& owned);

/// Where the tree of a save is, and how it takes its place. Rank 0 opens it, clears it and
/// publishes; the others join. All that it is made of is the caller's, and outlives it.
class group_save_place {
 public:
  group_save_place(const location& where, const process_group& group, const any_strategy& saver,
                   const save_options& storage)
      : where_(where), group_(group), saver_(saver), storage_(storage) {}

  /// Changes nothing that is there. Errors: `already_exists`, `unsupported`, `io`.
  result<void> open();

  /// In a store that cannot publish: removes the old checkpoint, once nothing is refused any more.
  result<void> clear(save_summary& report);

  /// The tree that rank 0 made, by its name, which is empty in a store that cannot publish.
  result<void> join(const std::string& staged_name);

  /// The new tree takes the place of the old one, with what is kept of that: all but what the new
  /// checkpoint lets nothing into, `names` in the layouts that do not say so themselves.
  result<void> publish(const std::function<std::vector<std::string>()>& names,
                       commit_outcome& commit, save_summary& report);

  /// After `open` or `join`.
  const save_job& job() const { return *job_; }
  /// Empty where the tree is the checkpoint itself.
  std::string staged_name() const { return tree_ ? tree_->staged_name() : std::string(); }
  /// The tree is not needed any more.
  void close() { tree_.reset(); }

 private:
  result<stored_place> target() const;
  /// Refuses what must not be replaced.
  result<bool> check(const stored_place& target) const;
  /// The paths of the checkpoint at the root; nothing where the saver does not say which are its
  /// own.
  result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const;
  save_job job_in(any_store tree) const;

  /// What the new checkpoint lets nothing into, sorted.
  result<std::vector<std::string>> taken(
      const std::function<std::vector<std::string>()>& names) const;

  const location& where_;
  const process_group& group_;
  const any_strategy& saver_;
  const save_options& storage_;
  std::optional<save_job> job_;
  // Of rank 0 alone:
  std::unique_ptr<publication> tree_;
  std::optional<any_store> replaced_;  ///< whose root is what may be replaced
  bool is_there_ = false;              ///< a checkpoint that is replaced
  std::string unnamed_;                ///< a warning: what was removed that no report names
};

}}}  // namespace zarrpoint::v0::detail
