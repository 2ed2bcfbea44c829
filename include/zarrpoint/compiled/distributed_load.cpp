// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: strategies and loading.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/load/impl/group_load_impl.hpp>
#include <zarrpoint/distributed/load/impl/iterations_impl.hpp>
#include <zarrpoint/distributed/load/impl/match_keys_impl.hpp>
#include <zarrpoint/distributed/load/impl/once_plan_impl.hpp>
#include <zarrpoint/distributed/load/impl/open_sharded_impl.hpp>
#include <zarrpoint/distributed/load/impl/read_once_impl.hpp>
#include <zarrpoint/distributed/load/impl/stored_metadata_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/jobs_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/process_group_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/read_shard_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/strategy_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/zarr_loader_impl.hpp>
