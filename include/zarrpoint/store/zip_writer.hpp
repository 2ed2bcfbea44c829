// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/store/zip_builder.hpp>
#include <zarrpoint/store/zip_member_writer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// A zip file that comes into being: a store whose objects become members, stored as they are,
/// their bytes aligned (to 64, large ones to 4096) so that readers may map them. `finish` writes
/// the directory and puts the file in its place; until then what was there before is untouched, and
/// without it nothing is left behind. The same objects, put in the same order, make the same bytes.
///
/// Objects whose size was reserved are written where they stay, by any number of threads. What is
/// replaced or erased leaves its room to others.
class zip_writer {
 public:
  /// Begins the archive that will be the object `key` of `base`. Errors: those of `base.create`.
  template <class = void>
  static result<zip_writer> begin(const any_store& base, const store_key& key) {
    ZARRPOINT_TRY(file, base.create(key));
    return begin(std::move(file), base.describe(key));
  }

  /// Begins the archive that `file` will be; `name` is what error messages call it.
  static zip_writer begin(std::unique_ptr<blob_writer> file, std::string name) {
    return zip_writer(std::make_shared<detail::zip_builder>(std::move(file), std::move(name)));
  }

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    auto found = archive_->find(key.str());
    if (found == nullptr) return std::unique_ptr<blob>();
    return std::unique_ptr<blob>(
        std::make_unique<object>(archive_, std::move(found), describe(key)));
  }
  std::string describe(const store_key& key) const {
    return key.is_root() ? archive_->name() : archive_->name() + ":" + std::string(key.str());
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    if (key.is_root())
      return error{errc::invalid_argument,
                   "create " + describe(key) + ": the root of a store is no object"};
    return std::unique_ptr<blob_writer>(std::make_unique<detail::zip_member_writer>(archive_, key));
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    ZARRPOINT_TRY(writer, create(key));
    ZARRPOINT_CHECK(writer->reserve(bytes.size()));
    ZARRPOINT_CHECK(writer->write(0, bytes));
    return writer->finish();
  }
  result<bool> erase(const store_key& key) const { return archive_->erase(key); }
  result<std::vector<list_entry>> list(const store_key& prefix) const {
    return guarded([&] { return result<std::vector<list_entry>>(archive_->list(prefix)); });
  }

  const void* identity() const noexcept { return archive_.get(); }

  /// Publishes the archive, with the guarantees of its store's `blob_writer::finish`. Call it once,
  /// when every writer has finished.
  result<void> finish() const {
    return guarded([&] { return archive_->finish(); });
  }

 private:
  explicit zip_writer(std::shared_ptr<detail::zip_builder> archive)
      : archive_(std::move(archive)) {}

  /// A member that is finished, in an archive that is not.
  class object final : public blob {
   public:
    object(std::shared_ptr<detail::zip_builder> archive,
           std::shared_ptr<const detail::zip_builder::member> member, std::string name)
        : archive_(std::move(archive)), member_(std::move(member)), name_(std::move(name)) {}
    std::uint64_t size() const noexcept override { return member_->size; }
    using blob::read;
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      ZARRPOINT_CHECK(check_range(offset, into.size()));
      return archive_->read(member_->extent.data + offset, into);
    }
    std::string name() const override { return name_; }

   private:
    std::shared_ptr<detail::zip_builder> archive_;
    std::shared_ptr<const detail::zip_builder::member> member_;
    std::string name_;
  };

  std::shared_ptr<detail::zip_builder> archive_;
};

}  // namespace zarrpoint::inline v0
