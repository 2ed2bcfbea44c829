// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a strategy of one's own is written against (docs/distributed.md): its concepts and jobs, the
// plan of a save, the strategies of this library.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/distributed/strategy/jobs.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/distributed/strategy/write_shards.hpp>
#include <zarrpoint/distributed/strategy/zarr_strategies.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/load/load_bodies.hpp>
#endif
