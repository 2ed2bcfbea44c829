// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A sharded object and the process that holds it.
struct gathered_object {
  int rank = 0;
  object_id id;
  bool is_main = true;  ///< whether it is the replica that is stored
};

/// Whether the shards and objects of all processes fit together: every shard makes sense, all of a
/// key agree on dtype, shapes and grid, the main replicas hold each element of each tensor just
/// once (flat pieces, too), and each object is there just once. O(n log n) for n shards, but for
/// uneven ones that tile no grid (see `for_each_overlap`).
///
/// Errors: `invalid_argument` with all that was found, in the order of the keys, with processes and
/// boxes; of much of one kind a part and the number.
result<void> validate_sharding(const shard_table& shards,
                               std::span<const gathered_object> objects = {});

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/impl/validate_sharding_impl.hpp>
#endif
