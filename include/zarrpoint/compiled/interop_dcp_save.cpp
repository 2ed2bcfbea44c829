// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of writing checkpoints of
// torch.distributed.checkpoint, and safetensors by many processes.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dcp_save/plan_bodies.hpp>
#include <zarrpoint/interop/dcp_save/save_bodies.hpp>
#include <zarrpoint/interop/safetensors/group_bodies.hpp>
