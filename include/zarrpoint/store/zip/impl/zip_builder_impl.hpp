// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>
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
    : to_(std::move(to)), name_(std::move(name)) {}

ZARRPOINT_INLINE result<void> zip_builder::write(std::uint64_t offset, bytes_view bytes) {
  // Before it is done: one that fails may have written a part.
  const std::uint64_t end = offset + bytes.size();
  std::uint64_t seen = written_.load(std::memory_order_relaxed);
  while (seen < end && !written_.compare_exchange_weak(seen, end, std::memory_order_relaxed)) {
  }
  return to_->write(offset, bytes);
}

ZARRPOINT_INLINE result<void> zip_builder::read(std::uint64_t offset, mutable_bytes into) const {
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
  if (finished_ || writers_.load(std::memory_order_relaxed) != 0)
    return error{errc::invalid_argument,
                 "publish " + name_ + ": " +
                     (finished_ ? "it is published already" : "a member is still being written")};
  finished_ = true;
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
