// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>

namespace zarrpoint { inline namespace v0 {

/// What `compact` did.
struct compaction {
  std::size_t shards = 0;     ///< that were looked at
  std::size_t rewritten = 0;  ///< that had gaps
  std::uint64_t bytes_freed = 0;
};

/// Rewrites the shards of an array that have gaps, which writers that append leave behind; what
/// inner chunks hold is not decoded. Each shard is replaced in one step. Nobody else may write to
/// the array meanwhile. Errors: `unsupported` for a store that cannot be listed, and for
/// rectilinear grids; `corrupt`, `io`,
/// naming the shard.
result<compaction> compact(const array& of);

}}  // namespace zarrpoint::v0
