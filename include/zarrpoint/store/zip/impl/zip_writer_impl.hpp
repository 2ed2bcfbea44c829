// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/zip/zip_builder.hpp>
#include <zarrpoint/store/zip/zip_member_writer.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<zip_writer> zip_writer::begin(const any_store& base, const store_key& key) {
  ZARRPOINT_TRY(file, base.create(key));
  return begin(std::move(file), base.describe(key));
}

ZARRPOINT_INLINE zip_writer zip_writer::begin(std::unique_ptr<blob_writer> file, std::string name) {
  return zip_writer(detail::make_counted<detail::zip_builder>(std::move(file), std::move(name)));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> zip_writer::open(const store_key& key) const {
  auto found = archive_->find(key.str());
  if (found == nullptr) return std::unique_ptr<blob>();
  return detail::make_owned<blob, object>(archive_, std::move(found), describe(key));
}

ZARRPOINT_INLINE std::string zip_writer::describe(const store_key& key) const {
  return key.is_root() ? archive_->name() : archive_->name() + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> zip_writer::create(
    const store_key& key) const {
  if (key.is_root())
    return error{errc::invalid_argument,
                 "create " + describe(key) + ": the root of a store is not an object"};
  return detail::make_owned<blob_writer, detail::zip_member_writer>(archive_, key);
}

ZARRPOINT_INLINE result<void> zip_writer::put(const store_key& key, bytes_view bytes) const {
  if (key.is_root())
    return error{errc::invalid_argument,
                 "write " + describe(key) + ": the root of a store is not an object"};
  auto done = guarded([&] { return archive_->add(key, bytes); });
  if (!done) return std::move(done).at("write " + describe(key));
  return {};
}

ZARRPOINT_INLINE result<std::vector<list_entry>> zip_writer::list(const store_key& prefix) const {
  return guarded([&] { return result<std::vector<list_entry>>(archive_->list(prefix)); });
}

ZARRPOINT_INLINE result<void> zip_writer::finish() const {
  return guarded([&] { return archive_->finish(); });
}

ZARRPOINT_INLINE zip_writer::zip_writer(std::shared_ptr<detail::zip_builder> archive)
    : archive_(std::move(archive)) {}

ZARRPOINT_INLINE zip_writer::object::object(
    std::shared_ptr<detail::zip_builder> archive,
    std::shared_ptr<const detail::zip_builder::member> member, std::string name)
    : archive_(std::move(archive)), member_(std::move(member)), name_(std::move(name)) {}

ZARRPOINT_INLINE result<void> zip_writer::object::read(std::uint64_t offset,
                                                       mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  return archive_->read(member_->extent.data + offset, into);
}

}}  // namespace zarrpoint::v0
