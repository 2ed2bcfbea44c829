// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arrays of any size in bounded memory: block by block, in row-major order.

#include <zarrpoint/memory/tensor.hpp>

#include "source.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace cli {

/// Cuts a selection of an array into boxes that follow one another in row-major order, each of
/// which is contiguous there. Calls `f(part, first)`: a part of the array, and the number of the
/// selection's elements before it. Stops at the first error.
zp::result<void> for_each_row_block(
    const entry& array, const zp::selection& all, const block_size& size,
    const std::function<zp::result<void>(const zp::selection& part, std::uint64_t first)>& f);

/// The same with the elements of each block, read.
zp::result<void> for_each_block(
    const source& from, std::size_t index, const zp::selection& all,
    const std::function<zp::result<void>(const zp::tensor& block, std::uint64_t first)>& f);

/// Calls `f(bytes)` with the elements of a block as other programs take them.
zp::result<void> with_little_endian(const zp::tensor& block,
                                    const std::function<zp::result<void>(zp::bytes_view)>& f);

/// How many bytes the elements have: of texts and of bytes of any length, what they hold.
std::uint64_t data_bytes(const zp::tensor& block);

/// All of an array.
zp::selection whole(const entry& array);

}  // namespace cli
