// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

namespace zarrpoint { inline namespace v0 {

/// A zip file of another store, there or not, as a store that is replaced as a whole. `stage` of
/// its root begins a new archive, which takes the place of the old one in one step. Single objects
/// cannot be written (`unsupported`). This is how `save` writes the single-file form.
class zip_file {
 public:
  /// `uncleaned` is for the report of the next save: see `late_entries::uncleaned`.
  zip_file(any_store base, store_key key, const zip_store_options& how = {},
           std::vector<std::string> uncleaned = {});

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const { return refuse(key); }
  result<void> put(const store_key& key, bytes_view) const { return refuse(key); }
  result<bool> erase(const store_key& key) const { return refuse(key); }

  /// A new archive in place of the whole file. `how.sync` is that of the other store.
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  bool can_write() const { return false; }
  bool can_list() const { return true; }
  bool lists_cheaply() const { return true; }
  bool can_publish() const { return base_.can_write(); }

 private:
  error refuse(const store_key& key) const;

  /// Null when there is no file.
  result<std::unique_ptr<zip_store>> opened() const;

  result<void> check_free(const publish_options& how) const;

  class staged final : public publication {
   public:
    staged(std::shared_ptr<const zip_file> target, zip_writer begun, const publish_options& how);
    any_store store() const override { return begun_; }
    ZARRPOINT_NO_KEY result<void> commit() override;
    late_entries late() const override { return {.uncleaned = target_->uncleaned_}; }

   private:
    std::shared_ptr<const zip_file> target_;
    zip_writer begun_;
    publish_options how_;
  };

  any_store base_;
  store_key key_;
  zip_store_options how_;
  std::vector<std::string> uncleaned_;
};

}}  // namespace zarrpoint::v0
