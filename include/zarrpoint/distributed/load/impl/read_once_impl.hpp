// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/load/read_once.hpp>
#include <zarrpoint/distributed/plan/distribute.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE once_reader::once_reader(const process_group& group, const sharded_reader& reader,
                                          once_options options)
    : group_(group), reader_(reader), options_(std::move(options)) {}

ZARRPOINT_INLINE result<std::uint64_t> once_reader::read(std::vector<sharded_tensor>& tensors,
                                                         std::vector<sharded_object>& objects) {
  const any_communicator& ranks = group_.ranks;
  shared_requests all;
  ZARRPOINT_CHECK(share_options());
  ZARRPOINT_TRY(states, describe(tensors, objects));
  ZARRPOINT_TRY(order, agree(ranks, guarded([&] {
                               all = requests_of(states);
                               return choose_readers(states.shards, all);
                             })));
  std::uint64_t bytes = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    const bool is_relayed = is_large(*order[begin]);
    const std::size_t end = is_relayed ? end_of_relay(order, begin) : end_of_round(order, begin);
    const std::span<shared_request* const> round(order.data() + begin, end - begin);
    begin = end;
    if (is_relayed) {
      ZARRPOINT_CHECK(relay(round, tensors, bytes));
      continue;
    }
    message_budget counted(group_.how);
    auto outgoing = guarded([&] { return read_round(round, tensors, objects, {bytes, counted}); });
    ZARRPOINT_TRY(letters, agree(ranks, std::move(outgoing)));
    ZARRPOINT_TRY(incoming, ranks.exchange(std::move(letters)));
    ZARRPOINT_CHECK(agree(ranks, guarded([&]() -> result<void> {
                            ZARRPOINT_CHECK(counted.count("what is read", incoming, ranks.rank()));
                            return place_round(round, incoming, tensors, objects);
                          })));
  }
  return bytes;
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

ZARRPOINT_INLINE shared_requests once_reader::requests_of(const described_states& states) const {
  shared_requests out;
  std::map<int, std::size_t> tensors_of;
  for (std::size_t i = 0; i < states.shards.size(); ++i) {
    const shard_metadata about = states.shards.metadata(i);
    wire_writer id;
    id.flag(false);
    id.text(about.key);
    id.type(about.type);
    id.shape(about.global_shape);
    id.shape(about.global_offset);
    id.shape(about.local_shape);
    id.flag(about.range.has_value());
    if (about.range) id.shape({about.range->start, about.range->stop});
    const std::uint64_t bytes = byte_count(about.data_spec()).value_or(0);
    // Elements of no fixed size are not sent, and no more than there is room for: each process that
    // asks for them reads them.
    if (about.type.is_variable() || bytes > options_.most_sent) id.number(i);
    add(out, std::move(id), bytes, {states.shards.rank(i), states.shards.position(i)});
    ++tensors_of[states.shards.rank(i)];
  }
  for (const gathered_object& one : states.objects) {
    wire_writer id;
    id.flag(true);
    id.text(unique_key(one.id));
    add(out, std::move(id), 1, {one.rank, tensors_of[one.rank]++, one.is_main});
  }
  return out;
}

ZARRPOINT_INLINE void once_reader::add(shared_requests& to, wire_writer id, std::uint64_t bytes,
                                       shared_request::holder holder) const {
  // Each group reads for itself. The group comes last, so that the groups' requests for one
  // tensor follow each other and all groups read at a time.
  id.index(options_.groups.empty() ? 0 : options_.groups[static_cast<std::size_t>(holder.rank)]);
  const std::vector<std::byte> text = std::move(id).take();
  shared_request& one = to[std::string(as_text(text))];
  one.bytes = bytes;
  one.holders.push_back(holder);
}

ZARRPOINT_INLINE result<std::vector<shared_request*>> once_reader::choose_readers(
    const shard_table& shards, shared_requests& all) const {
  ZARRPOINT_TRY(chosen, detail::distribute(shards, {options_.groups, true}));
  std::set<std::pair<int, std::size_t>> readers;
  for (const std::uint32_t i : chosen) readers.emplace(shards.rank(i), shards.position(i));
  std::vector<shared_request*> out;
  for (auto& [id, one] : all) {
    const auto reads = std::find_if(one.holders.begin(), one.holders.end(), [&](const auto& h) {
      return h.is_main_object || readers.contains({h.rank, h.position});
    });
    one.reader = reads != one.holders.end() ? *reads : one.holders.front();
    out.push_back(&one);
  }
  return out;
}

