// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Two open directories: a tree that is going to be replaced, and the one that takes its place.
struct tree_pair {
  int from = -1;
  int to = -1;
  bool sync = true;  ///< what is kept is on disk before this returns
};

/// Gives the new tree what is foreign in the old one: files by another link to the same file, or a
/// copy where there can be none, so that both have them. Symbolic links stay what they are;
/// unfinished files of our own are passed over, and so is what others remove meanwhile. Nothing
/// that the new tree has is replaced: it may be in its place already. Returns the paths, those of
/// directories with a "/" at the end. Errors: `io`, naming the path: then the old tree must stay.
result<std::vector<std::string>> keep_entries(const tree_pair& trees, const owned_paths& owned);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/keep_entries_impl.hpp>
#endif
