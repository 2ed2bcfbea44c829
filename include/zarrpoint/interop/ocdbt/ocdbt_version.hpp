// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 {

/// One version of an OCDBT database.
struct ocdbt_version {
  std::uint64_t generation = 0;   ///< counts up from 1
  std::uint64_t commit_time = 0;  ///< when it was written, in nanoseconds since 1970
  std::uint64_t keys = 0;         ///< how many it has
  std::uint64_t tree_bytes = 0;   ///< what its nodes take in data files
  std::uint64_t value_bytes = 0;  ///< what its values take there, without those within nodes

  friend bool operator==(const ocdbt_version&, const ocdbt_version&) = default;
};

/// Which version of an OCDBT database is read, and with how much memory.
struct ocdbt_options {
  std::optional<std::uint64_t> generation{};  ///< this version; the newest otherwise
  /// The newest version that is not younger, in nanoseconds since 1970.
  std::optional<std::uint64_t> commit_time{};
  /// The largest node or manifest, decompressed; one takes some five times as much memory at
  /// most. Orbax writes nodes of up to 100 MB.
  std::uint64_t node_bytes = std::uint64_t{256} << 20;
  /// What the kept nodes may take beside the root and the one that was read last.
  std::uint64_t cache_bytes = std::uint64_t{64} << 20;

  /// The same version, with what fits a budget such as `limits::memory`: a node may have an eighth
  /// of it, decompressed, and the kept ones a quarter; never more than these options have.
  ocdbt_options within(std::uint64_t memory) const noexcept;
};

}}  // namespace zarrpoint::v0
