// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of torch.distributed.checkpoint, to write: by one process and by many.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_plan.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/store_bodies.hpp>
#include <zarrpoint/interop/dcp_save/save_bodies.hpp>
#endif
