// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of torch::Tensor of libtorch.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/tensors/libtorch.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
