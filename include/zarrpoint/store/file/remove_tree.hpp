// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>
#include <vector>

// Removing what is no longer needed: a tree, and what killed writers left.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Removes a file, or a directory with all that is in it, following no symbolic link, and whatever
/// the modes of directories forbid their owner. What cannot be removed stays; 0 or the errno.
/// Destructors call it, so that it takes no memory that could be missing.
int remove_tree(int parent, const char* name) noexcept;

/// Removes the temporary trees and files that killed writers left in the directory `parent`: those
/// of which nobody holds the lock. Where that is not known, since there are no locks that all see,
/// it removes those in which nothing has changed for `age` seconds. A maker locks a tree after it
/// has made it, and makes another if it has gone meanwhile. Returns what it could not remove, and
/// why, in sentences; `folder` is what they call the directory, with a "/" at the end.
std::vector<std::string> remove_abandoned(int parent, const std::string& folder,
                                          std::time_t age = 3600);

}}}  // namespace zarrpoint::v0::detail
