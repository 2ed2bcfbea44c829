// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/state/sharded_factory.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// What the parts are of, beside them in what a factory builds.
template <class T>
struct split_whole {
  std::shared_ptr<const sharded<T>> held;

  /// For `diff`, which compares the parts by themselves.
  friend bool operator==(const split_whole& a, const split_whole& b) {
    shard_metadata other = b.held->metadata();
    other.replica = a.held->metadata().replica;
    return a.held->metadata() == other;
  }
};

template <class T>
struct split_functions {
  split_axis how;
  memory_resource* resource;

  /// `{"parts": [...], "whole": ...}`: a hole for a part of which there is nothing, and what the
  /// parts are of, for `merge`.
  result<state> build(const factory_source<sharded<T>>& from) const {
    ZARRPOINT_CHECK(from.data.validate());
    shard_metadata fused = from.data.metadata();
    fused.key = from.key;
    fused.replica = from.replica;
    const sharded<T> renamed = from.data.with(std::move(fused));
    const auto whole = detail::make_counted<const sharded<T>>(renamed);
    ZARRPOINT_TRY(parts, split_shard(whole->metadata(), how));
    state::list out(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      ZARRPOINT_TRY(made, whole->part(parts[i]->shard, parts[i]->part));
      out[i] = made;
    }
    return state{{"parts", std::move(out)}, {"whole", local_only(split_whole<T>{whole})}};
  }

  /// The whole value, in the memory of the process if that is where the parts were loaded into.
  result<state> merge(const state& loaded) const {
    const state* const local = loaded.find("whole");
    const local_only* const of = local != nullptr ? local->if_local() : nullptr;
    const split_whole<T>* const found = of != nullptr ? of->get<split_whole<T>>() : nullptr;
    if (found == nullptr)
      return error{errc::not_found, "the load did not return the tensor that was split"};
    const sharded<T>& whole = *found->held;
    ZARRPOINT_TRY(parts, split_shard(whole.metadata(), how));
    std::vector<const sharded_tensor*> tensors(parts.size());
    bool in_place = whole.has_data();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      const state* const part = loaded.find("parts/" + std::to_string(i));
      tensors[i] = part != nullptr ? part->if_tensor() : nullptr;
      if (tensors[i] == nullptr || !tensors[i]->has_data())
        return error{errc::not_found, "part " + std::to_string(i) + " was not loaded"};
      using view = typename sharded_functions<T, handler_of<T>>::part_type;
      const view* const part_of = tensors[i]->template get<view>();
      in_place = in_place && part_of != nullptr && part_of->is_part_of(&whole.value()) &&
                 part_of->part() == parts[i]->part;
    }
    if (in_place) return state(whole);
    return concatenate(whole.metadata(), parts, tensors);
  }

 private:
  result<state> concatenate(const shard_metadata& fused,
                            const std::vector<std::optional<narrowed>>& parts,
                            const std::vector<const sharded_tensor*>& tensors) const {
    ZARRPOINT_TRY(out, tensor::make(fused.data_spec(), *resource));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      ZARRPOINT_CHECK(tensors[i]->validate());
      ZARRPOINT_TRY(from, tensors[i]->stage(*resource));
      const tensor_spec wanted{fused.type, parts[i]->part.shape};
      if (from.view.spec() != wanted)
        return error{errc::shape_mismatch, "part " + std::to_string(i) + " is " +
                                               to_string(from.view.spec()) + ", wanted " +
                                               to_string(wanted)};
      copy_elements(subview(out.mutable_view(), selection(parts[i]->part)), from.view);
    }
    ZARRPOINT_TRY(made, sharded<tensor>::make(fused, std::move(out)));
    return state(made);
  }
};

}  // namespace detail

/// A local tensor that is `Parts` tensors one after another along `Axis` of its shape, each of them
/// sharded as the whole is. The fused weights `[w; v]` of a gated layer are `split_factory<>(wv)`.
/// They are stored as `Parts` shards of one global tensor with `Parts` times as many fragments
/// along the axis, in which all first parts come first (see `split_shard`). A flat range is divided
/// likewise. Nothing is copied before saving, nor after loading into memory of the caller's. Where
/// the parts were loaded elsewhere, `merge` copies them into a `tensor` of `memory`, which must
/// outlive it; when that is too little it fails with `resource_limit`.
///
/// The factory has the key and the replica of the shard. Errors: those of `split_shard`.
template <std::size_t Axis = 0, std::size_t Parts = 2, class T>
result<sharded_factory> split_factory(const sharded<T>& whole,
                                      memory_resource& memory = default_resource()) {
  static_assert(Parts > 0, "zarrpoint: a tensor is split into one part or more");
  constexpr std::size_t rank = detail::handler_rank<handler_of<T>>();
  static_assert(rank == detail::any_rank || detail::handler_is_flat<handler_of<T>>() || Axis < rank,
                "zarrpoint: split_factory<Axis> of a tensor that has no such axis");
  const detail::split_functions<T> functions{{Axis, Parts}, &memory};
  ZARRPOINT_CHECK(whole.validate());
  ZARRPOINT_CHECK(detail::split_shard(whole.metadata(), functions.how));
  return sharded_factory(
             whole.key(), whole,
             [functions](const factory_source<sharded<T>>& from) { return functions.build(from); },
             [functions](const state& loaded) { return functions.merge(loaded); })
      .with_replica(whole.replica());
}

}}  // namespace zarrpoint::v0
