// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/distributed/load/read_once.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>

#include <algorithm>
#include <climits>
#include <set>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ----------------------------------------------------------------------------------- read_once.hpp

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
    const std::uint64_t first = first_element(table.offset(i), table.form(i));
    for (unsigned shift = 64; shift > 0; shift -= 4) id.number((first >> (shift - 4)) & 15);
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

ZARRPOINT_INLINE tensor_spec once_plan::spec_of(const shared_request::holder& holder) const {
  if (!is_cut(holder)) return regions_.table.metadata(holder.entry).data_spec();
  return {regions_.table.form(holder.entry).type, part_of(holder).shape};
}

ZARRPOINT_INLINE result<std::uint64_t> once_reader::read(std::vector<sharded_tensor>& tensors,
                                                         std::vector<sharded_object>& objects) {
  const any_communicator& ranks = group_.ranks;
  ZARRPOINT_CHECK(share_options());
  ZARRPOINT_TRY(states, describe(tensors, objects));
  ZARRPOINT_TRY(units, share_units(states.shards));
  ZARRPOINT_TRY(plan, agree(ranks, guarded([&]() -> result<once_plan> {
                              for (sharded_tensor& tensor : tensors)
                                ZARRPOINT_CHECK(tensor.init_data(resource_of(group_.how)));
                              return once_plan::make(std::move(states), std::move(units), options_);
                            })));
  plan_ = &plan;
  result<void> placed;  // which all agree on with what they read next
  for (std::size_t begin = 0; begin < plan.order().size();) {
    const bool is_relayed = plan.is_large(*plan.order()[begin]);
    const std::size_t end = is_relayed ? plan.end_of_relay(begin) : plan.end_of_round(begin);
    const auto round = plan.order().subspan(begin, end - begin);
    begin = end;
    if (is_relayed) {
      ZARRPOINT_CHECK(agree(ranks, std::exchange(placed, result<void>())));
      ZARRPOINT_CHECK(relay(round, tensors));
      continue;
    }
    message_budget counted(group_.how);
    auto outgoing = guarded([&]() -> result<std::vector<message>> {
      ZARRPOINT_CHECK(placed);
      return read_round(round, tensors, objects, counted);
    });
    ZARRPOINT_TRY(letters, agree(ranks, std::move(outgoing)));
    ZARRPOINT_TRY(incoming, ranks.exchange(std::move(letters)));
    placed = guarded([&]() -> result<void> {
      ZARRPOINT_CHECK(counted.count("what is read", incoming, ranks.rank()));
      return place_round(round, incoming, tensors, objects);
    });
    spare_ = std::move(incoming);
  }
  ZARRPOINT_CHECK(agree(ranks, std::move(placed)));
  return bytes_;
}

ZARRPOINT_INLINE result<described_states> once_reader::describe(
    const std::vector<sharded_tensor>& tensors, const std::vector<sharded_object>& objects) const {
  const any_communicator& ranks = group_.ranks;
  message_budget counted(group_.how);
  const auto describe_mine = [&]() -> result<message> {
    ZARRPOINT_TRY(out, describe_state({tensors, objects, {}}, {}));
    ZARRPOINT_CHECK(counted.count("the description", ranks.rank(), out.size()));
    return std::move(out);
  };
  ZARRPOINT_TRY(mine, agree(ranks, guarded(describe_mine)));
  ZARRPOINT_TRY(described, all_gather(ranks, std::move(mine)));
  return agree(ranks, guarded([&]() -> result<described_states> {
                 ZARRPOINT_CHECK(counted.count("the description", described, ranks.rank()));
                 return read_descriptions(described);
               }));
}

ZARRPOINT_INLINE result<void> once_reader::share_options() {
  wire_writer to;
  to.number(group_.how.limit.memory);
  to.number(options_.groups.size());
  for (const int group : options_.groups) to.index(group);
  ZARRPOINT_TRY(of_root, broadcast(group_.ranks, std::move(to).take()));
  return agree(group_.ranks, guarded([&]() -> result<void> {
                 wire_reader from(of_root);
                 const std::uint64_t memory = from.number();
                 options_.most_in_hand = std::min(options_.most_in_hand, memory / 8);
                 options_.most_sent = memory / 4;
                 options_.groups.clear();
                 for (std::size_t n = from.count(); n > 0 && !from.failed(); --n)
                   options_.groups.push_back(static_cast<int>(from.index()));
                 ZARRPOINT_CHECK(from.finish());
                 return check_groups(options_.groups, group_.ranks.size());
               }));
}

