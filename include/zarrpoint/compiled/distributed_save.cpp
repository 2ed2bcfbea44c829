// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: saving.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/save/impl/assemble_cells_impl.hpp>
#include <zarrpoint/distributed/save/impl/async_saves_impl.hpp>
#include <zarrpoint/distributed/save/impl/commit_outcome_impl.hpp>
#include <zarrpoint/distributed/save/impl/group_save_impl.hpp>
#include <zarrpoint/distributed/save/impl/group_save_place_impl.hpp>
#include <zarrpoint/distributed/save/impl/plan_group_save_impl.hpp>
#include <zarrpoint/distributed/save/impl/plan_message_impl.hpp>
#include <zarrpoint/distributed/save/impl/prepare_state_impl.hpp>
#include <zarrpoint/distributed/save/impl/save_protocol_impl.hpp>
#include <zarrpoint/distributed/save/impl/save_queue_impl.hpp>
#include <zarrpoint/distributed/save/impl/staged_store_impl.hpp>
#include <zarrpoint/distributed/save/impl/strategy_format_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/message_budget_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/write_shards_impl.hpp>
#include <zarrpoint/distributed/strategy/impl/zarr_saver_impl.hpp>
