// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_numbers.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::uint64_t> shard_place(std::uint64_t end, std::uint64_t size,
                                                   std::uint32_t alignment) {
  constexpr std::uint64_t worth_aligning = 4096;
  if (alignment <= 1 || size < worth_aligning) return end;
  return checked_round_up(end, std::uint64_t{alignment});
}

ZARRPOINT_INLINE result<shard_index> shard_index::make(std::uint64_t count, memory_resource& from) {
  ZARRPOINT_TRY(size, checked_mul<std::uint64_t>(count, sizeof(shard_entry)));
  shard_index out;
  ZARRPOINT_TRY(memory, buffer::allocate(size, from));
  out.memory_ = std::move(memory);
  std::fill_n(out.memory_.data(), size, std::byte{0xff});
  return out;
}

ZARRPOINT_INLINE shard_entry shard_index::operator[](std::size_t i) const noexcept {
  const std::byte* at = memory_.data() + i * sizeof(shard_entry);
  shard_entry out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

ZARRPOINT_INLINE void shard_index::set(std::size_t i, shard_entry entry) noexcept {
  std::memcpy(memory_.data() + i * sizeof entry, &entry, sizeof entry);
}

ZARRPOINT_INLINE std::uint64_t shard_index::stored_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const shard_entry entry = (*this)[i];
    if (!entry.absent()) sum += entry.size;
  }
  return sum;
}

ZARRPOINT_INLINE error shard_index::bad(std::size_t i, const std::string& what) {
  return {errc::corrupt, "shard index: entry " + std::to_string(i) + " " + what};
}

ZARRPOINT_INLINE std::string shard_index::range(const shard_entry& entry) {
  return std::to_string(entry.size) + " bytes at " + std::to_string(entry.offset);
}

ZARRPOINT_INLINE result<void> shard_index::check(std::uint64_t object_size,
                                                 std::uint64_t index_offset,
                                                 std::uint64_t index_size,
                                                 memory_resource& scratch) const {
  std::uint64_t last_end = 0;
  bool ascending = true;
  for (std::size_t i = 0; i < size(); ++i) {
    const shard_entry entry = (*this)[i];
    if (entry.absent()) continue;
    if (entry.offset == shard_entry::absent_mark || entry.size == shard_entry::absent_mark)
      return bad(i, "marks its inner chunk as absent in one of its two fields only");
    std::uint64_t end = 0;
    if (__builtin_add_overflow(entry.offset, entry.size, &end) || end > object_size)
      return bad(i, "points to " + range(entry) + ", past the end of the " +
                        std::to_string(object_size) + " bytes of the shard");
    if (entry.size != 0 && entry.offset < index_offset + index_size && index_offset < end)
      return bad(i, "points to " + range(entry) + ", which is inside the index");
    ascending = ascending && entry.offset >= last_end;
    last_end = end;
  }
  return ascending ? result<void>() : check_disjoint(scratch);
}

/// Inner chunks may lie in any order, so that they have to be sorted to be compared. In a shard
/// that was extended most lie in the order of the index still, and only the others are sorted.
ZARRPOINT_INLINE result<void> shard_index::check_disjoint(memory_resource& scratch) const {
  ZARRPOINT_TRY(memory, buffer::allocate(size() * sizeof(numbered_place), scratch));
  auto* const first = reinterpret_cast<numbered_place*>(memory.data());
  numbered_place* others = first;  // to here
  numbered_place* const end = first + size();
  numbered_place* in_order = end;  // from here on: each ends before the next one begins
  for (std::size_t i = size(); i-- > 0;) {
    const shard_entry entry = (*this)[i];
    if (entry.absent() || entry.size == 0) continue;
    const bool fits = in_order == end || entry.offset + entry.size <= in_order->number;
    ::new (static_cast<void*>(fits ? --in_order : others++)) numbered_place{entry.offset, i};
  }
  sort_numbers({first, others});
  const numbered_place* before = nullptr;
  for (const numbered_place* at = first; at != others || in_order != end;) {
    const bool is_other = at != others && (in_order == end || at->number < in_order->number);
    const numbered_place* const next = is_other ? at++ : in_order++;
    if (before != nullptr && next->number < before->number + (*this)[before->place].size)
      return bad(std::max(next->place, before->place),
                 "overlaps entry " + std::to_string(std::min(next->place, before->place)));
    before = next;
  }
  return {};
}

}}}  // namespace zarrpoint::v0::detail