ZARRPOINT_INLINE result<std::vector<dims>> once_reader::share_units(
    const shard_table& asked) const {
  wire_writer to;
  for (const shard_form& form : asked.forms()) {
    const stored_tensor* const stored = find_by_key(reader_.tensors(), form.key);
    to.shape(stored != nullptr ? unit_of(*stored) : dims());
  }
  ZARRPOINT_TRY(of_root, broadcast(group_.ranks, std::move(to).take()));
  std::vector<dims> out;
  wire_reader from(of_root);
  for (std::size_t n = asked.forms().size(); n > 0; --n) out.push_back(from.shape());
  ZARRPOINT_CHECK(agree(group_.ranks, from.finish()));
  return out;
}

ZARRPOINT_INLINE result<void> once_reader::relay(std::span<const shared_request* const> round,
                                                 std::vector<sharded_tensor>& tensors) {
  const any_communicator& ranks = group_.ranks;
  const shared_request* mine = nullptr;
  std::vector<int> chain;
  std::size_t longest = 0;
  for (const shared_request* one : round) {
    const std::vector<int> wanting = once_plan::chain_of(*one);
    longest = std::max(longest, wanting.size());
    if (std::find(wanting.begin(), wanting.end(), ranks.rank()) == wanting.end()) continue;
    mine = one;
    chain = wanting;
  }
  const auto place_in =
      static_cast<std::size_t>(std::find(chain.begin(), chain.end(), ranks.rank()) - chain.begin());
  message elements;
  message_budget counted(group_.how);
  ZARRPOINT_CHECK(agree(ranks, guarded([&]() -> result<void> {
                          if (mine == nullptr) return {};
                          // It, and a copy that is sent.
                          ZARRPOINT_CHECK(
                              counted.count("what is read", mine->reader.rank, 2 * mine->bytes));
                          if (place_in != 0) return {};
                          elements.resize(mine->bytes);
                          bytes_ += mine->bytes;
                          return read_region(*mine, elements.data());
                        })));
  for (std::size_t have = 1; have < longest; have *= 2) {
    auto outgoing = guarded([&]() -> result<std::vector<message>> {
      std::vector<message> out(static_cast<std::size_t>(ranks.size()));
      if (place_in < have && place_in + have < chain.size())
        out[static_cast<std::size_t>(chain[place_in + have])] = elements;
      return out;
    });
    ZARRPOINT_TRY(letters, agree(ranks, std::move(outgoing)));
    ZARRPOINT_TRY(incoming, ranks.exchange(std::move(letters)));
    if (place_in >= have && place_in < std::min(2 * have, chain.size()))
      elements = std::move(incoming[static_cast<std::size_t>(chain[place_in - have])]);
  }
  return agree(ranks, guarded([&]() -> result<void> {
                 if (mine == nullptr) return {};
                 if (elements.size() != mine->bytes)
                   return error{errc::corrupt, "from rank " + std::to_string(mine->reader.rank) +
                                                   ": " + std::to_string(elements.size()) +
                                                   " bytes of " +
                                                   in_quotes(plan_->region_of(*mine).key) +
                                                   ", wanted " + std::to_string(mine->bytes)};
                 for (const shared_request::holder& holder : mine->holders) {
                   if (holder.rank != ranks.rank()) continue;
                   const host_view wanted = plan_->wanted_of(*mine, holder, elements.data());
                   ZARRPOINT_CHECK(place(holder, tensors[holder.position], wanted)
                                       .at("from rank " + std::to_string(mine->reader.rank)));
                 }
                 return {};
               }));
}

