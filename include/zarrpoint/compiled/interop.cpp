// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of pickles and of formats that need little else.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dlpack/bodies.hpp>
#include <zarrpoint/interop/pickle/bodies.hpp>
#include <zarrpoint/interop/safetensors/bodies.hpp>
#include <zarrpoint/interop/torch/document_bodies.hpp>
#include <zarrpoint/interop/torch/file_bodies.hpp>
