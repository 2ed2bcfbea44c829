// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/block_cache.hpp>

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

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE block_cache::block_cache(const cache_options& how)
    : limit_(how.bytes), block_bytes_(std::max<std::size_t>(how.block_bytes, 4096)) {}

ZARRPOINT_INLINE std::uint64_t block_cache::epoch() const {
  const std::lock_guard lock(mutex_);
  return changes_ == 0 ? epoch_ : no_epoch;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> block_cache::size_of(std::uint64_t epoch,
                                                                   std::string_view key) const {
  const std::lock_guard lock(mutex_);
  if (epoch != epoch_) return std::nullopt;
  const auto at = blocks_.lower_bound(by_id::view{key, 0});
  if (at == blocks_.end() || at->first.key != key) return std::nullopt;
  return at->second.object_size;
}

ZARRPOINT_INLINE block_cache::block block_cache::find(std::uint64_t epoch, const std::string& key,
                                                      std::uint64_t index) {
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

ZARRPOINT_INLINE void block_cache::insert(std::uint64_t epoch, const std::string& key,
                                          std::uint64_t size,
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

ZARRPOINT_INLINE void block_cache::forget(std::string_view key) noexcept {
  const std::lock_guard lock(mutex_);
  drop_beneath(key);
}

ZARRPOINT_INLINE void block_cache::begin_change(std::string_view key) noexcept {
  const std::lock_guard lock(mutex_);
  ++changes_;
  drop_beneath(key);
}

ZARRPOINT_INLINE void block_cache::end_change() noexcept {
  const std::lock_guard lock(mutex_);
  --changes_;
  ++epoch_;
}

ZARRPOINT_INLINE cache_counts block_cache::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

ZARRPOINT_INLINE void block_cache::drop_beneath(std::string_view key) noexcept {
  ++epoch_;
  for (auto at = blocks_.lower_bound(by_id::view{key, 0});
       at != blocks_.end() && at->first.key.starts_with(key);) {
    const std::string_view found = at->first.key;
    const bool changed = key.empty() || found.size() == key.size() || found[key.size()] == '/';
    at = changed ? drop(at) : std::next(at);
  }
}

ZARRPOINT_INLINE block_cache::entry_map::iterator block_cache::drop(entry_map::iterator at) {
  counts_.bytes -= at->second.bytes->size();
  order_.erase(at->second.place);
  return blocks_.erase(at);
}

}}}  // namespace zarrpoint::v0::detail
