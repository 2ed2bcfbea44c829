// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of arrays and groups.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/array/array_class_impl.hpp>
#include <zarrpoint/array/array_open_impl.hpp>
#include <zarrpoint/array/array_state_impl.hpp>
#include <zarrpoint/array/array_transfer_impl.hpp>
#include <zarrpoint/array/array_view_impl.hpp>
#include <zarrpoint/array/axis_index_impl.hpp>
#include <zarrpoint/array/byte_planes_impl.hpp>
#include <zarrpoint/array/chunk_boxes_impl.hpp>
#include <zarrpoint/array/chunk_digests_impl.hpp>
#include <zarrpoint/array/chunk_encoder_impl.hpp>
#include <zarrpoint/array/coalescing_blob_impl.hpp>
#include <zarrpoint/array/compact_impl.hpp>
#include <zarrpoint/array/context_impl.hpp>
#include <zarrpoint/array/device_crc32c_impl.hpp>
#include <zarrpoint/array/flipped_order_impl.hpp>
#include <zarrpoint/array/gather_impl.hpp>
#include <zarrpoint/array/group_impl.hpp>
#include <zarrpoint/array/indexed_array_impl.hpp>
#include <zarrpoint/array/layout_impl.hpp>
#include <zarrpoint/array/migrate_impl.hpp>
#include <zarrpoint/array/node_walk_impl.hpp>
#include <zarrpoint/array/piece_grid_impl.hpp>
#include <zarrpoint/array/plan_impl.hpp>
#include <zarrpoint/array/raw_object_impl.hpp>
#include <zarrpoint/array/raw_rows_impl.hpp>
#include <zarrpoint/array/read_ahead_impl.hpp>
#include <zarrpoint/array/read_operation_impl.hpp>
#include <zarrpoint/array/rectilinear_impl.hpp>
#include <zarrpoint/array/resize_impl.hpp>
#include <zarrpoint/array/scratch_pool_impl.hpp>
#include <zarrpoint/array/scratch_tensor_impl.hpp>
#include <zarrpoint/array/shard_index_cache_impl.hpp>
#include <zarrpoint/array/shard_index_impl.hpp>
#include <zarrpoint/array/shard_writer_impl.hpp>
#include <zarrpoint/array/sharding_codec_impl.hpp>
#include <zarrpoint/array/sharding_impl.hpp>
#include <zarrpoint/array/source_reader_impl.hpp>
#include <zarrpoint/array/store_tree_impl.hpp>
#include <zarrpoint/array/stored_node_impl.hpp>
#include <zarrpoint/array/stored_object_impl.hpp>
#include <zarrpoint/array/write_operation_impl.hpp>
