// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Metadata of Zarr v2 and v3 as plain structs, to and from JSON; nothing is opened here.
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/v2/bodies.hpp>
#endif
