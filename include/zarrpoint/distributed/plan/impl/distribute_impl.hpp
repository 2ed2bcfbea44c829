// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/distribute.hpp>
#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Spreads shards over the processes that hold them.
class shard_distributor {
 public:
  shard_distributor(const shard_table& table, const distribution& how)
      : table_(table), how_(how), keys_(table.forms()) {}

  result<std::vector<std::uint32_t>> run() {
    int ranks = 0;
    for (std::size_t i = 0; i < table_.size(); ++i) ranks = std::max(ranks, table_.rank(i) + 1);
    if (!how_.group_of.empty() && how_.group_of.size() < static_cast<std::size_t>(ranks))
      return error{errc::invalid_argument,
                   "the groups are given for " + std::to_string(how_.group_of.size()) +
                       " processes, but process " + std::to_string(ranks - 1) + " exists"};
    loads_.assign(static_cast<std::size_t>(ranks), 0);
    find_shards();
    std::sort(shards_.begin(), shards_.end(), [](const one_shard& a, const one_shard& b) {
      return std::tie(a.group, a.is_foreign, a.holders, b.bytes, a.first) <
             std::tie(b.group, b.is_foreign, b.holders, a.bytes, b.first);
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> chosen;  // by identity, then the holder
    chosen.reserve(shards_.size());
    for (const one_shard& shard : shards_) chosen.emplace_back(shard.first, assign(shard));
    std::sort(chosen.begin(), chosen.end());
    std::vector<std::uint32_t> out;
    out.reserve(chosen.size());
    for (const auto& [identity, holder] : chosen) out.push_back(holder);
    return out;
  }

 private:
  struct one_shard {
    int group = 0;
    bool is_foreign = false;
    std::uint32_t holders = 0;
    index_t bytes = 0;
    std::uint32_t first = 0;  // of its entries in `entries_`
    std::uint32_t count = 0;
  };

  int group(std::size_t i) const {
    return how_.group_of.empty() ? 0 : how_.group_of[static_cast<std::size_t>(table_.rank(i))];
  }

  /// What tells shards apart: the key, the offset, the flat range; and the shape, since an empty
  /// shard may be at the offset of another.
  std::strong_ordering compare(const sorted_shard& a, const sorted_shard& b) const {
    if (const auto order = std::tie(a.key, a.place, a.start) <=> std::tie(b.key, b.place, b.start);
        std::is_neq(order))
      return order;
    const auto x = table_.range(a.shard);
    const auto y = table_.range(b.shard);
    if (const auto order = (x ? x->stop : -1) <=> (y ? y->stop : -1); std::is_neq(order))
      return order;
    const auto list = [](std::span<const index_t> p, std::span<const index_t> q) {
      return std::lexicographical_compare_three_way(p.begin(), p.end(), q.begin(), q.end());
    };
    // An empty shard at the end of an axis has the place of the next row's first element.
    if (const auto order = list(table_.offset(a.shard), table_.offset(b.shard)); std::is_neq(order))
      return order;
    return list(table_.local_shape(a.shard), table_.local_shape(b.shard));
  }

  /// Sorts all entries so that those of one shard in one group follow each other by process.
  void find_shards() {
    entries_.reserve(table_.size());
    for (std::uint32_t i = 0; i < table_.size(); ++i) {
      const auto range = table_.range(i);
      entries_.push_back({keys_.key_of[table_.form_number(i)], i,
                          place_of(table_.offset(i), table_.form(i)), range ? range->start : 0});
    }
    std::sort(entries_.begin(), entries_.end(), [&](const sorted_shard& a, const sorted_shard& b) {
      if (const int x = group(a.shard), y = group(b.shard); x != y) return x < y;
      if (const auto order = compare(a, b); std::is_neq(order)) return std::is_lt(order);
      const int x = table_.rank(a.shard);
      const int y = table_.rank(b.shard);
      return x != y ? x < y : a.shard < b.shard;
    });
    for (std::size_t begin = 0; begin < entries_.size();) {
      const std::uint32_t any = entries_[begin].shard;
      one_shard shard{.group = group(any),
                      .is_foreign = true,
                      .bytes = bytes_of(any),
                      .first = static_cast<std::uint32_t>(begin)};
      int last = -1;
      std::size_t end = begin;
      for (; end < entries_.size() && group(entries_[end].shard) == shard.group &&
             std::is_eq(compare(entries_[begin], entries_[end]));
           ++end) {
        const std::uint32_t i = entries_[end].shard;
        if (std::exchange(last, table_.rank(i)) != table_.rank(i)) ++shard.holders;
        if (table_.is_main(i)) shard.is_foreign = false;
      }
      shard.count = static_cast<std::uint32_t>(end - begin);
      begin = end;
      if (!shard.is_foreign || how_.from_other_groups) shards_.push_back(shard);
    }
  }

  index_t bytes_of(std::uint32_t shard) const {
    index_t bytes = static_cast<index_t>(std::max<std::size_t>(table_.form(shard).type.size(), 1));
    if (table_.is_empty(shard)) return 0;
    if (const auto range = table_.range(shard)) {
      index_t size = 0;  // nobody may have looked whether the range is one
      if (__builtin_sub_overflow(range->stop, range->start, &size)) size = INT64_MAX;
      return saturating_mul(bytes, size);
    }
    for (const index_t n : table_.local_shape(shard)) bytes = saturating_mul(bytes, n);
    return bytes;
  }

  /// The entry of the holder that has the least to do, the first of those.
  std::uint32_t assign(const one_shard& shard) {
    const auto load = [&](std::uint32_t i) -> index_t& {
      return loads_[static_cast<std::size_t>(table_.rank(i))];
    };
    std::uint32_t best = entries_[shard.first].shard;
    for (std::uint32_t n = 1; n < shard.count; ++n) {
      const std::uint32_t other = entries_[shard.first + n].shard;
      if (load(other) < load(best)) best = other;
    }
    if (__builtin_add_overflow(load(best), shard.bytes, &load(best))) load(best) = INT64_MAX;
    return best;
  }

  const shard_table& table_;
  const distribution& how_;
  key_order keys_;
  std::vector<sorted_shard> entries_;
  std::vector<one_shard> shards_;
  std::vector<index_t> loads_;
};

ZARRPOINT_INLINE result<std::vector<std::uint32_t>> distribute(const shard_table& shards,
                                                               const distribution& how) {
  return detail::shard_distributor(shards, how).run();
}

}}}  // namespace zarrpoint::v0::detail
