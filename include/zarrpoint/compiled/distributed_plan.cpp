// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: communicators and plans.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/communicate/impl/collectives_impl.hpp>
#include <zarrpoint/distributed/communicate/impl/communicator_impl.hpp>
#include <zarrpoint/distributed/communicate/impl/message_header_impl.hpp>
#include <zarrpoint/distributed/communicate/impl/point_to_point_impl.hpp>
#include <zarrpoint/distributed/communicate/impl/rank_mesh_impl.hpp>
#include <zarrpoint/distributed/communicate/impl/thread_communicator_impl.hpp>
#include <zarrpoint/distributed/communicate/impl/thread_transport_impl.hpp>
#include <zarrpoint/distributed/plan/impl/check_tiling_impl.hpp>
#include <zarrpoint/distributed/plan/impl/distribute_impl.hpp>
#include <zarrpoint/distributed/plan/impl/intersect_impl.hpp>
#include <zarrpoint/distributed/plan/impl/plan_save_impl.hpp>
#include <zarrpoint/distributed/plan/impl/save_plan_impl.hpp>
#include <zarrpoint/distributed/plan/impl/shard_table_impl.hpp>
#include <zarrpoint/distributed/plan/impl/sharding_problems_impl.hpp>
#include <zarrpoint/distributed/plan/impl/share_regions_impl.hpp>
#include <zarrpoint/distributed/plan/impl/validate_sharding_impl.hpp>
#include <zarrpoint/distributed/plan/impl/wire_impl.hpp>
