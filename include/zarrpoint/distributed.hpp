// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One checkpoint of many processes; see docs/distributed.md. Apart from zarrpoint.hpp, so that
// programs of one process do not compile it.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/iterations.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/shard/dcp_view.hpp>
#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/shard/partition.hpp>
#include <zarrpoint/distributed/shard/shard_geometry.hpp>
#include <zarrpoint/distributed/state/optimizer_state.hpp>
#include <zarrpoint/distributed/state/split_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/load/load_bodies.hpp>
#include <zarrpoint/distributed/save/save_bodies.hpp>
#endif
