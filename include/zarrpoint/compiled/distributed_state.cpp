// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: shards and states.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/shard/impl/dcp_view_impl.hpp>
#include <zarrpoint/distributed/shard/impl/device_shards_impl.hpp>
#include <zarrpoint/distributed/shard/impl/narrow_impl.hpp>
#include <zarrpoint/distributed/shard/impl/partition_impl.hpp>
#include <zarrpoint/distributed/shard/impl/rank_offsets_impl.hpp>
#include <zarrpoint/distributed/shard/impl/replica_id_impl.hpp>
#include <zarrpoint/distributed/shard/impl/same_bits_impl.hpp>
#include <zarrpoint/distributed/shard/impl/shard_geometry_impl.hpp>
#include <zarrpoint/distributed/shard/impl/shard_metadata_impl.hpp>
#include <zarrpoint/distributed/shard/impl/shard_value_impl.hpp>
#include <zarrpoint/distributed/shard/impl/sharded_impl.hpp>
#include <zarrpoint/distributed/shard/impl/sharded_object_impl.hpp>
#include <zarrpoint/distributed/shard/impl/split_shard_impl.hpp>
#include <zarrpoint/distributed/state/impl/expand_factories_impl.hpp>
#include <zarrpoint/distributed/state/impl/optimizer_state_impl.hpp>
#include <zarrpoint/distributed/state/impl/sharded_factory_impl.hpp>
#include <zarrpoint/distributed/state/impl/state_diff_impl.hpp>
#include <zarrpoint/distributed/state/impl/state_impl.hpp>
#include <zarrpoint/distributed/state/impl/state_node_impl.hpp>
#include <zarrpoint/distributed/state/impl/state_ops_impl.hpp>
#include <zarrpoint/distributed/state/impl/state_path_impl.hpp>
