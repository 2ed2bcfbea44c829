// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE shard_index_cache::shard_index_cache(std::size_t most, std::size_t most_open)
    : most_(most), most_open_(most_open) {}

ZARRPOINT_INLINE std::size_t shard_index_cache::share_of(std::size_t budget) noexcept {
  return std::min(std::size_t{16} << 20, budget / 32);
}

ZARRPOINT_INLINE void shard_index_cache::clear() {
  const std::lock_guard lock(mutex_);
  opening_.clear();
  by_key_.clear();
  used_.clear();
  bytes_ = 0;
}

ZARRPOINT_INLINE std::size_t shard_index_cache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

ZARRPOINT_INLINE result<shard_index_cache::shard> shard_index_cache::with_own_index(shard of) {
  if (of.index == nullptr) return of;
  ZARRPOINT_TRY(copy, detail::shard_index::make(of.index->size()));
  const bytes_view words = std::as_const(*of.index).words();
  std::copy(words.begin(), words.end(), copy.words().begin());
  of.index = detail::make_counted<const detail::shard_index>(std::move(copy));
  return of;
}

ZARRPOINT_INLINE std::vector<shard_index_cache::entries::iterator>::iterator
shard_index_cache::place_of(std::string_view key) {
  return std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [](entries::iterator one, std::string_view wanted) { return one->key < wanted; });
}

ZARRPOINT_INLINE const shard_index_cache::shard* shard_index_cache::find_kept(
    std::string_view key) {
  const auto found = place_of(key);
  if (found == by_key_.end() || (*found)->key != key) return nullptr;
  used_.splice(used_.begin(), used_, *found);
  return &used_.front().kept;
}

ZARRPOINT_INLINE std::shared_ptr<shard_index_cache::attempt> shard_index_cache::find_attempt(
    std::string_view key) const {
  for (const std::shared_ptr<attempt>& one : opening_)
    if (one->key == key) return one;
  return nullptr;
}

ZARRPOINT_INLINE void shard_index_cache::keep(const std::string& key, const shard& made) {
  const std::size_t bytes = entry_bytes + 2 * key.size() + made.index->words().size();
  if (bytes > most_ || most_open_ == 0) return;
  used_.push_front({key, bytes, made});
  by_key_.insert(place_of(key), used_.begin());
  bytes_ += bytes;
  while (bytes_ > most_ || used_.size() > most_open_) {
    bytes_ -= used_.back().bytes;
    by_key_.erase(place_of(used_.back().key));
    used_.pop_back();
  }
}

}}  // namespace zarrpoint::v0
