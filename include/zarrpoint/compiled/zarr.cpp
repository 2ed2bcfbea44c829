// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of metadata and their JSON.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/zarr/json/bodies.hpp>
#include <zarrpoint/zarr/metadata_bodies.hpp>
#include <zarrpoint/zarr/type_bodies.hpp>
#include <zarrpoint/zarr/v2/bodies.hpp>
