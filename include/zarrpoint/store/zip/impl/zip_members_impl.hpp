// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
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
    if (slots_[at] == free_slot) return at;
    const entry& one = entries_[slots_[at] - 1];
    if (one.hash == hash && one.name == name) return at;
  }
}

ZARRPOINT_INLINE const zip_members::entry* zip_members::entry_of(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const std::uint32_t place = slots_[slot_of(name, hash_of(name))];
  return place == free_slot ? nullptr : &entries_[place - 1];
}

ZARRPOINT_INLINE zip_members::pointer zip_members::find(std::string_view name) const {
  const entry* const found = entry_of(name);
  return found != nullptr ? found->member : nullptr;
}

ZARRPOINT_INLINE zip_members::pointer zip_members::put(key name, pointer member) {
  make_room();
  std::uint32_t& slot = slots_[slot_of(name.name, name.hash)];
  if (slot != free_slot) return std::exchange(entries_[slot - 1].member, std::move(member));
  entries_.push_back({std::move(name.name), name.hash, std::move(member)});
  slot = static_cast<std::uint32_t>(entries_.size());
  return nullptr;
}

ZARRPOINT_INLINE bool zip_members::erase(std::string_view name) {
  const entry* const found = entry_of(name);
  if (found == nullptr) return false;
  entry& one = entries_[static_cast<std::size_t>(found - entries_.data())];
  return std::exchange(one.member, nullptr) != nullptr;
}

ZARRPOINT_INLINE void zip_members::make_room() {
  if (entries_.size() == entries_.capacity())
    entries_.reserve(std::max<std::size_t>(2 * entries_.size(), 32));
  if (2 * (entries_.size() + 1) <= slots_.size()) return;
  slots_ = std::vector<std::uint32_t>(std::max<std::size_t>(4 * slots_.size(), 64), free_slot);
  std::uint32_t place = 0;
  for (const entry& one : entries_) slots_[slot_of(one.name, one.hash)] = ++place;
}

ZARRPOINT_INLINE void zip_members::put_in_order() const {
  if (entries_.size() - order_.size() > few) return put_all_in_order();
  while (order_.size() < entries_.size()) {
    const auto place = static_cast<std::uint32_t>(order_.size());
    order_.insert(first_at_least(entries_[place].name), place);
  }
}

ZARRPOINT_INLINE std::vector<std::uint32_t>::iterator zip_members::first_at_least(
    std::string_view name) const {
  return std::lower_bound(
      order_.begin(), order_.end(), name,
      [this](std::uint32_t place, std::string_view text) { return entries_[place].name < text; });
}

ZARRPOINT_INLINE void zip_members::put_all_in_order() const {
  // Most names begin alike: what comes behind that decides most comparisons by one number.
  const std::string_view first = entries_[order_.size()].name;
  std::size_t alike = first.size();
  for (std::size_t place = order_.size() + 1; place < entries_.size(); ++place) {
    const std::string_view name = std::string_view(entries_[place].name).substr(0, alike);
    alike = static_cast<std::size_t>(std::mismatch(name.begin(), name.end(), first.begin()).first -
                                     name.begin());
  }
  struct late_name {
    std::uint64_t begin;
    std::uint32_t place;
  };
  std::vector<late_name> late;
  late.reserve(entries_.size() - order_.size());
  for (std::size_t place = order_.size(); place < entries_.size(); ++place) {
    std::byte begin[8]{};
    const bytes_view rest = as_bytes(entries_[place].name).subspan(alike);
    std::copy_n(rest.begin(), std::min<std::size_t>(rest.size(), sizeof begin), begin);
    late.push_back({byteswap(load_le<std::uint64_t>(begin)), static_cast<std::uint32_t>(place)});
  }
  std::sort(late.begin(), late.end(), [this](const late_name& a, const late_name& b) {
    return a.begin != b.begin ? a.begin < b.begin : entries_[a.place].name < entries_[b.place].name;
  });
  std::vector<std::uint32_t> all;
  all.reserve(entries_.size());
  auto early = order_.begin();
  for (const late_name& one : late) {
    while (early != order_.end() && entries_[*early].name < entries_[one.place].name)
      all.push_back(*early++);
    all.push_back(one.place);
  }
  all.insert(all.end(), early, order_.end());
  order_ = std::move(all);
}

ZARRPOINT_INLINE std::vector<const zip_members::entry*> zip_members::sorted() const {
  put_in_order();
  std::vector<const entry*> out;
  out.reserve(order_.size());
  for (const std::uint32_t place : order_)
    if (entries_[place].member != nullptr) out.push_back(&entries_[place]);
  return out;
}

ZARRPOINT_INLINE const zip_members::entry* zip_members::at_least(std::string_view name) const {
  put_in_order();
  auto at = first_at_least(name);
  while (at != order_.end() && entries_[*at].member == nullptr) ++at;
  return at == order_.end() ? nullptr : &entries_[*at];
}

}}}  // namespace zarrpoint::v0::detail