ZARRPOINT_INLINE std::size_t once_reader::end_of_round(const std::vector<shared_request*>& order,
                                                       std::size_t begin) const {
  // Of each process: what it sends, and what it is sent.
  std::vector<std::uint64_t> in_hand(static_cast<std::size_t>(group_.ranks.size()), 0);
  std::size_t end = begin;
  for (; end < order.size() && !is_large(*order[end]); ++end) {
    const shared_request& one = *order[end];
    bool fits = true;
    const auto take = [&](int rank, std::uint64_t more) {
      std::uint64_t& of_rank = in_hand[static_cast<std::size_t>(rank)];
      fits = fits && (of_rank == 0 || more == 0 || of_rank + more <= options_.most_in_hand);
      of_rank += more;
    };
    take(one.reader.rank, one.bytes * (one.holders.size() - 1));
    for (const shared_request::holder& holder : one.holders)
      if (holder.rank != one.reader.rank) take(holder.rank, one.bytes);
    if (!fits) break;
  }
  return end;
}

ZARRPOINT_INLINE bool once_reader::is_large(const shared_request& one) const {
  const std::uint64_t copies = one.holders.size();
  return copies > 1 && one.bytes > options_.most_in_hand / copies;
}

ZARRPOINT_INLINE std::size_t once_reader::end_of_relay(const std::vector<shared_request*>& order,
                                                       std::size_t begin) const {
  std::vector<bool> busy(static_cast<std::size_t>(group_.ranks.size()), false);
  std::size_t end = begin;
  for (; end < order.size() && is_large(*order[end]); ++end) {
    const std::vector<int> wanting = chain_of(*order[end]);
    const auto is_busy = [&](int rank) { return busy[static_cast<std::size_t>(rank)]; };
    if (std::any_of(wanting.begin(), wanting.end(), is_busy)) break;
    for (const int rank : wanting) busy[static_cast<std::size_t>(rank)] = true;
  }
  return end;
}

ZARRPOINT_INLINE std::vector<int> once_reader::chain_of(const shared_request& one) {
  std::set<int> ranks;
  for (const shared_request::holder& holder : one.holders) ranks.insert(holder.rank);
  ranks.erase(one.reader.rank);
  std::vector<int> out{one.reader.rank};
  out.insert(out.end(), ranks.begin(), ranks.end());
  return out;
}

ZARRPOINT_INLINE result<void> once_reader::relay(std::span<shared_request* const> round,
                                                 std::vector<sharded_tensor>& tensors,
                                                 std::uint64_t& bytes) {
  const any_communicator& ranks = group_.ranks;
  const shared_request* mine = nullptr;
  std::vector<int> chain;
  std::size_t longest = 0;
  for (const shared_request* one : round) {
    const std::vector<int> wanting = chain_of(*one);
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
                          ZARRPOINT_TRY(read, read_tensor(tensors[mine->reader.position], true));
                          elements = std::move(read);
                          bytes += mine->bytes;
                          return {};
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
                 for (const shared_request::holder& holder : mine->holders) {
                   const bool is_reader =
                       holder.rank == mine->reader.rank && holder.position == mine->reader.position;
                   if (holder.rank != ranks.rank() || is_reader) continue;
                   ZARRPOINT_CHECK(place(tensors[holder.position], elements)
                                       .at("from rank " + std::to_string(mine->reader.rank)));
                 }
                 return {};
               }));
}

