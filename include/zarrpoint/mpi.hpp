// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Processes of MPI as a communicator of distributed.hpp. Needs mpi.h.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/mpi.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/communicate/bodies.hpp>
#endif
