// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Removes a file, or a directory with all that is in it, following no symbolic link, and whatever
/// the modes of directories forbid their owner. What cannot be removed stays; 0 or the errno.
/// Destructors call it, so that it takes no memory that could be missing.
int remove_tree(int parent, const char* name) noexcept;

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/impl/remove_tree_impl.hpp>
#endif
