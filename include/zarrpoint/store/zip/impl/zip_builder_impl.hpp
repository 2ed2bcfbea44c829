// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/lock_soon.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>
#include <zarrpoint/store/zip/zip_batch.hpp>
#include <zarrpoint/store/zip/zip_builder.hpp>
#include <zarrpoint/store/zip/zip_members.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>
#include <zarrpoint/store/zip/zip_space.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE zip_builder::zip_builder(std::unique_ptr<blob_writer> to, std::string name)
    : to_(std::move(to)), name_(std::move(name)), batch_(*to_) {}

ZARRPOINT_INLINE zip_extent zip_builder::room_for(const store_key& key, std::uint64_t capacity) {
  const std::uint64_t header = zip_local_size + key.str().size() + zip_least_extra;
  return space_.allocate(header, capacity, capacity >= paged_bytes ? page : least_alignment);
}

ZARRPOINT_INLINE std::shared_ptr<zip_builder::member> zip_builder::allocate(
    const store_key& key, std::uint64_t capacity) {
  auto made = make_counted<member>(space_);
  made->extent = room_for(key, capacity);
  return made;
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
  writer_opened();  // before it is asked whether the archive is finished: `finish` asks for this
                    // after
  const writing counted{*this};
  return bytes.size() < paged_bytes ? add_small(key, bytes) : add_large(key, bytes);
}

ZARRPOINT_INLINE result<void> zip_builder::refuse_late() const {
  if (finished_) return error{errc::invalid_argument, "it is published already"};
  return {};
}

ZARRPOINT_INLINE result<void> zip_builder::add_large(const store_key& key, bytes_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    ZARRPOINT_CHECK(refuse_late());
  }
  auto made = allocate(key, bytes.size());
  ZARRPOINT_CHECK(reserve(made->extent));
  ZARRPOINT_CHECK(write(made->extent.data, bytes));
  made->crc32 = crc32(0, bytes);
  made->size = bytes.size();
  return describe(key, std::move(made));
}

ZARRPOINT_INLINE result<void> zip_builder::add_small(const store_key& key, bytes_view bytes) {
  const auto made = make_counted<member>(space_);
  made->crc32 = crc32(0, bytes);
  made->size = bytes.size();
  const zip_member header = describe_member(*made);
  auto name = members_.key_of(key.str());
  zip_members::pointer before;  // goes when nothing is locked
  bool fills = false;
  // All threads of a save come here for each tensor: the lock is held for a name and a place.
  std::unique_lock lock = lock_soon(mutex_);
  while (true) {
    ZARRPOINT_CHECK(refuse_late());
    members_.make_room();  // what is claimed must be filled
    const zip_extent extent = made->extent = room_for(key, bytes.size());
    const zip_batch::place place =
        batch_.claim(extent.header, static_cast<std::size_t>(extent.end - extent.header));
    if (!place) {
      space_.give_back(std::exchange(made->extent, {}));
      lock.unlock();
      ZARRPOINT_CHECK(place.fills() ? batch_.flush_if_full() : batch_.flush());
      lock.lock();
      continue;
    }
    note_written(extent.end);
    before = members_.put(std::move(name), made);
    lock.unlock();
    const auto head = static_cast<std::size_t>(extent.data - extent.header);
    store_zip_local_header(place.bytes().first(head), key.str(), header);
    if (!bytes.empty()) std::memcpy(place.bytes().data() + head, bytes.data(), bytes.size());
    fills = place.fills();
    break;
  }
  // Others may add meanwhile: as many small members as there are threads, and then they wait.
  return fills ? batch_.flush_if_full() : result<void>();
}

ZARRPOINT_INLINE result<void> zip_builder::describe(const store_key& key,
                                                    std::shared_ptr<member> made) {
  zip_member header = describe_member(*made);
  header.name = key.str();
  ZARRPOINT_CHECK(
      write(made->extent.header,
            as_bytes(zip_local_header(
                header, static_cast<std::size_t>(made->extent.data - made->extent.header)))));
  return insert(key, std::move(made));
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
  return members_.find(key);
}

ZARRPOINT_INLINE result<void> zip_builder::insert(const store_key& key,
                                                  std::shared_ptr<const member> made) {
  auto name = members_.key_of(key.str());
  zip_members::pointer before;  // goes when nothing is locked
  const std::lock_guard lock(mutex_);
  ZARRPOINT_CHECK(refuse_late());
  before = members_.put(std::move(name), std::move(made));
  return {};
}

ZARRPOINT_INLINE bool zip_builder::erase(const store_key& key) {
  const std::lock_guard lock(mutex_);
  return members_.erase(key.str());
}

ZARRPOINT_INLINE std::vector<list_entry> zip_builder::list(const store_key& prefix) const {
  const std::lock_guard lock(mutex_);
  return list_children(prefix, [this](std::string_view text) {
    const zip_members::entry* const found = members_.at_least(text);
    return found == nullptr ? nullptr : &found->name;
  });
}

ZARRPOINT_INLINE result<void> zip_builder::begin_finish() {
  const std::lock_guard lock(mutex_);
  if (finished_ || writers_.load(std::memory_order_acquire) != 0)
    return error{errc::invalid_argument,
                 "publish " + name_ + ": " +
                     (finished_ ? "it is published already" : "a member is still being written")};
  finished_ = true;
  space_.close();
  return {};
}

ZARRPOINT_INLINE std::string zip_builder::directory(std::uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  std::uint64_t count = 0;
  std::string name;  // one for all, so that each has its memory
  for (std::size_t place = 0; place < members_.names(); ++place) {
    const zip_members::entry& one = members_.nth(place);
    if (one.member == nullptr) continue;
    ++count;
    zip_member header = describe_member(*one.member);
    header.name = std::move(name);
    header.name = one.name;
    append_zip_entry(out, header);
    name = std::move(header.name);
  }
  append_zip_end(out, {count, out.size(), offset});
  return out;
}

ZARRPOINT_INLINE result<void> zip_builder::finish() {
  ZARRPOINT_CHECK(begin_finish());
  ZARRPOINT_CHECK(batch_.flush());
  const std::uint64_t offset = std::max(space_.tail(), written_.load());
  const std::string text = directory(offset);
  ZARRPOINT_CHECK(to_->write(offset, as_bytes(text)));
  return to_->finish();
}

ZARRPOINT_INLINE zip_member zip_builder::describe_member(const member& one) {
  zip_member out;
  out.flags = zip_utf8;
  out.crc32 = one.crc32;
  out.size = out.stored_size = one.size;
  out.header_offset = one.extent.header;
  return out;
}

}}}  // namespace zarrpoint::v0::detail
