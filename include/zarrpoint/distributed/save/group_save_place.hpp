// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/commit_outcome.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The directory in which rank 0 publishes `target`, for the other processes that write there, too.
/// `name` is the `publication::staged_name` that it told. Errors: `corrupt` for what does not name
/// a directory beside the target; those of `file_store::open`.
result<any_store> open_staged(const stored_place& target, const std::string& name, bool sync);

/// Erases what is not foreign. Returns the paths of the rest, those of directories with a "/" at
/// the end.
result<std::vector<std::string>> erase_own(const any_store& root, const owned_paths& owned);

/// What a format says of the directory that a save of it replaces.
class place_rules {
 public:
  virtual ~place_rules() = default;
  /// All but `where` and `overwrite`, which are the save's.
  virtual replace_rule rule() const = 0;
  virtual result<own_look> look(const any_store& root) const = 0;
  /// The files and directories of the checkpoint at the root; nothing where the format does not
  /// say which those are.
  virtual result<std::optional<std::vector<std::string>>> paths_of(const any_store& root) const = 0;
  /// Erases what makes a directory a checkpoint: it must not vouch for new data.
  virtual result<void> erase_document(const any_store& root) const = 0;
};

/// Where the tree of a save is, and how it takes its place. Rank 0 opens it, clears it and
/// publishes; the others join. All that it is made of is the caller's, and outlives it.
class group_save_place {
 public:
  group_save_place(const location& where, const save_group& group, const publish_options& how,
                   const place_rules& rules)
      : where_(where), group_(group), how_(how), rules_(rules) {}

  /// Changes nothing that is there. Errors: `already_exists`, `unsupported`, `io`.
  result<void> open();

  /// In a store that cannot publish: removes the old checkpoint, once nothing is refused any more.
  result<void> clear(save_summary& report);

  /// The tree that rank 0 made, by its name, which is empty in a store that cannot publish.
  result<void> join(const std::string& staged_name);

  /// The new tree takes the place of the old one, with what is kept of that. It is all but what the
  /// new checkpoint, whose files and directories are `paths`, lets nothing into.
  result<void> publish(const std::function<result<std::vector<std::string>>()>& paths,
                       commit_outcome& commit, save_summary& report);

  /// After `open` or `join`: its root becomes the checkpoint.
  const any_store& store() const { return *store_; }
  /// Empty where the tree is the checkpoint itself.
  std::string staged_name() const { return tree_ ? tree_->staged_name() : std::string(); }

 private:
  result<stored_place> target() const;
  replace_rule rule() const;

  const location& where_;
  const save_group& group_;
  const publish_options how_;
  const place_rules& rules_;
  std::optional<any_store> store_;
  // Of rank 0 alone:
  std::unique_ptr<publication> tree_;
  std::optional<any_store> replaced_;  ///< whose root is what may be replaced
  bool is_there_ = false;              ///< a checkpoint that is replaced
  std::string unnamed_;                ///< a warning: what was removed that no report names
};

}}}  // namespace zarrpoint::v0::detail
