// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_builder.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>
#include <zarrpoint/store/zip/zip_space.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE zip_builder::zip_builder(std::unique_ptr<blob_writer> to, std::string name)
    : to_(std::move(to)), name_(std::move(name)), batch_(*to_) {}

ZARRPOINT_INLINE std::shared_ptr<zip_builder::member> zip_builder::allocate(
    const store_key& key, std::uint64_t capacity) {
  const std::uint64_t header = zip_local_size + key.str().size() + zip_least_extra;
  return make_counted<member>(
      space_, space_.allocate(header, capacity, capacity >= paged_bytes ? page : least_alignment));
}

ZARRPOINT_INLINE result<void> zip_builder::reserve(const zip_extent& extent) {
  const std::lock_guard lock(reserving_);
  if (extent.end <= reserved_) return {};
  ZARRPOINT_CHECK(to_->reserve(extent.end));
  reserved_ = extent.end;
  return {};
}

ZARRPOINT_INLINE result<void> zip_builder::add(const store_key& key, bytes_view bytes) {
  struct writing {
    zip_builder& to;
    ~writing() { to.writer_closed(); }
  };
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return error{errc::invalid_argument, "it is published already"};
    writer_opened();
  }
  const writing counted{*this};
  return bytes.size() < paged_bytes ? add_small(key, bytes) : add_large(key, bytes);
}

ZARRPOINT_INLINE result<void> zip_builder::add_large(const store_key& key, bytes_view bytes) {
  auto made = allocate(key, bytes.size());
  ZARRPOINT_CHECK(reserve(made->extent));
  ZARRPOINT_CHECK(write(made->extent.data, bytes));
  made->crc32 = crc32(0, bytes);
  made->size = bytes.size();
  return describe(key, std::move(made));
}

ZARRPOINT_INLINE result<void> zip_builder::add_small(const store_key& key, bytes_view bytes) {
  const std::uint32_t crc = crc32(0, bytes);
  std::shared_ptr<member> made;
  bool is_full = false;
  {
    const std::lock_guard lock(adding_);
    made = allocate(key, bytes.size());
    made->crc32 = crc;
    made->size = bytes.size();
    note_written(made->extent.end);
    const std::string header = header_of(key.str(), *made);
    ZARRPOINT_TRY(full, batch_.add(made->extent.header, as_bytes(header), bytes));
    is_full = full;
  }
  insert(key, std::move(made));
  // Others may add meanwhile: as many small members as there are threads, and then they wait.
  return is_full ? batch_.flush_if_full() : result<void>();
}

ZARRPOINT_INLINE std::string zip_builder::header_of(std::string_view key, const member& one) const {
  return zip_local_header(describe_member(key, one),
                          static_cast<std::size_t>(one.extent.data - one.extent.header));
}

ZARRPOINT_INLINE result<void> zip_builder::describe(const store_key& key,
                                                    std::shared_ptr<member> made) {
  ZARRPOINT_CHECK(write(made->extent.header, as_bytes(header_of(key.str(), *made))));
  insert(key, std::move(made));
  return {};
}

ZARRPOINT_INLINE void zip_builder::note_written(std::uint64_t end) noexcept {
  std::uint64_t seen = written_.load(std::memory_order_relaxed);
  while (seen < end && !written_.compare_exchange_weak(seen, end, std::memory_order_relaxed)) {
  }
}

ZARRPOINT_INLINE result<void> zip_builder::write(std::uint64_t offset, bytes_view bytes) {
  note_written(offset + bytes.size());
  // Of a member that was there before: it must not come after these.
  ZARRPOINT_CHECK(batch_.settle(offset, bytes.size()));
  return to_->write(offset, bytes);
}

ZARRPOINT_INLINE result<void> zip_builder::read(std::uint64_t offset, mutable_bytes into) const {
  if (into.empty()) return {};  // where it would be may not be written yet
  ZARRPOINT_CHECK(batch_.settle(offset, into.size()));
  return to_->read(offset, into);
}

ZARRPOINT_INLINE std::shared_ptr<const zip_builder::member> zip_builder::find(
    std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto at = members_.find(key);
  return at == members_.end() ? nullptr : at->second;
}

ZARRPOINT_INLINE void zip_builder::insert(const store_key& key,
                                          std::shared_ptr<const member> made) {
  const std::lock_guard lock(mutex_);
  members_.insert_or_assign(std::string(key.str()), std::move(made));
}

ZARRPOINT_INLINE bool zip_builder::erase(const store_key& key) {
  const std::lock_guard lock(mutex_);
  const auto at = members_.find(key.str());
  if (at == members_.end()) return false;
  members_.erase(at);
  return true;
}

ZARRPOINT_INLINE std::vector<list_entry> zip_builder::list(const store_key& prefix) const {
  const std::lock_guard lock(mutex_);
  return list_children(prefix, [this](std::string_view text) {
    const auto at = members_.lower_bound(text);
    return at == members_.end() ? nullptr : &at->first;
  });
}

ZARRPOINT_INLINE result<void> zip_builder::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_ || writers_.load(std::memory_order_acquire) != 0)
    return error{errc::invalid_argument,
                 "publish " + name_ + ": " +
                     (finished_ ? "it is published already" : "a member is still being written")};
  finished_ = true;
  ZARRPOINT_CHECK(batch_.flush());
  std::string directory;
  for (const auto& [key, one] : members_) append_zip_entry(directory, describe_member(key, *one));
  const zip_directory_place place{members_.size(), directory.size(),
                                  std::max(space_.tail(), written_.load())};
  append_zip_end(directory, place);
  ZARRPOINT_CHECK(to_->write(place.offset, as_bytes(directory)));
  return to_->finish();
}

ZARRPOINT_INLINE zip_member zip_builder::describe_member(std::string_view key, const member& one) {
  zip_member out;
  out.name = key;
  out.flags = zip_utf8;
  out.crc32 = one.crc32;
  out.size = out.stored_size = one.size;
  out.header_offset = one.extent.header;
  return out;
}

}}}  // namespace zarrpoint::v0::detail
