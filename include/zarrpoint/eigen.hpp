// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handlers of Eigen's matrices, vectors and tensors; no header of Eigen is included.
#include <zarrpoint/interop/tensors/eigen.hpp>
