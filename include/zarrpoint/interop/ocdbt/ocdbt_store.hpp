// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// One version of an OCDBT database, the key-value store in which Orbax keeps checkpoints, to read
/// and list (TensorStore, "OCDBT database format"): manifests of both kinds, trees of any height,
/// values within nodes and in data files, databases that were merged from those of many processes.
/// A handle sees the version that it was opened at, whatever is written later. Nodes have
/// checksums, which are verified; values in data files have none.
///
/// A key of the database that is not a `store_key` (an empty segment, `..`, more than 1,024
/// bytes) cannot be opened, and `list` is `unsupported` where it would have to name it.
class ocdbt_store {
 public:
  /// The database whose manifest is `manifest.ocdbt` beneath `root`. Errors: `not_found` for none,
  /// for a generation that it does not have, and for a time before its first; `corrupt`;
  /// `unsupported` for a later version of the format; `resource_limit`; `io`.
  static result<ocdbt_store> open(any_store base, store_key root, const ocdbt_options& how = {});

  /// Errors beside those of the base: `corrupt` for a node or a data file that is missing or
  /// damaged.
  result<std::unique_ptr<blob>> open(const store_key& key) const;

  std::string describe(const store_key& key) const;

  result<std::vector<list_entry>> list(const store_key& prefix) const;

  const void* identity() const noexcept { return state_.get(); }

  /// The version that this handle sees.
  ocdbt_version version() const;

  /// All that the database had when it was opened, the oldest first.
  result<std::vector<ocdbt_version>> versions() const;

 private:
  struct state;
  explicit ocdbt_store(std::shared_ptr<const state> opened) : state_(std::move(opened)) {}

  static result<ocdbt_store> read(any_store base, store_key root, const ocdbt_options& how);

  std::shared_ptr<const state> state_;
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/impl/ocdbt_store_impl.hpp>
#endif
