// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of metadata and their JSON.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/zarr/impl/array_metadata_impl.hpp>
#include <zarrpoint/zarr/impl/chunk_edges_impl.hpp>
#include <zarrpoint/zarr/impl/chunk_key_impl.hpp>
#include <zarrpoint/zarr/impl/codec_specs_impl.hpp>
#include <zarrpoint/zarr/impl/data_type_impl.hpp>
#include <zarrpoint/zarr/impl/document_impl.hpp>
#include <zarrpoint/zarr/impl/fill_number_impl.hpp>
#include <zarrpoint/zarr/impl/fill_value_impl.hpp>
#include <zarrpoint/zarr/impl/metadata_v3_impl.hpp>
#include <zarrpoint/zarr/impl/node_name_impl.hpp>
#include <zarrpoint/zarr/json/impl/json_impl.hpp>
#include <zarrpoint/zarr/json/impl/json_reader_impl.hpp>
#include <zarrpoint/zarr/json/impl/json_writer_impl.hpp>
#include <zarrpoint/zarr/json/impl/shortest_double_impl.hpp>
#include <zarrpoint/zarr/v2/impl/consolidated_v2_impl.hpp>
#include <zarrpoint/zarr/v2/impl/metadata_v2_impl.hpp>
#include <zarrpoint/zarr/v2/impl/typestr_impl.hpp>
#include <zarrpoint/zarr/v2/impl/v2_codecs_impl.hpp>
#include <zarrpoint/zarr/v2/impl/v2_filters_impl.hpp>
