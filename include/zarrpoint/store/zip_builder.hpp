// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/blob.hpp>
#include <zarrpoint/store/concepts.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/store/listing.hpp>
#include <zarrpoint/store/zip_records.hpp>
#include <zarrpoint/store/zip_space.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0::detail {

/// The archive behind a `zip_writer`.
class zip_builder {
 public:
  /// A member that is written; its piece of the archive is free again once nobody has it.
  struct member {
    member(zip_space& archive, zip_extent at) : space(archive), extent(at) {}
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { space.give_back(extent); }

    zip_space& space;
    zip_extent extent;
    std::uint64_t size = 0;
    std::uint32_t crc32 = 0;
  };
  using member_map = std::map<std::string, std::shared_ptr<const member>, std::less<>>;

  zip_builder(std::unique_ptr<blob_writer> to, std::string name)
      : to_(std::move(to)), name_(std::move(name)) {}

  const std::string& name() const noexcept { return name_; }
  zip_space& space() noexcept { return space_; }

  /// Writes a piece of the archive. What was once written stays in the file, whoever has its place
  /// later: the directory comes behind it.
  result<void> write(std::uint64_t offset, bytes_view bytes) {
    // Before it is done: one that fails may have written a part.
    const std::uint64_t end = offset + bytes.size();
    std::uint64_t seen = written_.load(std::memory_order_relaxed);
    while (seen < end && !written_.compare_exchange_weak(seen, end, std::memory_order_relaxed)) {
    }
    return to_->write(offset, bytes);
  }
  result<void> read(std::uint64_t offset, mutable_bytes into) const {
    return to_->read(offset, into);
  }

  void writer_opened() noexcept { writers_.fetch_add(1, std::memory_order_relaxed); }
  void writer_closed() noexcept { writers_.fetch_sub(1, std::memory_order_relaxed); }

  std::shared_ptr<const member> find(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    const auto at = members_.find(key);
    return at == members_.end() ? nullptr : at->second;
  }
  void insert(const store_key& key, std::shared_ptr<const member> made) {
    const std::lock_guard lock(mutex_);
    members_.insert_or_assign(std::string(key.str()), std::move(made));
  }
  bool erase(const store_key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = members_.find(key.str());
    if (at == members_.end()) return false;
    members_.erase(at);
    return true;
  }
  std::vector<list_entry> list(const store_key& prefix) const {
    const std::lock_guard lock(mutex_);
    return list_children(prefix, [this](std::string_view text) {
      const auto at = members_.lower_bound(text);
      return at == members_.end() ? nullptr : &at->first;
    });
  }

  /// Writes the central directory behind all that was ever written, so that the file ends with it,
  /// and puts the file in its place.
  result<void> finish() {
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

  static zip_member describe_member(std::string_view key, const member& one) {
    zip_member out;
    out.name = key;
    out.flags = zip_utf8;
    out.crc32 = one.crc32;
    out.size = out.stored_size = one.size;
    out.header_offset = one.extent.header;
    return out;
  }

 private:
  const std::unique_ptr<blob_writer> to_;
  const std::string name_;
  zip_space space_;
  mutable std::mutex mutex_;
  member_map members_;
  std::atomic<unsigned> writers_{0};
  std::atomic<std::uint64_t> written_{0};  ///< the end of what was written last in the file
  bool finished_ = false;
};

}  // namespace zarrpoint::inline v0::detail
