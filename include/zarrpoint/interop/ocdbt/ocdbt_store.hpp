// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/format.hpp>

#include <memory>

namespace zarrpoint { inline namespace v0 {

/// One version of an OCDBT database, the key-value store in which Orbax keeps checkpoints, to read
/// and list (TensorStore, "OCDBT database format"). It may have manifests of both kinds, trees of
/// any height, values within nodes and in data files, databases that were merged from those of many
/// processes. A handle sees the version that it was opened at, whatever is written later. Nodes
/// have checksums, which are verified; values in data files have none.
///
/// A key of the database that is not a `store_key` (an empty segment, `..`, more than 1,024 bytes)
/// cannot be opened. `list` is `unsupported` where it would have to name it; see `beneath`.
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

  /// Where the base does: a listing reads the nodes of the tree, of which each has many keys.
  bool lists_cheaply() const;

  const void* identity() const noexcept { return state_.get(); }

  /// A handle that sees the keys which begin with `prefix`, such as "a//b/", each without it. A
  /// prefix need not be a `store_key`. Its `list` leaves out what it cannot name.
  ocdbt_store beneath(std::string_view prefix) const;

  /// The version that this handle sees.
  ocdbt_version version() const;

  /// All that the database had when it was opened, the oldest first.
  result<std::vector<ocdbt_version>> versions() const;

 private:
  struct state;
  explicit ocdbt_store(std::shared_ptr<const state> opened) : state_(std::move(opened)) {}

  static result<ocdbt_store> read(any_store base, store_key root, const ocdbt_options& how);

  std::shared_ptr<const state> state_;
  std::optional<std::string> prefix_;
};

namespace ocdbt {

/// Databases in directories, as a format of `formats<...>`: `ocdbt://x/a/b` is what lies at `a/b`
/// in the database in `x`. In a larger layout, as Orbax's, it is that.
struct format {
  static constexpr std::string_view name = "ocdbt";
  static result<claim> sniff(const place_look& at);
  static result<stored_place> open(const place_look& at, const place_use& use);
};

}  // namespace ocdbt

}}  // namespace zarrpoint::v0
