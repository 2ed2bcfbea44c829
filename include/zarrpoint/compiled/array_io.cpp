// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of reading and writing chunks.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/array/base/impl/chunk_digests_impl.hpp>
#include <zarrpoint/array/base/impl/context_impl.hpp>
#include <zarrpoint/array/base/impl/default_context_impl.hpp>
#include <zarrpoint/array/base/impl/scratch_account_impl.hpp>
#include <zarrpoint/array/base/impl/scratch_pool_impl.hpp>
#include <zarrpoint/array/base/impl/scratch_tensor_impl.hpp>
#include <zarrpoint/array/device/impl/byte_planes_impl.hpp>
#include <zarrpoint/array/device/impl/device_crc32c_impl.hpp>
#include <zarrpoint/array/device/impl/flipped_order_impl.hpp>
#include <zarrpoint/array/grid/impl/axis_index_impl.hpp>
#include <zarrpoint/array/grid/impl/piece_grid_impl.hpp>
#include <zarrpoint/array/grid/impl/plan_impl.hpp>
#include <zarrpoint/array/grid/impl/raw_rows_impl.hpp>
#include <zarrpoint/array/read/impl/array_state_impl.hpp>
#include <zarrpoint/array/read/impl/coalescing_blob_impl.hpp>
#include <zarrpoint/array/read/impl/read_operation_impl.hpp>
#include <zarrpoint/array/read/impl/shard_indexes_impl.hpp>
#include <zarrpoint/array/read/impl/spare_scratch_impl.hpp>
#include <zarrpoint/array/read/impl/stored_object_impl.hpp>
#include <zarrpoint/array/shard/impl/layout_impl.hpp>
#include <zarrpoint/array/shard/impl/shard_index_cache_impl.hpp>
#include <zarrpoint/array/shard/impl/shard_index_impl.hpp>
#include <zarrpoint/array/shard/impl/shard_parts_impl.hpp>
#include <zarrpoint/array/shard/impl/sharding_codec_impl.hpp>
#include <zarrpoint/array/shard/impl/sharding_impl.hpp>
#include <zarrpoint/array/write/impl/chunk_encoder_impl.hpp>
#include <zarrpoint/array/write/impl/read_ahead_impl.hpp>
#include <zarrpoint/array/write/impl/shard_writer_impl.hpp>
#include <zarrpoint/array/write/impl/source_reader_impl.hpp>
#include <zarrpoint/array/write/impl/write_operation_impl.hpp>
