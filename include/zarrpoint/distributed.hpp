// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// One checkpoint of many processes; see docs/distributed.md. Apart from zarrpoint.hpp, so that
// programs of one process do not compile it.

#include <zarrpoint/distributed/async_saves.hpp>
#include <zarrpoint/distributed/dcp_view.hpp>
#include <zarrpoint/distributed/group_load.hpp>
#include <zarrpoint/distributed/group_save.hpp>
#include <zarrpoint/distributed/iterations.hpp>
#include <zarrpoint/distributed/narrow.hpp>
#include <zarrpoint/distributed/optimizer_state.hpp>
#include <zarrpoint/distributed/rank_mesh.hpp>
#include <zarrpoint/distributed/split_factory.hpp>
#include <zarrpoint/distributed/state_diff.hpp>
#include <zarrpoint/distributed/stored_metadata.hpp>
#include <zarrpoint/distributed/thread_communicator.hpp>
