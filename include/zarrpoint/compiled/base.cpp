// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of core, memory and exec.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/core/checksum/impl/crc32_impl.hpp>
#include <zarrpoint/core/checksum/impl/crc32c_impl.hpp>
#include <zarrpoint/core/checksum/impl/crc32c_table_impl.hpp>
#include <zarrpoint/core/impl/base64_impl.hpp>
#include <zarrpoint/core/impl/box_impl.hpp>
#include <zarrpoint/core/impl/dims_impl.hpp>
#include <zarrpoint/core/impl/error_impl.hpp>
#include <zarrpoint/core/impl/failure_box_impl.hpp>
#include <zarrpoint/core/impl/node_impl.hpp>
#include <zarrpoint/core/impl/printable_impl.hpp>
#include <zarrpoint/core/impl/sort_numbers_impl.hpp>
#include <zarrpoint/core/impl/sort_texts_impl.hpp>
#include <zarrpoint/core/impl/utf8_impl.hpp>
#include <zarrpoint/core/types/impl/dtype_impl.hpp>
#include <zarrpoint/core/types/impl/float_bits_impl.hpp>
#include <zarrpoint/core/types/impl/record_impl.hpp>
#include <zarrpoint/exec/impl/byte_limiter_impl.hpp>
#include <zarrpoint/exec/impl/executor_impl.hpp>
#include <zarrpoint/exec/impl/guarded_impl.hpp>
#include <zarrpoint/exec/impl/memory_bound_for_impl.hpp>
#include <zarrpoint/exec/impl/parallel_for_impl.hpp>
#include <zarrpoint/exec/impl/pending_impl.hpp>
#include <zarrpoint/exec/impl/task_impl.hpp>
#include <zarrpoint/exec/impl/thread_pool_impl.hpp>
#include <zarrpoint/memory/device/impl/packed_rows_impl.hpp>
#include <zarrpoint/memory/device/impl/staging_ring_impl.hpp>
#include <zarrpoint/memory/impl/buffer_impl.hpp>
#include <zarrpoint/memory/impl/byteswap_impl.hpp>
#include <zarrpoint/memory/impl/cast_impl.hpp>
#include <zarrpoint/memory/impl/cast_x86_impl.hpp>
#include <zarrpoint/memory/impl/loop_nest_impl.hpp>
#include <zarrpoint/memory/impl/packed_memory_impl.hpp>
#include <zarrpoint/memory/impl/resource_impl.hpp>
#include <zarrpoint/memory/impl/strided_copy_impl.hpp>
#include <zarrpoint/memory/impl/tensor_impl.hpp>
