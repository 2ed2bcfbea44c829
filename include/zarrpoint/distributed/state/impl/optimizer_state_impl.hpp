// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/state/optimizer_state.hpp>
#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<sharded_parameters> sharded_parameters::of_model(
    const state& model, std::span<const std::string> paths) {
  sharded_parameters out;
  for (const std::string& path : paths) {
    ZARRPOINT_TRY(found, model.at(path));
    ZARRPOINT_CHECK(out.add(static_cast<index_t>(out.by_id_.size()), *found));
  }
  return out;
}

ZARRPOINT_INLINE result<void> sharded_parameters::add(index_t id, state parameter) {
  if (parameter.if_tensor() == nullptr && parameter.if_factory() == nullptr)
    return error{errc::invalid_argument, "parameter " + std::to_string(id) + " is a " +
                                             std::string(to_string(parameter.kind())) +
                                             ", wanted a sharded tensor or a factory"};
  if (!by_id_.emplace(id, std::move(parameter)).second)
    return error{errc::invalid_argument, "parameter " + std::to_string(id) + " is there already"};
  return {};
}

ZARRPOINT_INLINE result<const state*> sharded_parameters::at(index_t id) const {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) return &found->second;
  return error{errc::not_found, "no parameter of the model has the number " + std::to_string(id) +
                                    "; there are " + std::to_string(by_id_.size())};
}

ZARRPOINT_INLINE std::string optimizer_key(std::string_view name, std::string_view parameter_key) {
  return std::string("optimizer.state.").append(name).append(".").append(parameter_key);
}

namespace detail {

ZARRPOINT_INLINE result<void> check_optimizer_value(const shard_metadata& shard,
                                                    const tensor_spec& value) {
  if (value.shape == shard.data_shape()) return {};
  return error{errc::shape_mismatch, "\"" + shard.key + "\": the value has shape " +
                                         to_string(value.shape) + ", that of its parameter " +
                                         to_string(shard.data_shape())};
}

}  // namespace detail

ZARRPOINT_INLINE result<void> optimizer_state::add_group(state::map options,
                                                         std::vector<index_t> parameters) {
  for (const index_t id : parameters) ZARRPOINT_CHECK(parameters_.at(id));
  if (!options.emplace("params", local_only(std::move(parameters))).second)
    return error{errc::invalid_argument,
                 "the option \"params\" is reserved: it holds the numbers of a group's parameters"};
  groups_.emplace_back(std::move(options));
  return {};
}

ZARRPOINT_INLINE result<void> optimizer_state::put(index_t id, const std::string& name,
                                                   state made) {
  state& of = states_.try_emplace(std::to_string(id), state::map{}).first->second;
  if (of.if_map()->emplace(name, std::move(made)).second) return {};
  return error{errc::invalid_argument,
               "parameter " + std::to_string(id) + " has a state \"" + name + "\" already"};
}

ZARRPOINT_INLINE result<shard_metadata> bucket_shard(std::string key, const dtype& type,
                                                     const bucket_share& share) {
  if (share.elements < 0 || share.ranks < 1 || share.multiple < 1 || share.rank < 0 ||
      share.rank >= share.ranks)
    return error{errc::invalid_argument, "bucket \"" + key + "\": share " +
                                             std::to_string(share.rank) + " of " +
                                             std::to_string(share.ranks) + ", in multiples of " +
                                             std::to_string(share.multiple) + ", of " +
                                             std::to_string(share.elements) + " elements"};
  const index_t units = ceil_div(ceil_div(share.elements, share.ranks), share.multiple);
  ZARRPOINT_TRY(length, checked_mul(units, share.multiple).at("bucket \"" + key + "\""));
  return from_rank_offsets(
      std::move(key), {type, {length}},
      {.offsets = {{0, share.rank, share.ranks}}, .allow_shape_mismatch = true});
}

}}  // namespace zarrpoint::v0
