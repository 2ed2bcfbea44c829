// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Directories of Megatron-Core's dist_checkpointing, by the strategies of distributed.hpp.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/megatron/megatron_format.hpp>
#include <zarrpoint/interop/megatron/megatron_layout.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/megatron/torch_dist_strategies.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/megatron/format_bodies.hpp>
#include <zarrpoint/interop/megatron/torch_dist_bodies.hpp>
#endif
