// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/state/state_node.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<sharded_checkpoint> open_without_common(const location& where,
                                                                const process_group& group) {
  return open_sharded(where, group, {.common = strategy_choice(no_common_loader{})});
}

ZARRPOINT_INLINE std::map<std::string, sharded_tensor> requests_for_all(
    const sharded_checkpoint& opened) {
  std::map<std::string, sharded_tensor> out;
  for (const stored_tensor& one : opened.shards->tensors()) {
    shard_metadata whole;
    whole.key = one.key;
    whole.type = one.spec.type;
    whole.local_shape = one.spec.shape;
    whole.global_shape = one.spec.shape;
    whole.global_offset = dims(one.spec.shape.rank(), 0);
    whole.fragmentation = dims(one.spec.shape.rank(), 1);
    out.emplace(one.key, sharded_tensor(std::move(whole)));
  }
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<std::map<std::string, sharded_tensor>> load_tensors_metadata(
    const location& where, const process_group& group) {
  ZARRPOINT_TRY(opened, detail::open_without_common(where, group));
  return detail::requests_for_all(opened);
}

ZARRPOINT_INLINE result<state> load_sharded_metadata(const location& where,
                                                     const process_group& group) {
  ZARRPOINT_TRY(opened, detail::open_without_common(where, group));
  state::map out;
  for (auto& [key, tensor] : detail::requests_for_all(opened)) out.emplace(key, std::move(tensor));
  std::size_t left = 1'000'000;
  for (const object_id& grid : opened.shards->objects()) {
    const write_grid places{grid.global_shape, dims(grid.global_shape.rank(), 1)};
    ZARRPOINT_TRY(count, places.cells());
    if (static_cast<std::uint64_t>(count) > left)
      return error{errc::resource_limit, "more than a million objects"};
    left -= static_cast<std::size_t>(count);
    for (index_t i = 0; i < count; ++i) {
      ZARRPOINT_TRY(object,
                    sharded_object::request({grid.key, grid.global_shape, places.cell(i).offset}));
      out.insert_or_assign(object.unique_key(), object);
    }
  }
  return state(std::move(out));
}

ZARRPOINT_INLINE result<std::map<std::string, tensor>> load_plain_tensors(
    const location& where, const process_group& group, const group_load_options& options) {
  ZARRPOINT_TRY(wanted, agree(group.ranks, load_tensors_metadata(where, group)));
  state::list request;
  for (const auto& [key, one] : wanted) {
    shard_metadata whole = one.metadata();
    const std::vector<load_rule>& rules = options.storage.rules;
    if (const dtype* cast = detail::last_set(rules, key, &load_rule::cast)) whole.type = *cast;
    if (const dims* shape = detail::last_set(rules, key, &load_rule::shape)) {
      whole.local_shape = whole.global_shape = *shape;
      whole.global_offset = dims(shape->rank(), 0);
      whole.fragmentation = dims(shape->rank(), 1);
    }
    request.emplace_back(one.with(std::move(whole)));
  }
  state::map tree;
  tree.emplace("tensors", std::move(request));
  group_load_options own = options;
  own.validate = false;  // each process asks for everything
  // What is common may have a member of any name.
  own.common = strategy_choice(no_common_loader{});
  ZARRPOINT_TRY(report, load(where, state(std::move(tree)), group, own));
  std::map<std::string, tensor> out;
  std::size_t i = 0;
  for (const auto& [key, one] : wanted) {
    const state* found = report.loaded.find("tensors/" + std::to_string(i++));
    tensor* value = found != nullptr && found->if_tensor() != nullptr
                        ? found->if_tensor()->get<tensor>()
                        : nullptr;
    if (value == nullptr) return error{errc::not_found, "tensor \"" + key + "\" was not loaded"};
    out.emplace(key, std::move(*value));
  }
  return out;
}

ZARRPOINT_INLINE result<state> load_common_state(const location& where,
                                                 const process_group& group) {
  ZARRPOINT_TRY(opened, open_sharded(where, group));
  if (opened.common.is_null()) return state(state::map{});
  return detail::state_from_node(opened.common);
}

ZARRPOINT_INLINE result<node> load_content_metadata(const location& where,
                                                    const process_group& group) {
  ZARRPOINT_TRY(opened, open_sharded(where, group));
  return std::move(opened.content_metadata);
}

ZARRPOINT_INLINE result<std::vector<std::string>> remove_sharded_tensors(
    const location& where, std::string_view prefix, const process_group& group) {
  // Says what is wrong with the path.
  ZARRPOINT_TRY(opened, detail::open_without_common(where, group));
  ZARRPOINT_TRY(place, detail::location_access::to_write(where, true, group.how.stores));
  any_store store =
      place.key.is_root() ? place.store : any_store(prefix_store(place.store, place.key));
  return opened.shards->remove(store, prefix).at("remove from " + opened.name);
}

}}  // namespace zarrpoint::v0
