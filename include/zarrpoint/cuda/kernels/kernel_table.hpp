// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_space.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// The kernels of a `kernel_space` as functions, so that units compiled without nvcc can use those
/// that one .cu file of the program brings: `cuda::kernels()` of cuda/kernels.cuh.
///
/// Each function enqueues its work on the stream, whose device is the current one, and returns what
/// the runtime said of the launch. That is `cudaErrorInvalidValue` for a request outside what is
/// said here, and then nothing is enqueued. All addresses are the device's and of any alignment,
/// unless said otherwise. Nothing to do is not an error, and nothing is launched. No function
/// allocates or waits.
struct kernel_table {
  /// `strided_move`: any strides; the shape must have passed `byte_count`.
  cudaError_t (*move)(cudaStream_t stream, const strided_move& elements) = nullptr;
  /// Copies `count` runs; the table is device memory, aligned to 8. The runs of one call do not
  /// overlap each other.
  cudaError_t (*scatter)(cudaStream_t stream, const device_segment* table,
                         std::size_t count) = nullptr;
  /// What `convert` of core/types/convert.hpp means, of any number to any number; equal types are
  /// copied.
  cudaError_t (*cast)(cudaStream_t stream, const device_cast& conversion) = nullptr;
  /// Reverses the bytes of each of `count` neighbours of `size` bytes, in place; any size.
  cudaError_t (*swap_bytes)(cudaStream_t stream, std::byte* at, std::size_t size,
                            std::size_t count) = nullptr;
  /// `size` planes of `count` bytes to `count` elements of `size` bytes; no overlap.
  cudaError_t (*unshuffle)(cudaStream_t stream, std::byte* to, const std::byte* from,
                           std::size_t size, std::size_t count) = nullptr;
  /// The CRC-32C of `bytes` bytes to the 4 bytes at `to`, little-endian, aligned to 4 and not among
  /// those read.
  cudaError_t (*crc32c)(cudaStream_t stream, std::byte* to, const std::byte* from,
                        std::size_t bytes) = nullptr;
  /// Compares the CRC-32C of `count` entries; the table is device memory, aligned to 8. The marks
  /// of those that are right are added to the 8 bytes at `marks`, aligned to 8.
  cudaError_t (*compare_crc32c)(cudaStream_t stream, const device_checksum* table,
                                std::size_t count, std::byte* marks) = nullptr;
  /// Makes the bytes of `count` literals; the table is device memory, aligned to 8. The 4 bytes at
  /// `failed`, aligned to 4, are set where a stream does not end with its last symbol.
  cudaError_t (*decode_literals)(cudaStream_t stream, const device_literals* table,
                                 std::size_t count, std::byte* failed) = nullptr;
  /// Makes the elements of `count` groups of planes, each of at most `most` bytes; the table is
  /// device memory, aligned to 8.
  cudaError_t (*join_planes)(cudaStream_t stream, const device_planes* table, std::size_t count,
                             std::size_t most) = nullptr;
  /// Counts the bytes of `count` entries; the table is device memory, aligned to 8, and the counts
  /// are aligned to 2.
  cudaError_t (*count_symbols)(cudaStream_t stream, const device_symbols* table,
                               std::size_t count) = nullptr;
  /// Encodes `count` entries into zeros; the table is device memory, aligned to 8. No word of 4
  /// bytes holds bytes of two entries, one of which has streams. The 4 bytes at `failed`, aligned
  /// to 4, are set where a stream has another size than its entry says: then nothing of it is
  /// written.
  cudaError_t (*encode_symbols)(cudaStream_t stream, const device_symbols* table, std::size_t count,
                                std::byte* failed) = nullptr;
};

}}}  // namespace zarrpoint::v0::cuda
