// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of what others wrote and is read as a hierarchy.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dcp/metadata_bodies.hpp>
#include <zarrpoint/interop/dcp/store_bodies.hpp>
#include <zarrpoint/interop/gguf/bodies.hpp>
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#include <zarrpoint/interop/numpy/bodies.hpp>
#include <zarrpoint/interop/trace/bodies.hpp>
