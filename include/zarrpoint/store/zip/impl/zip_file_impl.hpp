// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_file.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE zip_file::zip_file(any_store base, store_key key, const zip_store_options& how,
                                    std::vector<std::string> uncleaned)
    : base_(std::move(base)), key_(std::move(key)), how_(how), uncleaned_(std::move(uncleaned)) {}

ZARRPOINT_INLINE zip_file::staged::staged(std::shared_ptr<const zip_file> target, zip_writer begun,
                                          const publish_options& how)
    : target_(std::move(target)), begun_(std::move(begun)), how_(how) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> zip_file::open(const store_key& key) const {
  ZARRPOINT_TRY(archive, opened());
  if (archive == nullptr) return std::unique_ptr<blob>();
  return archive->open(key);
}

ZARRPOINT_INLINE std::string zip_file::describe(const store_key& key) const {
  const std::string file = base_.describe(key_);
  return key.is_root() ? file : file + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> zip_file::list(const store_key& prefix) const {
  ZARRPOINT_TRY(archive, opened());
  if (archive == nullptr) return std::vector<list_entry>();
  return archive->list(prefix);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> zip_file::stage(
    const store_key& key, const publish_options& how) const {
  if (!key.is_root()) return refuse(key);
  ZARRPOINT_CHECK(check_free(how));
  ZARRPOINT_TRY(begun, zip_writer::begin(base_, key_));
  return detail::make_owned<publication, staged>(detail::make_counted<const zip_file>(*this),
                                                 std::move(begun), how);
}

ZARRPOINT_INLINE error zip_file::refuse(const store_key& key) const {
  return {errc::unsupported,
          "write " + describe(key) + ": a zip file is written as a whole (zip_file::stage)"};
}

ZARRPOINT_INLINE result<std::unique_ptr<zip_store>> zip_file::opened() const {
  ZARRPOINT_TRY(file, base_.open(key_));
  if (file == nullptr) return std::unique_ptr<zip_store>();
  ZARRPOINT_TRY(archive, zip_store::open(std::move(file), how_));
  return std::make_unique<zip_store>(std::move(archive));
}

ZARRPOINT_INLINE result<void> zip_file::check_free(const publish_options& how) const {
  if (how.overwrite) return {};
  ZARRPOINT_TRY(file, base_.open(key_));
  if (file == nullptr) return {};
  return error{errc::already_exists, "publish " + base_.describe(key_) + ": it is there already"};
}

ZARRPOINT_INLINE result<void> zip_file::staged::commit() {
  ZARRPOINT_CHECK(target_->check_free(how_));
  return begun_.finish();
}

}}  // namespace zarrpoint::v0
