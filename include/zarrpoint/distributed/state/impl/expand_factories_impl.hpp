// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/expand_factories.hpp>
#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<state> expand_state(const state& at, state_place& place, std::size_t depth,
                                            factory_merges& merges) {
  const auto expand_leaf = [&](const state& leaf) -> result<state> {
    const sharded_factory* const factory = leaf.if_factory();
    if (factory == nullptr) return leaf;
    if (depth == max_factory_depth)
      return place.failure(errc::resource_limit, "factories made by factories more than " +
                                                     std::to_string(max_factory_depth) +
                                                     " levels deep");
    ZARRPOINT_CHECK(factory->validate());
    merges.push_back({place.path(), factory->without_data()});
    ZARRPOINT_TRY(built, factory->build());
    return expand_state(built, place, depth + 1, merges);
  };
  return map_leaves(at, place, leaf_mapper(expand_leaf));
}

ZARRPOINT_INLINE result<expanded_state> apply_factories(const state& of) {
  expanded_state out;
  detail::state_place place;
  ZARRPOINT_TRY(tree, detail::expand_state(of, place, 0, out.merges));
  out.tree = std::move(tree);
  return out;
}

ZARRPOINT_INLINE result<state> merge_factories(state loaded, const factory_merges& merges) {
  for (auto it = merges.rbegin(); it != merges.rend(); ++it) {
    state* const there = loaded.find(it->path);
    if (there == nullptr)
      return error{errc::not_found, "state: nothing was loaded at " +
                                        detail::quoted_path(it->path) + " for factory \"" +
                                        it->factory.key() + "\""};
    ZARRPOINT_TRY(merged, it->factory.merge(std::exchange(*there, state())));
    *there = std::move(merged);
  }
  return loaded;
}

}}}  // namespace zarrpoint::v0::detail
