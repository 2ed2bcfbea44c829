// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/prepare_state.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/distributed/state/expand_factories.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_node.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<prepared_state> prepare_to_save(const state& tree, const node& content) {
  ZARRPOINT_TRY(expanded, apply_factories(tree));
  prepared_state out;
  // Local values are left where they are said to be common: that part of a tree is what a load
  // gives back, and positions in it count.
  ZARRPOINT_TRY(sharded, extract(expanded.tree, of_kind(state_kind::tensor, state_kind::object,
                                                        state_kind::local)));
  out.common = std::move(sharded.rest);
  ZARRPOINT_CHECK(for_each_leaf(sharded.matching, [&](const state& leaf) -> result<void> {
    if (const sharded_tensor* tensor = leaf.if_tensor()) {
      ZARRPOINT_CHECK(tensor->validate());
      if (!tensor->has_data()) return bad_shard(tensor->metadata(), "it has no value to save");
      out.tensors.push_back(*tensor);
    } else if (const sharded_object* object = leaf.if_object()) {
      ZARRPOINT_CHECK(object->validate());
      if (!object->has_data()) return bad_object(object->id(), "it has no value to save");
      out.objects.push_back(*object);
    }
    return {};
  }));
  if (!content.is_null()) {
    state::map* const members = out.common.if_map();
    if (members == nullptr)
      return error{errc::invalid_argument,
                   "content_metadata can be saved only if the state is a map"};
    ZARRPOINT_TRY(value, state_from_node(content));
    if (!members->emplace(std::string(content_member), std::move(value)).second)
      return error{errc::invalid_argument, "the state already has a member \"content_metadata\""};
  }
  return out;
}

ZARRPOINT_INLINE result<message> describe_state(const prepared_state& of,
                                                const message& common_if_it_differs) {
  std::vector<shard_metadata> shards;
  shards.reserve(of.tensors.size());
  for (const sharded_tensor& tensor : of.tensors) shards.push_back(tensor.metadata());
  ZARRPOINT_TRY(encoded, encode_shards(shards));
  wire_writer to;
  to.bytes(encoded);
  to.number(of.objects.size());
  for (const sharded_object& object : of.objects) {
    to.text(object.key());
    to.shape(object.global_shape());
    to.indexes(object.global_offset());
    to.flag(object.replica().is_main());
  }
  to.bytes(common_if_it_differs);
  return std::move(to).take();
}

ZARRPOINT_INLINE result<described_states> read_descriptions(std::span<const message> from_ranks) {
  described_states out;
  for (std::size_t rank = 0; rank < from_ranks.size(); ++rank) {
    wire_reader from(from_ranks[rank]);
    ZARRPOINT_CHECK(decode_shards(from.bytes(), static_cast<int>(rank), out.shards));
    for (std::size_t n = from.count(3); n > 0 && !from.failed(); --n) {
      gathered_object one{static_cast<int>(rank), {}, false};
      one.id.key = from.text();
      one.id.global_shape = from.shape();
      one.id.global_offset = from.indexes(one.id.global_shape.rank());
      one.is_main = from.flag();
      out.objects.push_back(std::move(one));
    }
    const bytes_view common = from.bytes();
    out.commons.emplace_back(common.begin(), common.end());
    ZARRPOINT_CHECK(from.finish().at("process " + std::to_string(rank)));
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
