// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Where a tree is going to be, and what is there already.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// What is at the target already.
struct previous_checkpoint {
  bool is_there = false;
  checkpoint_facts about;          ///< of a step
  std::vector<std::string> paths;  ///< what is replaced, sorted
};

/// The options with what they leave unsaid.
save_tree_options with_item(save_tree_options options);

/// The checkpoint or step that is to be written. Errors: `unsupported` for a file.
result<stored_place> place_of(const location& where, const save_tree_options& options,
                              const context& how);

/// The directory of the tree in that of the checkpoint or step.
result<any_store> item_of(const any_store& store, const save_tree_options& options);

/// The database that a process of Orbax's has for itself.
result<store_key> database_of(int process);

/// A file of the tree; none where the text is empty.
result<void> put_text(const any_store& store, std::string_view name, std::string_view text);

/// A checkpoint that is being saved where nobody sees it, and takes its place in one step. Without
/// that it leaves nothing behind.
class tree_target {
 public:
  /// `options` stay the caller's. Errors: `already_exists` for what must not be replaced;
  /// `unsupported` for stores that cannot publish.
  static result<tree_target> open(const location& where, const save_tree_options& options,
                                  const context& how);

  const any_store& item() const noexcept { return *item_; }
  /// See `publication::staged_name`.
  std::string staged_name() const { return staged_->staged_name(); }

  /// As Orbax: what a process wrote is a database of its own, and the tree's refers to its files.
  result<void> merge(std::span<const store_key> databases) const;

  /// What is beside the arrays and their own records, the mark of the commit last. `processes` may
  /// have written. Then the checkpoint is in its place, and the report says what stayed there. What
  /// others have put there since `open`, such as another item of the step, stays too.
  result<void> publish(const tree_plan& plan, int processes, save_report& report);

 private:
  tree_target(const save_tree_options& options, stored_place target)
      : options_(&options),
        target_(std::move(target)),
        name_(target_.store.describe(target_.key)) {}

  /// What is there now, and what a step tells of its other items.
  result<void> look();
  result<void> put_records(const tree_plan& plan);
  std::vector<std::string> taken_paths(const tree_plan& plan, int processes) const;

  const save_tree_options* options_;
  stored_place target_;
  std::string name_;
  previous_checkpoint old_;
  checkpoint_facts about_;
  std::unique_ptr<publication> staged_;
  std::optional<any_store> store_;
  std::optional<any_store> item_;
};

}}}}  // namespace zarrpoint::v0::orbax::detail
