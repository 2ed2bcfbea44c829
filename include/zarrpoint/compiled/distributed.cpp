// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of checkpoints of many processes.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/assemble_cells_impl.hpp>
#include <zarrpoint/distributed/async_saves_impl.hpp>
#include <zarrpoint/distributed/check_tiling_impl.hpp>
#include <zarrpoint/distributed/collectives_impl.hpp>
#include <zarrpoint/distributed/communicator_impl.hpp>
#include <zarrpoint/distributed/dcp_view_impl.hpp>
#include <zarrpoint/distributed/device_shards_impl.hpp>
#include <zarrpoint/distributed/distribute_impl.hpp>
#include <zarrpoint/distributed/expand_factories_impl.hpp>
#include <zarrpoint/distributed/group_load_impl.hpp>
#include <zarrpoint/distributed/group_save_impl.hpp>
#include <zarrpoint/distributed/intersect_impl.hpp>
#include <zarrpoint/distributed/iterations_impl.hpp>
#include <zarrpoint/distributed/jobs_impl.hpp>
#include <zarrpoint/distributed/match_keys_impl.hpp>
#include <zarrpoint/distributed/message_header_impl.hpp>
#include <zarrpoint/distributed/narrow_impl.hpp>
#include <zarrpoint/distributed/open_sharded_impl.hpp>
#include <zarrpoint/distributed/optimizer_state_impl.hpp>
#include <zarrpoint/distributed/plan_group_save_impl.hpp>
#include <zarrpoint/distributed/plan_message_impl.hpp>
#include <zarrpoint/distributed/plan_save_impl.hpp>
#include <zarrpoint/distributed/point_to_point_impl.hpp>
#include <zarrpoint/distributed/prepare_state_impl.hpp>
#include <zarrpoint/distributed/process_group_impl.hpp>
#include <zarrpoint/distributed/rank_mesh_impl.hpp>
#include <zarrpoint/distributed/rank_offsets_impl.hpp>
#include <zarrpoint/distributed/read_once_impl.hpp>
#include <zarrpoint/distributed/read_shard_impl.hpp>
#include <zarrpoint/distributed/replica_id_impl.hpp>
#include <zarrpoint/distributed/same_bits_impl.hpp>
#include <zarrpoint/distributed/save_plan_impl.hpp>
#include <zarrpoint/distributed/shard_geometry_impl.hpp>
#include <zarrpoint/distributed/shard_metadata_impl.hpp>
#include <zarrpoint/distributed/shard_table_impl.hpp>
#include <zarrpoint/distributed/sharded_factory_impl.hpp>
#include <zarrpoint/distributed/sharded_impl.hpp>
#include <zarrpoint/distributed/sharded_object_impl.hpp>
#include <zarrpoint/distributed/sharding_problems_impl.hpp>
#include <zarrpoint/distributed/split_shard_impl.hpp>
#include <zarrpoint/distributed/state_diff_impl.hpp>
#include <zarrpoint/distributed/state_impl.hpp>
#include <zarrpoint/distributed/state_node_impl.hpp>
#include <zarrpoint/distributed/state_ops_impl.hpp>
#include <zarrpoint/distributed/state_path_impl.hpp>
#include <zarrpoint/distributed/stored_metadata_impl.hpp>
#include <zarrpoint/distributed/strategy_impl.hpp>
#include <zarrpoint/distributed/thread_communicator_impl.hpp>
#include <zarrpoint/distributed/validate_sharding_impl.hpp>
#include <zarrpoint/distributed/wire_impl.hpp>
#include <zarrpoint/distributed/write_shards_impl.hpp>
#include <zarrpoint/distributed/zarr_loader_impl.hpp>
#include <zarrpoint/distributed/zarr_saver_impl.hpp>
