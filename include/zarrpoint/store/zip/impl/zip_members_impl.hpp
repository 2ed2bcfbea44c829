// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/store/zip/zip_members.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::size_t zip_members::hash_of(std::string_view name) const noexcept {
  // FNV-1a from a place in memory on, which no file knows, and what is high brought down.
  std::uint64_t hash = 0xcbf29ce484222325 ^ reinterpret_cast<std::uintptr_t>(this);
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

ZARRPOINT_INLINE std::size_t zip_members::slot_of(std::string_view name, std::size_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    if (slots_[at] == 0) return at;
    const entry& one = entries_[slots_[at] - 1];
    if (one.hash == hash && one.name == name) return at;
  }
}

ZARRPOINT_INLINE const zip_members::entry* zip_members::entry_of(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const std::size_t place = slots_[slot_of(name, hash_of(name))];
  return place == 0 ? nullptr : &entries_[place - 1];
}

ZARRPOINT_INLINE zip_members::pointer zip_members::find(std::string_view name) const {
  const entry* const found = entry_of(name);
  return found != nullptr ? found->member : nullptr;
}

ZARRPOINT_INLINE zip_members::pointer zip_members::put(key name, pointer member) {
  make_room();
  std::size_t& slot = slots_[slot_of(name.name, name.hash)];
  if (slot != 0) {
    entries_[slot - 1].member.swap(member);
    return member;
  }
  entries_.push_back({std::move(name.name), name.hash, std::move(member)});
  slot = entries_.size();
  return nullptr;
}

ZARRPOINT_INLINE bool zip_members::erase(std::string_view name) {
  const entry* const found = entry_of(name);
  if (found == nullptr || found->member == nullptr) return false;
  entries_[static_cast<std::size_t>(found - entries_.data())].member.reset();
  return true;
}

ZARRPOINT_INLINE void zip_members::make_room() {
  if (entries_.size() == entries_.capacity())
    entries_.reserve(std::max<std::size_t>(2 * entries_.size(), 32));
  if (2 * (entries_.size() + 1) <= slots_.size()) return;
  std::vector<std::size_t> wider(std::max<std::size_t>(4 * slots_.size(), 64));
  slots_.swap(wider);
  std::size_t place = 0;
  for (const entry& one : entries_) slots_[slot_of(one.name, one.hash)] = ++place;
}

ZARRPOINT_INLINE void zip_members::put_in_order() const {
  const std::size_t count = entries_.size();
  if (count - order_.size() > few) {
    std::vector<named_place> all;
    all.reserve(count);
    for (std::size_t place = 0; place < count; ++place)
      all.push_back({entries_[place].name, place});
    sort_texts(all);
    std::vector<std::size_t> sorted(count);
    for (std::size_t i = 0; i < count; ++i) sorted[i] = all[i].place;
    order_.swap(sorted);
  }
  // A few find their place one by one: a list after each `put` need not sort all again.
  while (order_.size() < count) {
    const std::size_t place = order_.size();
    const std::size_t to = place_of(entries_[place].name);
    order_.push_back(place);
    for (std::size_t at = place; at > to; --at) order_[at] = order_[at - 1];
    order_[to] = place;
  }
}

ZARRPOINT_INLINE std::size_t zip_members::place_of(std::string_view name) const {
  std::size_t begin = 0, end = order_.size();
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (entries_[order_[middle]].name < name) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

ZARRPOINT_INLINE const zip_members::entry& zip_members::nth(std::size_t place) const {
  put_in_order();
  return entries_[order_[place]];
}

ZARRPOINT_INLINE const zip_members::entry* zip_members::at_least(std::string_view name) const {
  put_in_order();
  std::size_t at = place_of(name);
  while (at < order_.size() && entries_[order_[at]].member == nullptr) ++at;
  return at == order_.size() ? nullptr : &entries_[order_[at]];
}

}}}  // namespace zarrpoint::v0::detail
