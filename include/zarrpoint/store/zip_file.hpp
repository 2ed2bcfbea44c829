// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/store/zip_store.hpp>
#include <zarrpoint/store/zip_writer.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// A zip file of another store, there or not, as a store that is replaced as a whole: `stage` of
/// its root begins a new archive, which takes the place of the old one in one step. Single objects
/// cannot be written (`unsupported`). This is how `save` writes the single-file form.
class zip_file {
 public:
  zip_file(any_store base, store_key key, const zip_store_options& how = {})
      : base_(std::move(base)), key_(std::move(key)), how_(how) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    ZARRPOINT_TRY(archive, opened());
    if (archive == nullptr) return std::unique_ptr<blob>();
    return archive->open(key);
  }
  std::string describe(const store_key& key) const {
    const std::string file = base_.describe(key_);
    return key.is_root() ? file : file + ":" + std::string(key.str());
  }
  result<std::vector<list_entry>> list(const store_key& prefix) const {
    ZARRPOINT_TRY(archive, opened());
    if (archive == nullptr) return std::vector<list_entry>();
    return archive->list(prefix);
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const { return refuse(key); }
  result<void> put(const store_key& key, bytes_view) const { return refuse(key); }
  result<bool> erase(const store_key& key) const { return refuse(key); }

  /// A new archive in place of the whole file. `how.sync` is that of the other store.
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const {
    if (!key.is_root()) return refuse(key);
    ZARRPOINT_CHECK(check_free(how));
    ZARRPOINT_TRY(begun, zip_writer::begin(base_, key_));
    return std::unique_ptr<publication>(
        std::make_unique<staged>(std::make_shared<const zip_file>(*this), std::move(begun), how));
  }

  bool can_write() const { return false; }
  bool can_list() const { return true; }
  bool can_publish() const { return base_.can_write(); }

 private:
  error refuse(const store_key& key) const {
    return {errc::unsupported,
            "write " + describe(key) + ": a zip file is written as a whole (zip_file::stage)"};
  }

  /// Null when there is no file.
  template <class = void>
  result<std::unique_ptr<zip_store>> opened() const {
    ZARRPOINT_TRY(file, base_.open(key_));
    if (file == nullptr) return std::unique_ptr<zip_store>();
    ZARRPOINT_TRY(archive, zip_store::open(std::move(file), how_));
    return std::make_unique<zip_store>(std::move(archive));
  }

  result<void> check_free(const publish_options& how) const {
    if (how.overwrite) return {};
    ZARRPOINT_TRY(file, base_.open(key_));
    if (file == nullptr) return {};
    return error{errc::already_exists, "publish " + base_.describe(key_) + ": it is there already"};
  }

  class staged final : public publication {
   public:
    staged(std::shared_ptr<const zip_file> target, zip_writer begun, const publish_options& how)
        : target_(std::move(target)), begun_(std::move(begun)), how_(how) {}
    any_store store() const override { return begun_; }
    result<void> commit() override {
      ZARRPOINT_CHECK(target_->check_free(how_));
      return begun_.finish();
    }

   private:
    std::shared_ptr<const zip_file> target_;
    zip_writer begun_;
    publish_options how_;
  };

  any_store base_;
  store_key key_;
  zip_store_options how_;
};

}  // namespace zarrpoint::inline v0
