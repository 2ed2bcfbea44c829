// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/save/save_summary.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <memory>
#include <optional>

// What a save replaces, of whatever format: a whole checkpoint of the same format, and nothing
// else. docs/guide.md states the rule; here is where it is decided.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the names of its files say that a directory is; `zarr` is a checkpoint of ours, or any
/// hierarchy. Files of a safetensors model may lie in a checkpoint of another format.
enum class directory_kind : std::uint8_t { megatron, orbax, dcp, zarr, safetensors };

/// What a format answers about the root of a store, or about a file.
struct own_look {
  bool is_whole = false;  ///< a checkpoint of the format, and all of it
  /// What it is instead, where the format knows it: "a step of Orbax, not a tree". Or empty.
  std::string instead{};
};

/// A save, as far as replacing goes.
struct replace_rule {
  std::string where;                       ///< as its user calls it
  bool overwrite = true;                   ///< `save_options::overwrite`
  std::string name{};                      ///< of the format: "an Orbax checkpoint"
  std::optional<directory_kind> kind{};    ///< nothing: of a program's own
  std::vector<directory_kind> may_hold{};  ///< at its root, beside its own kind
  bool is_file = false;                    ///< not a directory: of `kind` nothing counts
};

/// Whether there is a checkpoint that is replaced; false for nothing and, unless it would be a
/// file, an empty directory. `own`: what the format says of the target. Errors: `already_exists`
/// for all else, saying what it is; those of the store and of `own`.
result<bool> check_replace(const stored_place& target, const replace_rule& rule,
                           const result<own_look>& own);

/// The same at the end of a save that began with `check_replace`. Others may have written to the
/// place meanwhile, and that is kept, but a file or a checkpoint of theirs is `already_exists`.
/// False where nothing lies there. `own`: what the format says of the target by now, as far as it
/// is asked.
result<bool> check_still(const stored_place& target, const replace_rule& rule,
                         const result<own_look>& own = own_look{});

/// The directory as a store.
any_store beneath(const stored_place& target);

/// Begins a tree that takes its place by `publish`. Its files are written while others encode.
result<std::unique_ptr<publication>> stage(const stored_place& target, publish_options how);

/// Puts the tree in its place. What is not `owned` in the directory that it replaces is kept there,
/// and told, with what could not be kept or removed; without `owned` nothing is kept.
result<void> publish(publication& tree, const std::optional<owned_paths>& owned,
                     save_summary& report);

/// The paths of the checkpoint at the root of a store: its documents and arrays, as its commit
/// document names them. Of one that cannot be read they are the documents, and the directories that
/// have one; a directory whose document cannot be opened is foreign. Errors: those of the store.
result<std::vector<std::string>> paths_of_checkpoint(const any_store& root, const context& how);

/// The same of a place where a save found nothing or a checkpoint of ours. What came there
/// meanwhile is not of that. `is_there`: what `check_still` says. Errors: `already_exists` for a
/// hierarchy of others.
result<std::vector<std::string>> paths_to_replace(const any_store& root, const context& how,
                                                  bool is_there);

}}}  // namespace zarrpoint::v0::detail
