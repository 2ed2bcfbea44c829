// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_database.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree_writer.hpp>

namespace zarrpoint { inline namespace v0 {

struct ocdbt_write_options;
struct ocdbt_version;

namespace detail {

/// The name of a numbered manifest.
std::string numbered_ocdbt_name(std::uint64_t generation);

/// The database that is written, and what is not committed yet.
struct ocdbt_writer_state {
  ocdbt_writer_state(any_store to, store_key at, std::uint64_t target)
      : base(std::move(to)), root(std::move(at)), data(base, root, target) {
    before.root.node = {0, ocdbt_nowhere, ocdbt_nowhere};
  }

  any_store base;
  store_key root;
  ocdbt_data_files data;
  std::shared_ptr<const ocdbt_files> files;
  std::mutex mutex;
  ocdbt_head head;                 ///< without a name: the database is new
  ocdbt_choice before;             ///< the newest version
  std::optional<ocdbt_tree> tree;  ///< of that, once it is wanted
  ocdbt_changes changes;
  std::size_t writers = 0;
  std::optional<error> spent;  ///< why nothing more can be committed

  // All of these with `mutex` taken.

  result<void> open(const ocdbt_write_options& how);
  result<ocdbt_tree> opened_tree();
  result<bool> erase(std::string_view key);
  result<std::vector<list_entry>> list(const store_key& prefix);
  result<ocdbt_version> commit();
  result<void> check_head() const;
  result<void> put_head(const ocdbt_head& next);
};

}  // namespace detail

}}  // namespace zarrpoint::v0