ZARRPOINT_INLINE result<std::vector<message>> once_reader::read_round(
    std::span<shared_request* const> round, std::vector<sharded_tensor>& tensors,
    std::vector<sharded_object>& objects, once_tally tally) {
  std::vector<wire_writer> out(static_cast<std::size_t>(group_.ranks.size()));
  for (const shared_request* one : round) {
    if (one->reader.rank != group_.ranks.rank()) continue;
    const std::size_t at = one->reader.position;
    message elements;
    const std::size_t copies = one->holders.size() - 1;
    message_budget held(group_.how);  // of the elements, until each copy of them is made
    const auto count = [&](std::uint64_t of) -> result<void> {
      if (copies == 0) return {};
      ZARRPOINT_CHECK(held.count("what is read", one->reader.rank, of));
      return tally.counted.count("what is read", one->reader.rank, copies * of);
    };
    if (at < tensors.size()) {
      ZARRPOINT_CHECK(count(one->bytes));
      ZARRPOINT_TRY(read, read_tensor(tensors[at], copies > 0));
      elements = std::move(read);
      tally.bytes += one->bytes;
    } else {
      sharded_object& object = objects[at - tensors.size()];
      ZARRPOINT_TRY(
          read,
          reader_.read_object(object.id()).at("load object " + in_quotes(object.unique_key())));
      ZARRPOINT_CHECK(count(read.size()));
      elements = read;
      object = object.with_bytes(std::move(read));
    }
    for (const shared_request::holder& other : one->holders) {
      if (other.rank != one->reader.rank || other.position != at)
        out[static_cast<std::size_t>(other.rank)].bytes(elements);
    }
  }
  std::vector<message> letters;
  letters.reserve(out.size());
  for (wire_writer& to : out) letters.push_back(std::move(to).take());
  return letters;
}

ZARRPOINT_INLINE result<message> once_reader::read_tensor(sharded_tensor& tensor, bool is_shared) {
  const stored_tensor* const stored = find_by_key(reader_.tensors(), tensor.key());
  ZARRPOINT_CHECK(tensor.init_data(resource_of(group_.how)));
  message out;
  const tensor_spec spec = tensor.metadata().data_spec();
  if (is_shared) {
    if (spec.type.is_variable())
      return error{errc::unsupported, "load " + in_quotes(tensor.key()) +
                                          ": elements of variable length cannot be sent to "
                                          "others"};
    ZARRPOINT_TRY(size, byte_count(spec));
    out.resize(size);  // parts come by several threads
  }
  const auto read = [&](const box& part, const mutable_host_view& into) -> result<void> {
    ZARRPOINT_CHECK(
        read_part_of_shard({reader_, *stored, options_.padding}, tensor.metadata(), part, into));
    if (is_shared)
      copy_elements(subview(dense_view(out.data(), spec), selection(part)), host_view(into));
    return {};
  };
  ZARRPOINT_CHECK(
      tensor.fill(read, group_.how, unit_of(*stored)).at("load " + in_quotes(tensor.key())));
  return out;
}

ZARRPOINT_INLINE result<void> once_reader::place_round(std::span<shared_request* const> round,
                                                       std::span<const message> incoming,
                                                       std::vector<sharded_tensor>& tensors,
                                                       std::vector<sharded_object>& objects) {
  std::vector<wire_reader> from;
  for (const message& letter : incoming) from.emplace_back(letter);
  for (const shared_request* one : round) {
    for (const shared_request::holder& holder : one->holders) {
      const bool is_reader =
          holder.rank == one->reader.rank && holder.position == one->reader.position;
      if (holder.rank != group_.ranks.rank() || is_reader) continue;
      const bytes_view elements = from[static_cast<std::size_t>(one->reader.rank)].bytes();
      if (holder.position >= tensors.size()) {
        sharded_object& object = objects[holder.position - tensors.size()];
        object = object.with_bytes(message(elements.begin(), elements.end()));
        continue;
      }
      ZARRPOINT_CHECK(place(tensors[holder.position], elements)
                          .at("from rank " + std::to_string(one->reader.rank)));
    }
  }
  for (std::size_t rank = 0; rank < from.size(); ++rank)
    ZARRPOINT_CHECK(from[rank].finish().at("from rank " + std::to_string(rank)));
  return {};
}

ZARRPOINT_INLINE result<void> once_reader::place(sharded_tensor& tensor, bytes_view elements) {
  ZARRPOINT_CHECK(tensor.init_data(resource_of(group_.how)));
  const tensor_spec spec = tensor.metadata().data_spec();
  ZARRPOINT_TRY(size, byte_count(spec));
  if (size != elements.size())
    return error{errc::corrupt, std::to_string(elements.size()) + " bytes of \"" + tensor.key() +
                                    "\", wanted " + std::to_string(size)};
  return tensor.fill(
      [&](const box& part, const mutable_host_view& into) -> result<void> {
        copy_elements(into, subview(dense_view(elements.data(), spec), selection(part)));
        return {};
      },
      group_.how);
}

}}}  // namespace zarrpoint::v0::detail
