// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of Ort::Value of ONNX Runtime.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/tensors/onnxruntime.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/base/bodies.hpp>
#endif
