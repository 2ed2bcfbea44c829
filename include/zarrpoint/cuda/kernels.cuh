// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/cuda/kernels/cast.cuh>
#include <zarrpoint/cuda/kernels/crc32c.cuh>
#include <zarrpoint/cuda/kernels/kernel_table.hpp>
#include <zarrpoint/cuda/kernels/literals.cuh>
#include <zarrpoint/cuda/kernels/move.cuh>
#include <zarrpoint/cuda/kernels/scatter.cuh>
#include <zarrpoint/cuda/kernels/swap_bytes.cuh>
#include <zarrpoint/cuda/kernels/symbols.cuh>
#include <zarrpoint/cuda/kernels/unshuffle.cuh>

namespace zarrpoint { inline namespace v0 { namespace cuda {

/// The kernels, for `device_space`. One unit of the program, compiled by
/// `nvcc -std=c++20 --expt-relaxed-constexpr`, includes this header and hands the address to the
/// others. Not with `--use_fast_math`: casts would take subnormal floats for zeros.
inline const kernel_table& kernels() noexcept {
  static constexpr kernel_table table{
      &detail::move,           &detail::scatter,         &detail::cast,
      &detail::swap_bytes,     &detail::unshuffle,       &detail::crc32c,
      &detail::compare_crc32c, &detail::decode_literals, &detail::join_planes,
      &detail::count_symbols,  &detail::encode_symbols};
  return table;
}

}}}  // namespace zarrpoint::v0::cuda

#if ZARRPOINT_BODIES
#include <zarrpoint/core/checksum/bodies.hpp>
#include <zarrpoint/memory/bodies.hpp>
#endif
