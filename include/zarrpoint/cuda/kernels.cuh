// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/cast.cuh>
#include <zarrpoint/cuda/crc32c.cuh>
#include <zarrpoint/cuda/kernel_table.hpp>
#include <zarrpoint/cuda/move.cuh>
#include <zarrpoint/cuda/scatter.cuh>
#include <zarrpoint/cuda/swap_bytes.cuh>
#include <zarrpoint/cuda/unshuffle.cuh>

namespace zarrpoint::inline v0::cuda {

/// The kernels, for `device_space`. One unit of the program, compiled by
/// `nvcc -std=c++20 --expt-relaxed-constexpr`, includes this header and hands the address to the
/// others. Not with `--use_fast_math`: casts would take subnormal floats for zeros.
template <class = void>
const kernel_table& kernels() noexcept {
  static constexpr kernel_table table{&detail::move<>,      &detail::scatter<>,
                                      &detail::cast<>,      &detail::swap_bytes<>,
                                      &detail::unshuffle<>, &detail::crc32c<>};
  return table;
}

}  // namespace zarrpoint::inline v0::cuda
