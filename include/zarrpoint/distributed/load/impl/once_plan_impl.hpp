// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/load/once_plan.hpp>
#include <zarrpoint/distributed/plan/distribute.hpp>
#include <zarrpoint/distributed/plan/share_regions.hpp>
#include <zarrpoint/distributed/shard/shard_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<once_plan> once_plan::make(described_states states, std::vector<dims> units,
                                                   const once_options& options) {
  once_plan out(options);
  out.asked_ = std::move(states.shards);
  ZARRPOINT_TRY(regions, share_regions(out.asked_, {.units = std::move(units),
                                                    .group_of = options.groups,
                                                    .bytes = options.region_bytes,
                                                    .most = options.most_sent}));
  out.regions_ = std::move(regions);
  out.add_regions();
  out.add_objects(states.objects);
  ZARRPOINT_CHECK(out.choose_readers());
  return out;
}

ZARRPOINT_INLINE void once_plan::add_regions() {
  const shard_table& table = regions_.table;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    const shard_metadata about = table.metadata(i);
    const std::uint32_t request = regions_.request_of[i];
    wire_writer id;
    id.flag(false);
    id.text(about.key);
    id.type(about.type);
    id.shape(about.global_shape);
    // In the order of their places, in which neighbours have different readers.
    const std::uint64_t place = place_of(table.offset(i), table.form(i));
    for (unsigned shift = 64; shift > 0; shift -= 4) id.number((place >> (shift - 4)) & 15);
    id.shape(about.global_offset);
    id.shape(about.local_shape);
    id.flag(about.range.has_value());
    if (about.range) id.shape({about.range->start, about.range->stop});
    const std::uint64_t bytes = byte_count(about.data_spec()).value_or(0);
    // Elements of no fixed size are not sent, and no more than there is room for: each process that
    // asks for them reads them.
    if (about.type.is_variable() || bytes > options_.most_sent) id.number(i);
    shared_request::holder holder{asked_.rank(request), asked_.position(request), false, bytes, i};
    if (regions_.is_cut(i)) holder.bytes = byte_count(spec_of(holder)).value_or(0);
    add(std::move(id), bytes, holder);
  }
}

ZARRPOINT_INLINE void once_plan::add_objects(const std::vector<gathered_object>& objects) {
  std::map<int, std::size_t> tensors_of;
  for (std::size_t i = 0; i < asked_.size(); ++i) ++tensors_of[asked_.rank(i)];
  for (const gathered_object& one : objects) {
    wire_writer id;
    id.flag(true);
    id.text(unique_key(one.id));
    add(std::move(id), 1, {one.rank, tensors_of[one.rank]++, one.is_main, 1, 0}).is_object = true;
  }
}

ZARRPOINT_INLINE shared_request& once_plan::add(wire_writer id, std::uint64_t bytes,
                                                shared_request::holder holder) {
  // Each group reads for itself. The group comes last, so that the groups' requests for one
  // tensor follow each other and all groups read at a time.
  id.index(options_.groups.empty() ? 0 : options_.groups[static_cast<std::size_t>(holder.rank)]);
  const std::vector<std::byte> text = std::move(id).take();
  shared_request& one = all_[std::string(as_text(text))];
  one.bytes = bytes;
  one.holders.push_back(holder);
  return one;
}

ZARRPOINT_INLINE result<void> once_plan::choose_readers() {
  ZARRPOINT_TRY(chosen, detail::distribute(regions_.table, {options_.groups, true}));
  std::vector<bool> reads(regions_.table.size(), false);
  for (const std::uint32_t i : chosen) reads[i] = true;
  for (auto& [id, one] : all_) {
    const auto reader = std::find_if(one.holders.begin(), one.holders.end(), [&](const auto& h) {
      return one.is_object ? h.is_main_object : reads[h.entry];
    });
    one.reader = reader != one.holders.end() ? *reader : one.holders.front();
    order_.push_back(&one);
  }
  return {};
}

ZARRPOINT_INLINE std::size_t once_plan::end_of_round(std::size_t begin) const {
  // Of each process: what it sends, and what it is sent.
  std::map<int, std::uint64_t> in_hand;
  std::size_t end = begin;
  for (; end < order_.size() && !is_large(*order_[end]); ++end) {
    const shared_request& one = *order_[end];
    bool fits = true;
    std::uint64_t sent = 0;
    const auto take = [&](int rank, std::uint64_t more) {
      std::uint64_t& of_rank = in_hand[rank];
      fits = fits && (of_rank == 0 || more == 0 || of_rank + more <= options_.most_in_hand);
      of_rank += more;
    };
    for (const shared_request::holder& holder : one.holders) {
      if (holder.rank == one.reader.rank) continue;
      sent += holder.bytes;
      take(holder.rank, holder.bytes);
    }
    take(one.reader.rank, sent);
    if (!fits && end != begin) break;  // one goes by itself, whatever it has
  }
  return end;
}

ZARRPOINT_INLINE bool once_plan::is_large(const shared_request& one) const {
  const std::uint64_t copies = one.holders.size();
  return !one.is_object && copies > 1 && one.bytes > options_.most_in_hand / copies &&
         std::all_of(one.holders.begin(), one.holders.end(),
                     [&](const shared_request::holder& h) { return h.bytes == one.bytes; });
}

ZARRPOINT_INLINE std::size_t once_plan::end_of_relay(std::size_t begin) const {
  std::set<int> busy;
  std::size_t end = begin;
  for (; end < order_.size() && is_large(*order_[end]); ++end) {
    const std::vector<int> wanting = chain_of(*order_[end]);
    const auto is_busy = [&](int rank) { return busy.contains(rank); };
    if (std::any_of(wanting.begin(), wanting.end(), is_busy)) break;
    busy.insert(wanting.begin(), wanting.end());
  }
  return end;
}

ZARRPOINT_INLINE std::vector<int> once_plan::chain_of(const shared_request& one) {
  std::set<int> ranks;
  for (const shared_request::holder& holder : one.holders) ranks.insert(holder.rank);
  ranks.erase(one.reader.rank);
  std::vector<int> out{one.reader.rank};
  out.insert(out.end(), ranks.begin(), ranks.end());
  return out;
}

ZARRPOINT_INLINE host_view once_plan::wanted_of(const shared_request& one,
                                                const shared_request::holder& holder,
                                                const std::byte* region) const {
  const shard_metadata about = region_of(one);
  host_view all = dense_view(region, about.data_spec());
  if (!is_cut(holder)) return all;
  return subview(all, selection(relative_to(about.global_box(), part_of(holder))));
}

ZARRPOINT_INLINE box once_plan::part_of(const shared_request::holder& holder) const {
  return regions_.wanted(asked_, holder.entry);
}

ZARRPOINT_INLINE tensor_spec once_plan::spec_of(const shared_request::holder& holder) const {
  if (!is_cut(holder)) return regions_.table.metadata(holder.entry).data_spec();
  return {regions_.table.form(holder.entry).type, part_of(holder).shape};
}

}}}  // namespace zarrpoint::v0::detail