ZARRPOINT_INLINE result<std::vector<message>> once_reader::read_round(
    std::span<const shared_request* const> round, std::vector<sharded_tensor>& tensors,
    std::vector<sharded_object>& objects, message_budget& counted) {
  const int self = group_.ranks.rank();
  std::vector<wire_writer> behind(static_cast<std::size_t>(group_.ranks.size()));
  std::vector<std::size_t> sizes(behind.size(), 0);
  std::vector<round_read> reads;
  for (const shared_request* one : round) {
    if (one->reader.rank != self) continue;
    if (!one->is_object) {
      round_read& read = reads.emplace_back(round_read{one, {}});
      for (const shared_request::holder& holder : one->holders) {
        std::size_t& size = sizes[static_cast<std::size_t>(holder.rank)];
        read.places.push_back(size);
        if (holder.rank == self) continue;
        size += holder.bytes;
        ZARRPOINT_CHECK(counted.count("what is read", self, holder.bytes));
      }
      bytes_ += one->bytes;
      continue;
    }
    const object_id& id = objects[one->reader.position - tensors.size()].id();
    ZARRPOINT_TRY(elements, reader_.read_object(id).at("load object " + in_quotes(unique_key(id))));
    for (const shared_request::holder& holder : one->holders) {
      if (holder.rank == self) {
        sharded_object& object = objects[holder.position - tensors.size()];
        object = object.with_bytes(elements);
        continue;
      }
      ZARRPOINT_CHECK(counted.count("what is read", self, elements.size()));
      behind[static_cast<std::size_t>(holder.rank)].bytes(elements);
    }
  }
  std::vector<message> letters(behind.size());
  for (std::size_t rank = 0; rank < letters.size(); ++rank) {
    if (sizes[rank] == 0) continue;
    if (!spare_.empty()) {
      letters[rank] = std::move(spare_.back());
      spare_.pop_back();
    }
    letters[rank].resize(std::min(letters[rank].size(), sizes[rank]));
    letters[rank].reserve(sizes[rank]);
  }
  spare_.clear();
  ZARRPOINT_CHECK(read_all(reads, tensors, letters));
  for (std::size_t rank = 0; rank < letters.size(); ++rank) {
    const message objects_of_rank = std::move(behind[rank]).take();
    letters[rank].insert(letters[rank].end(), objects_of_rank.begin(), objects_of_rank.end());
  }
  return letters;
}

ZARRPOINT_INLINE result<void> once_reader::read_all(std::span<const round_read> reads,
                                                    std::vector<sharded_tensor>& tensors,
                                                    std::vector<message>& letters) {
  const int self = group_.ranks.rank();
  std::uint64_t largest = 0;
  for (const round_read& read : reads) {
    if (read.one->holders.size() > 1) largest = std::max(largest, read.one->bytes);
  }
  const std::uint64_t most = options_.most_in_hand / std::max<std::uint64_t>(largest, 1);
  const parallel_options how{
      .max_workers = static_cast<unsigned>(std::clamp<std::uint64_t>(most, 1, UINT_MAX)),
      .stop = group_.how.stop};
  const unsigned workers = parallel_workers(group_.how.executor, reads.size(), how);
  message_budget held(group_.how);
  for (unsigned i = 0; i < workers; ++i) ZARRPOINT_CHECK(held.count("what is read", self, largest));
  memory_.resize(std::max<std::size_t>(memory_.size(), workers));
  const auto room_in_letter = [&](const round_read& read, std::size_t h) -> std::byte* {
    const shared_request::holder& holder = read.one->holders[h];
    message& letter = letters[static_cast<std::size_t>(holder.rank)];
    if (letter.size() < read.places[h] + holder.bytes) letter.resize(read.places[h] + holder.bytes);
    return letter.data() + read.places[h];
  };
  // One worker comes to them in their order, and fills what the cache has just zeroed.
  for (const round_read& read : reads) {
    for (std::size_t h = 0; h < read.places.size() && workers > 1; ++h)
      if (read.one->holders[h].rank != self) room_in_letter(read, h);
  }
  const auto read_one = [&](std::size_t i, unsigned worker) -> result<void> {
    const auto& [one, places] = reads[i];
    if (one->holders.size() == 1) return read_alone(*one, tensors[one->reader.position]);
    message& memory = memory_[worker];
    if (memory.size() < one->bytes) memory.resize(one->bytes);
    ZARRPOINT_CHECK(read_region(*one, memory.data()));
    for (std::size_t h = 0; h < places.size(); ++h) {
      const shared_request::holder& holder = one->holders[h];
      const host_view wanted = plan_->wanted_of(*one, holder, memory.data());
      if (holder.rank == self) {
        ZARRPOINT_CHECK(place(holder, tensors[holder.position], wanted));
        continue;
      }
      copy_elements(dense_view(room_in_letter(reads[i], h), plan_->spec_of(holder)), wanted);
    }
    return {};
  };
  // Each has memory: the executor may have more threads by now.
  return parallel_for(group_.how.executor, reads.size(), read_one,
                      {.max_workers = workers, .stop = how.stop});
}

