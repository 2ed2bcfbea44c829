// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

/// What a `cache_store` may hold.
struct cache_options {
  std::size_t bytes = std::size_t{256} << 20;      ///< of all cached blocks; 0 caches nothing
  std::size_t block_bytes = std::size_t{1} << 20;  ///< what is read at a time; at least 4096
};

/// What a `cache_store` did so far, in blocks.
struct cache_counts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t bytes = 0;  ///< held now
};

}}  // namespace zarrpoint::v0
