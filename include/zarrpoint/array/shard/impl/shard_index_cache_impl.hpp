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
  ZARRPOINT_TRY(copy, own_copy(*of.index));
  of.index = std::move(copy);
  return of;
}

ZARRPOINT_INLINE result<shard_index_cache::index_pointer> shard_index_cache::own_copy(
    const detail::shard_index& of) {
  ZARRPOINT_TRY(copy, detail::shard_index::make(of.size()));
  const bytes_view words = of.words();
  std::copy(words.begin(), words.end(), copy.words().begin());
  return detail::make_counted<const detail::shard_index>(std::move(copy));
}

ZARRPOINT_INLINE std::size_t shard_index_cache::entry_size(
    std::string_view key, const detail::shard_index& index) noexcept {
  return entry_bytes + 2 * key.size() + index.words().size();
}

ZARRPOINT_INLINE shard_index_cache::place shard_index_cache::place_of(std::string_view key) {
  return std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [](entries::iterator one, std::string_view wanted) { return one->key < wanted; });
}

ZARRPOINT_INLINE const shard_index_cache::shard* shard_index_cache::find_kept(
    std::string_view key) {
  const auto found = place_of(key);
  if (found == by_key_.end() || (*found)->key != key || (*found)->version) return nullptr;
  use(*found);
  return &used_.front().kept;
}

ZARRPOINT_INLINE shard_index_cache::index_pointer shard_index_cache::find(
    std::string_view key, const index_version& version) {
  const std::lock_guard lock(mutex_);
  const auto found = place_of(key);
  if (found == by_key_.end() || (*found)->key != key || (*found)->version != version)
    return nullptr;
  use(*found);
  return used_.front().kept.index;
}

ZARRPOINT_INLINE void shard_index_cache::keep(std::string_view key, const index_version& version,
                                              const detail::shard_index& index) {
  if (entry_size(key, index) > most_) return;
  result<index_pointer> copy = own_copy(index);
  if (!copy) return;
  const std::lock_guard lock(mutex_);
  put(key, {nullptr, *std::move(copy)}, version);
}

ZARRPOINT_INLINE std::shared_ptr<shard_index_cache::attempt> shard_index_cache::find_attempt(
    std::string_view key) const {
  for (const std::shared_ptr<attempt>& one : opening_)
    if (one->key == key) return one;
  return nullptr;
}

ZARRPOINT_INLINE void shard_index_cache::put(std::string_view key, shard made,
                                             std::optional<index_version> version) {
  const std::size_t bytes = entry_size(key, *made.index);
  if (bytes > most_ || most_open_ == 0) return;
  // What takes memory comes before what is then noted; where there is none, the index is not kept.
  entries one;
  const auto room = guarded([&]() -> result<void> {
    one.push_front({std::string(key), bytes, std::move(made), version});
    if (by_key_.size() == by_key_.capacity()) by_key_.reserve(2 * by_key_.size() + 8);
    return {};
  });
  if (!room) return;
  auto at = place_of(key);
  if (at != by_key_.end() && (*at)->key == key) at = drop(at);
  used_.splice(used_.begin(), one);
  by_key_.insert(at, used_.begin());
  bytes_ += bytes;
  while (bytes_ > most_ || used_.size() > most_open_) drop(place_of(used_.back().key));
}

ZARRPOINT_INLINE shard_index_cache::place shard_index_cache::drop(place one) {
  bytes_ -= (*one)->bytes;
  used_.erase(*one);
  return by_key_.erase(one);
}

}}  // namespace zarrpoint::v0
