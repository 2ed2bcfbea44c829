// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a save or a load is at, as ranges that Nsight Systems shows. Needs nvtx3/nvToolsExt.h, which
// is a header alone and comes with CUDA.
#include <zarrpoint/interop/nvtx.hpp>
