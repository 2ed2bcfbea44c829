// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the values of an array are distributed, and how their bytes are.

#include <zarrpoint/memory/tensor.hpp>

#include "source.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

/// Of numbers; complex ones count by their magnitude. Minimum, maximum, mean, deviation and
/// histogram are of the finite ones.
struct statistics {
  std::uint64_t count = 0, finite = 0, nan = 0, infinite = 0, zero = 0;
  double min = 0, max = 0, mean = 0, deviation = 0;
  std::string min_text, max_text;  ///< exact
  std::vector<std::uint64_t> bins;

  int exponent_bits = 0;  ///< 0 where there are no exponents
  double exponent_entropy = 0;
  double byte_entropy = 0;  ///< bits an element, each byte of an element by itself

  // Of strings.
  std::uint64_t text_bytes = 0, shortest = 0, longest = 0;

  // What zstd made of a sample.
  std::uint64_t sampled = 0, zstd = 0, shuffled_zstd = 0;
};

/// Reads an array twice. `bins` is how many bins the histogram has.
zp::result<statistics> measure(const source& from, std::size_t index, std::size_t bins);

}  // namespace cli
