// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// What a `cache_store` may hold.
struct cache_options {
  std::size_t bytes = std::size_t{256} << 20;      ///< of all cached blocks; 0 caches nothing
  std::size_t block_bytes = std::size_t{1} << 20;  ///< what is read at a time; at least 4096
};

/// What a `cache_store` did so far, in blocks.
struct cache_counts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t bytes = 0;  ///< held now
};

namespace detail {

/// Blocks of objects, those used last kept longest, within a number of bytes. An epoch ends when a
/// change begins, and again when it is done: who opened an object in an earlier one, or between the
/// two, finds nothing and adds nothing, so that no block of an old object stands for one of the
/// new.
class block_cache {
 public:
  using block = std::shared_ptr<const std::vector<std::byte>>;

  explicit block_cache(const cache_options& how)
      : limit_(how.bytes), block_bytes_(std::max<std::size_t>(how.block_bytes, 4096)) {}

  std::size_t limit() const noexcept { return limit_; }
  std::size_t block_bytes() const noexcept { return block_bytes_; }

  /// What an object that is opened now finds and adds blocks by.
  std::uint64_t epoch() const {
    const std::lock_guard lock(mutex_);
    return changes_ == 0 ? epoch_ : no_epoch;
  }

  /// The size of an object of which there is a block that `epoch` finds.
  std::optional<std::uint64_t> size_of(std::uint64_t epoch, std::string_view key) const {
    const std::lock_guard lock(mutex_);
    if (epoch != epoch_) return std::nullopt;
    const auto at = blocks_.lower_bound(by_id::view{key, 0});
    if (at == blocks_.end() || at->first.key != key) return std::nullopt;
    return at->second.object_size;
  }

  block find(std::uint64_t epoch, const std::string& key, std::uint64_t index) {
    const std::lock_guard lock(mutex_);
    const auto at = epoch == epoch_ ? blocks_.find(by_id::view{key, index}) : blocks_.end();
    if (at == blocks_.end()) {
      ++counts_.misses;
      return nullptr;
    }
    ++counts_.hits;
    order_.splice(order_.begin(), order_, at->second.place);
    return at->second.bytes;
  }

  /// Keeps block `index` of an object of `size` bytes.
  void insert(std::uint64_t epoch, const std::string& key, std::uint64_t size,
              std::pair<std::uint64_t, block> indexed) {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = indexed.second->size();
    if (epoch != epoch_ || bytes > limit_) return;
    std::list<const id*> place(1);  // what takes memory comes before what is then noted
    const auto [at, fresh] = blocks_.try_emplace(id{key, indexed.first});
    if (!fresh) return;  // another thread was faster
    place.front() = &at->first;
    order_.splice(order_.begin(), place);
    at->second = {std::move(indexed.second), order_.begin(), size};
    counts_.bytes += bytes;
    while (counts_.bytes > limit_) drop(blocks_.find(*order_.back()));
  }

  /// Forgets an object and what lies beneath it. Takes no memory.
  void forget(std::string_view key) noexcept {
    const std::lock_guard lock(mutex_);
    drop_beneath(key);
  }

  /// As `forget`, for what is about to change: until `end_change` nobody knows whether what is read
  /// is old or new, and who opens an object meanwhile finds nothing and adds nothing either.
  void begin_change(std::string_view key) noexcept {
    const std::lock_guard lock(mutex_);
    ++changes_;
    drop_beneath(key);
  }
  void end_change() noexcept {
    const std::lock_guard lock(mutex_);
    --changes_;
    ++epoch_;
  }

  cache_counts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  struct id {
    std::string key;
    std::uint64_t index;
  };
  struct entry {
    block bytes;
    std::list<const id*>::iterator place;
    std::uint64_t object_size;
  };
  /// Finds blocks without a key of their own.
  struct by_id {
    using is_transparent = void;
    using view = std::pair<std::string_view, std::uint64_t>;

    bool operator()(const id& a, const id& b) const noexcept { return of(a) < of(b); }
    bool operator()(const id& a, const view& b) const noexcept { return of(a) < b; }
    bool operator()(const view& a, const id& b) const noexcept { return a < of(b); }
    static view of(const id& one) noexcept { return {one.key, one.index}; }
  };
  using entry_map = std::map<id, entry, by_id>;

  static constexpr std::uint64_t no_epoch = UINT64_MAX;

  void drop_beneath(std::string_view key) noexcept {
    ++epoch_;
    for (auto at = blocks_.lower_bound(by_id::view{key, 0});
         at != blocks_.end() && at->first.key.starts_with(key);) {
      const std::string_view found = at->first.key;
      const bool changed = key.empty() || found.size() == key.size() || found[key.size()] == '/';
      at = changed ? drop(at) : std::next(at);
    }
  }

  entry_map::iterator drop(entry_map::iterator at) {
    counts_.bytes -= at->second.bytes->size();
    order_.erase(at->second.place);
    return blocks_.erase(at);
  }

  const std::size_t limit_;
  const std::size_t block_bytes_;
  mutable std::mutex mutex_;
  entry_map blocks_;
  std::list<const id*> order_;  ///< the one used last in front
  std::uint64_t epoch_ = 0;
  std::size_t changes_ = 0;  ///< those that have begun and are not done
  cache_counts counts_;
};

}  // namespace detail

}  // namespace zarrpoint::inline v0
