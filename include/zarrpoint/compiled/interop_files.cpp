// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of what others wrote and is read as a hierarchy.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/interop/dcp/impl/dcp_format_impl.hpp>
#include <zarrpoint/interop/dcp/impl/dcp_grid_impl.hpp>
#include <zarrpoint/interop/dcp/impl/dcp_item_impl.hpp>
#include <zarrpoint/interop/dcp/impl/dcp_metadata_impl.hpp>
#include <zarrpoint/interop/dcp/impl/dcp_safetensors_impl.hpp>
#include <zarrpoint/interop/dcp/impl/dcp_store_impl.hpp>
#include <zarrpoint/interop/dcp/impl/dcp_value_impl.hpp>
#include <zarrpoint/interop/dcp_save/impl/dcp_archive_impl.hpp>
#include <zarrpoint/interop/gguf/impl/gguf_header_impl.hpp>
#include <zarrpoint/interop/gguf/impl/gguf_store_impl.hpp>
#include <zarrpoint/interop/hierarchy/impl/shown_names_impl.hpp>
#include <zarrpoint/interop/hierarchy/impl/virtual_hierarchy_impl.hpp>
#include <zarrpoint/interop/hierarchy/impl/virtual_store_impl.hpp>
#include <zarrpoint/interop/hierarchy/impl/weight_index_impl.hpp>
#include <zarrpoint/interop/numpy/impl/npy_header_impl.hpp>
#include <zarrpoint/interop/numpy/impl/numpy_store_impl.hpp>
#include <zarrpoint/interop/safetensors/impl/safetensors_files_impl.hpp>
#include <zarrpoint/interop/safetensors/impl/safetensors_store_impl.hpp>
#include <zarrpoint/interop/torch/impl/archive_walk_impl.hpp>
#include <zarrpoint/interop/torch/impl/member_names_impl.hpp>
#include <zarrpoint/interop/torch/impl/torch_store_impl.hpp>
