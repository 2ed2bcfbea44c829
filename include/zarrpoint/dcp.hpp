// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of torch.distributed.checkpoint and of Megatron-Core's torch_dist, to read.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/store_bodies.hpp>
#endif
