// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What Huffman coders must do: histograms, bytes that follow them, and each kind of processor.

#include <zarrpoint/codec/blosc/huffman_encode.hpp>

#include "support/codec_conformance.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace zarrpoint_test {

/// Of the passes, those that this machine can run.
inline std::vector<zp::detail::huffman_kernel> huffman_kernels() {
  using zp::detail::huffman_kernel;
  std::vector<huffman_kernel> out;
  for (const auto one :
       {huffman_kernel::portable, huffman_kernel::avx2, huffman_kernel::avx512vbmi})
    if (one <= zp::detail::best_huffman_kernel()) out.push_back(one);
  return out;
}

/// Two symbols and 256, equal and extremely unequal ones, ordered and not.
inline std::vector<zp::detail::byte_counts> huffman_histograms(random_source& random) {
  using zp::detail::byte_counts;
  std::vector<byte_counts> out;
  const auto add = [&](const std::vector<double>& shares, std::size_t first) {
    byte_counts counts{};
    for (std::size_t i = 0; i < shares.size(); ++i)
      counts[(first + i) % 256] = static_cast<std::uint32_t>(std::max(1.0, shares[i]));
    out.push_back(counts);
  };
  for (const std::size_t symbols : {2u, 3u, 4u, 40u, 128u, 129u, 130u, 255u, 256u}) {
    for (const std::size_t first :
         {std::size_t{0}, std::size_t{1}, std::size_t{100}, 256 - symbols}) {
      add(std::vector<double>(symbols, 20), first);
      std::vector<double> steep;
      std::vector<double> gentle;
      std::vector<double> any;
      for (std::size_t i = 0; i < symbols; ++i) {
        steep.push_back(std::ldexp(10'000.0, -static_cast<int>(i)));
        gentle.push_back(1000 / (1.0 + static_cast<double>(i)));
        any.push_back(std::exp2(std::uniform_real_distribution<double>(0, 14)(random)));
      }
      add(steep, first);
      std::reverse(steep.begin(), steep.end());
      add(steep, first);
      add(gentle, first);
      add(any, first);
    }
  }
  return out;
}

/// Bytes that are as frequent as `counts` says, in no order.
inline std::vector<std::byte> bytes_like(const zp::detail::byte_counts& counts, std::size_t size,
                                         random_source& random) {
  std::discrete_distribution<int> one(counts.begin(), counts.end());
  std::vector<std::byte> out(size);
  for (std::byte& each : out) each = static_cast<std::byte>(one(random));
  return out;
}

}  // namespace zarrpoint_test
