// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {
struct ocdbt_writer_state;
}

/// An OCDBT database that gets a version: a store whose objects become those of the database once
/// `commit` succeeds. Until then the versions before are untouched, and without it nothing but
/// unreferenced data files can be left behind.
///
/// Values of more than `inline_bytes` go to data files as they come, each writer at work having one
/// for itself. Smaller ones and all new keys stay in memory until `commit`. What the database had
/// and nobody changed is not written again. One process at a time may write to a database.
class ocdbt_writer {
 public:
  /// A new database whose manifest will be `manifest.ocdbt` beneath `root`, or the next version of
  /// the one that is there. Errors: `invalid_argument` for options out of range; those of
  /// `ocdbt_store::open` but for `not_found`.
  static result<ocdbt_writer> open(any_store base, store_key root,
                                   const ocdbt_write_options& how = {});

  /// What is there with the changes, committed or not. `unsupported` for a value that lies in a
  /// data file which is not yet finished, where the base cannot read what it writes.
  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<bool> erase(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;

  const void* identity() const noexcept { return state_.get(); }

  /// Writes the tree, finishes the data files and then, in one step, makes all changes the newest
  /// version. Without changes there is a version, too. Call it when every writer has finished; what
  /// is changed afterwards belongs to the next version. Errors: `invalid_argument` while a value is
  /// being written; `replaced` when another writer made a version since; `corrupt` when what has to
  /// be read of the database is damaged; those of the base. The version before is still the newest
  /// after all of them but `outcome_unknown`.
  result<ocdbt_version> commit() const;

 private:
  using state = detail::ocdbt_writer_state;
  explicit ocdbt_writer(std::shared_ptr<state> opened) : state_(std::move(opened)) {}

  class value_writer;

  detail::ocdbt_changes& changes() const;  ///< while nobody else uses it

  friend result<ocdbt_version> ocdbt_merge(any_store base, store_key root,
                                           std::span<const store_key> databases,
                                           const ocdbt_write_options& how);

  std::shared_ptr<state> state_;
};

/// Makes one database at `root` of those at `databases`, keys beneath `root`, as Orbax does of what
/// each process wrote. Their keys and small values are copied. Their data files are used where they
/// lie, by paths relative to `root`, and must stay there. Of equal keys, that of the later database
/// wins; what is at `root` already stays, unless one of them has the key. Errors: those of
/// `ocdbt_store::open` and `ocdbt_writer`; `invalid_argument` for a database that is not beneath
/// `root`.
result<ocdbt_version> ocdbt_merge(any_store base, store_key root,
                                  std::span<const store_key> databases,
                                  const ocdbt_write_options& how = {});

}}  // namespace zarrpoint::v0
