// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of Thrust's vectors; no header of Thrust is included.
#include <zarrpoint/cuda/thrust.hpp>
