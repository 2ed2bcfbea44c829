// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/blosc/blosc_encode.hpp>
#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/kit/shuffle.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::size_t blosc_block_size(const blosc_options& how, std::size_t bytes) {
  constexpr std::size_t largest = std::size_t{2} << 20;  // a block and its planes: the second cache
  constexpr std::size_t good = std::size_t{1} << 20;
  const auto whole = [&](std::size_t block) {
    return block > how.type_size ? block / how.type_size * how.type_size : block;
  };
  if (how.block_size != 0) {
    constexpr std::size_t least = 128;
    const std::size_t most = std::min(bytes, blosc_header::max_block);
    return whole(std::clamp(how.block_size, std::min(least, most), most));
  }
  // Entropy coders like long blocks: a chunk of the usual 1 MiB stays in one piece.
  if (bytes <= largest) return whole(bytes);
  const std::size_t count = (bytes + good - 1) / good;
  return whole(bytes / count);
}

}}}  // namespace zarrpoint::v0::detail
