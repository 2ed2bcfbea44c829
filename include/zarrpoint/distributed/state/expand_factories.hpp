// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/state/sharded_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How often what a factory builds may be, or hold, a factory again.
inline constexpr std::size_t max_factory_depth = 8;

/// A factory, without its value, and the path at which what it built took its place.
struct placed_factory {
  std::string path;
  sharded_factory factory;
};

/// Factories in the order in which they were expanded: those made by another come after it.
using factory_merges = std::vector<placed_factory>;

/// A state in which there are no factories, and what they were.
struct expanded_state {
  state tree;
  factory_merges merges;
};

/// The state with each factory replaced by what it builds, in which factories are expanded again.
/// Errors: those of the factories; `resource_limit` when they make each other more than
/// `max_factory_depth` levels deep.
result<expanded_state> apply_factories(const state& of);

/// The state with what each factory built, and a load filled, replaced by what the factory makes of
/// it: those made by others first. Errors: those of the factories; `not_found` naming the path of a
/// factory where the state has nothing.
result<state> merge_factories(state loaded, const factory_merges& merges);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/state/impl/expand_factories_impl.hpp>
#endif
