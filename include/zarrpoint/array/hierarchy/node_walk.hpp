// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline constexpr std::size_t max_nodes = 4'000'000;

/// The groups and arrays directly beneath the group at `key`, by name. What is neither is passed
/// over. Errors: `unsupported` for a store that cannot list; `corrupt`, `resource_limit`, `io`.
result<std::vector<stored_node>> list_nodes(const any_store& store, const store_key& key,
                                            const limits& limit = {});

/// All groups and arrays beneath the group at `key`, by depth and then by path. Errors: as
/// `list_nodes`, and `resource_limit` for more than 4 million, or nested deeper than 64.
result<std::vector<stored_node>> walk_nodes(const any_store& store, const store_key& key,
                                            const limits& limit = {});

/// What the consolidated metadata of the group at `key` say is beneath it, in the same order;
/// nothing when there are none. They are as old as when they were written. Errors: `corrupt`,
/// `unsupported`, `io`.
result<std::optional<std::vector<stored_node>>> consolidated_nodes(const any_store& store,
                                                                   const store_key& key,
                                                                   const stored_node& root,
                                                                   const limits& limit = {});

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/hierarchy/impl/node_walk_impl.hpp>
#endif
