// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>

#include <string>
#include <vector>

// What a save that overwrites takes away, and what it leaves.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The paths of the checkpoint at the root of a store: its documents and arrays, as its commit
/// document names them. Of one that cannot be read they are the documents, and the directories that
/// have one; a directory whose document cannot be opened is foreign. Errors: those of the store.
result<std::vector<std::string>> paths_of_checkpoint(const any_store& root, const context& how);

/// Adds to a report what `commit` of a publication found after `keep`.
void add_late(late_entries late, std::vector<std::string>& kept,
              std::vector<std::string>& warnings);

/// Erases what is not foreign. Returns the paths of the rest, those of directories with a "/" at
/// the end.
result<std::vector<std::string>> erase_own(const any_store& root, const owned_paths& owned);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/impl/overwritten_paths_impl.hpp>
#endif
