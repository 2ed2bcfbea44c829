// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of many processes: shards and states.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/distributed/shard/part_bodies.hpp>
#include <zarrpoint/distributed/shard/tensor_bodies.hpp>
#include <zarrpoint/distributed/state/bodies.hpp>