ZARRPOINT_INLINE result<void> once_reader::read_alone(const shared_request& one,
                                                      const sharded_tensor& tensor) const {
  const stored_tensor* const stored = find_by_key(reader_.tensors(), tensor.key());
  ZARRPOINT_TRY(target, target_of(one.reader, tensor));
  return fill_shard({reader_, *stored, options_.padding}, target, group_.how);
}

ZARRPOINT_INLINE result<void> once_reader::read_region(const shared_request& one,
                                                       std::byte* into) const {
  const shard_metadata about = plan_->region_of(one);
  const stored_tensor* const stored = find_by_key(reader_.tensors(), about.key);
  const tensor_spec spec = about.data_spec();
  return read_part_of_shard({reader_, *stored, options_.padding}, about, box::whole(spec.shape),
                            dense_view(into, spec))
      .at("load " + in_quotes(about.key));
}

ZARRPOINT_INLINE result<sharded_tensor> once_reader::target_of(const shared_request::holder& holder,
                                                               const sharded_tensor& tensor) const {
  if (!plan_->is_cut(holder)) return tensor;
  const box wanted = plan_->part_of(holder);
  const shard_metadata& whole = tensor.metadata();
  const box within = relative_to(whole.global_box(), wanted);
  shard_metadata about = whole;
  about.global_offset = wanted.offset;
  about.fragmentation.reset();
  box local{dims(whole.local_shape.rank(), 0), whole.local_shape};
  for (std::size_t axis = 0; axis < local.rank(); ++axis) {
    local.offset[axis] = within.offset[whole.prepended_axes + axis];
    local.shape[axis] = within.shape[whole.prepended_axes + axis];
  }
  about.local_shape = local.shape;
  return tensor.part(std::move(about), local);
}

ZARRPOINT_INLINE result<void> once_reader::place(const shared_request::holder& holder,
                                                 const sharded_tensor& tensor,
                                                 const host_view& wanted) const {
  ZARRPOINT_TRY(target, target_of(holder, tensor));
  const std::size_t prepended = plan_->is_cut(holder) ? tensor.metadata().prepended_axes : 0;
  return target.fill(
      [&](const box& part, const mutable_host_view& into) -> result<void> {
        box of{dims(prepended, 0), dims(prepended, 1)};
        for (std::size_t axis = 0; axis < part.rank(); ++axis) {
          of.offset.push_back(part.offset[axis]);
          of.shape.push_back(part.shape[axis]);
        }
        copy_elements(with_prepended(into, prepended), subview(wanted, selection(of)));
        return {};
      },
      group_.how);
}

ZARRPOINT_INLINE result<void> once_reader::place_round(std::span<const shared_request* const> round,
                                                       std::span<const message> incoming,
                                                       std::vector<sharded_tensor>& tensors,
                                                       std::vector<sharded_object>& objects) {
  const int self = group_.ranks.rank();
  std::vector<bytes_view> rest(incoming.begin(), incoming.end());
  for (const shared_request* one : round) {
    if (one->is_object || one->reader.rank == self) continue;
    const std::string from = "from rank " + std::to_string(one->reader.rank);
    bytes_view& letter = rest[static_cast<std::size_t>(one->reader.rank)];
    for (const shared_request::holder& holder : one->holders) {
      if (holder.rank != self) continue;
      const sharded_tensor& tensor = tensors[holder.position];
      if (letter.size() < holder.bytes)
        return error{errc::corrupt, from + ": " + std::to_string(letter.size()) + " bytes of " +
                                        in_quotes(tensor.key()) + ", wanted " +
                                        std::to_string(holder.bytes)};
      ZARRPOINT_CHECK(
          place(holder, tensor, dense_view(letter.data(), plan_->spec_of(holder))).at(from));
      letter = letter.subspan(holder.bytes);
    }
  }
  std::vector<wire_reader> behind(rest.begin(), rest.end());
  for (const shared_request* one : round) {
    if (!one->is_object || one->reader.rank == self) continue;
    for (const shared_request::holder& holder : one->holders) {
      if (holder.rank != self) continue;
      const bytes_view elements = behind[static_cast<std::size_t>(one->reader.rank)].bytes();
      sharded_object& object = objects[holder.position - tensors.size()];
      object = object.with_bytes(message(elements.begin(), elements.end()));
    }
  }
  for (std::size_t rank = 0; rank < behind.size(); ++rank)
    ZARRPOINT_CHECK(behind[rank].finish().at("from rank " + std::to_string(rank)));
  return {};
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/save/plan_bodies.hpp>
#endif
