// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of Ort::Value of ONNX Runtime.
#include <zarrpoint/interop/tensors/onnxruntime.hpp>
