// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard_index.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace zarrpoint::inline v0 {

/// The indexes of shards, kept from one read to the next: for who reads arrays of one store part by
/// part in one operation (`read_options::indexes`), while nobody writes them. Of an object whose
/// size has changed the index is read again. What was used longest ago is dropped first.
/// Thread-safe.
class shard_index_cache {
 public:
  using index_pointer = std::shared_ptr<const shard_index>;

  /// `most`: the bytes that are kept.
  explicit shard_index_cache(std::size_t most = std::size_t{16} << 20) : most_(most) {}
  shard_index_cache(const shard_index_cache&) = delete;
  shard_index_cache& operator=(const shard_index_cache&) = delete;

  /// A cache for operations with so large a budget, of which it takes a small part.
  static std::size_t share_of(std::size_t budget) noexcept {
    return std::min(std::size_t{16} << 20, budget / 32);
  }

  /// The index of the shard `key` of `size` bytes, which `read()` gives as `result<index_pointer>`
  /// when it is not kept. While one thread reads it, others that need it wait. A failure is that of
  /// one call.
  template <class Read>
  result<index_pointer> get(std::string_view key, std::uint64_t size, Read&& read) {
    const std::shared_ptr<entry> held = find(std::string(key));
    const std::lock_guard reading(held->reading);
    if (held->index != nullptr && held->object_size == size) return held->index;
    ZARRPOINT_TRY(made, read());
    held->object_size = size;
    held->index = made;
    keep(*held);
    return std::move(made);
  }

  /// What is kept, with some bytes for each index beside its own.
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct entry {
    std::string key;
    std::size_t bytes = 0;  ///< as they are counted; guarded by the cache's mutex
    std::mutex reading;
    index_pointer index;
    std::uint64_t object_size = 0;
  };
  using entries = std::list<std::shared_ptr<entry>>;

  static constexpr std::size_t entry_bytes = 256;  ///< about what it takes without an index

  std::shared_ptr<entry> find(std::string key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return used_.front();
    }
    auto made = std::make_shared<entry>();
    made->key = std::move(key);
    made->bytes = entry_bytes + 2 * made->key.size();
    used_.push_front(made);
    by_key_.emplace(made->key, used_.begin());
    bytes_ += made->bytes;
    drop();
    return made;
  }

  /// Counts the index that an entry now has, if it was not dropped meanwhile.
  void keep(entry& of) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(of.key);
    if (found == by_key_.end() || found->second->get() != &of) return;
    const std::size_t now = entry_bytes + 2 * of.key.size() + of.index->words().size();
    bytes_ += now - of.bytes;
    of.bytes = now;
    drop();
  }

  /// Keeps to the bound. The lock is held.
  void drop() {
    while (bytes_ > most_ && !used_.empty()) {
      bytes_ -= used_.back()->bytes;
      by_key_.erase(used_.back()->key);
      used_.pop_back();
    }
  }

  const std::size_t most_;
  mutable std::mutex mutex_;
  entries used_;                                                    ///< the last used first
  std::unordered_map<std::string_view, entries::iterator> by_key_;  ///< keys lie in the entries
  std::size_t bytes_ = 0;
};

}  // namespace zarrpoint::inline v0
