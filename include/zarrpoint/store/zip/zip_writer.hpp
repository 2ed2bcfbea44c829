// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>

namespace zarrpoint { inline namespace v0 {

/// A zip file that comes into being. It is a store whose objects become members, stored as they
/// are, their bytes aligned (to 64, large ones to 4096) so that readers may map them. `finish`
/// writes the directory and puts the file in its place; until then what was there before is
/// untouched, and without it nothing is left behind. The same objects, put in the same order, make
/// the same bytes.
///
/// Objects whose size was reserved are written where they stay, by any number of threads. What is
/// replaced or erased leaves its room to others.
class zip_writer {
 public:
  /// Begins the archive that will be the object `key` of `base`. Errors: those of `base.create`.
  static result<zip_writer> begin(const any_store& base, const store_key& key);

  /// Begins the archive that `file` will be; `name` is what error messages call it.
  static zip_writer begin(std::unique_ptr<blob_writer> file, std::string name);

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<bool> erase(const store_key& key) const { return archive_->erase(key); }
  result<std::vector<list_entry>> list(const store_key& prefix) const;

  const void* identity() const noexcept { return archive_.get(); }

  /// Publishes the archive, with the guarantees of its store's `blob_writer::finish`. Call it once,
  /// when every writer has finished.
  result<void> finish() const;

 private:
  explicit zip_writer(std::shared_ptr<detail::zip_builder> archive)
      : archive_(std::move(archive)) {}

  /// A member that is finished, in an archive that is not.
  class object final : public blob {
   public:
    object(std::shared_ptr<detail::zip_builder> archive,
           std::shared_ptr<const detail::zip_builder::member> member, std::string name);
    std::uint64_t size() const noexcept override { return member_->size; }
    using blob::read;
    ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;
    std::string name() const override { return name_; }

   private:
    std::shared_ptr<detail::zip_builder> archive_;
    std::shared_ptr<const detail::zip_builder::member> member_;
    std::string name_;
  };

  std::shared_ptr<detail::zip_builder> archive_;
};

}}  // namespace zarrpoint::v0
