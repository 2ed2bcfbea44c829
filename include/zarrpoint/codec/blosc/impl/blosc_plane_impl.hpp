// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/blosc/blosc_frame.hpp>
#include <zarrpoint/codec/blosc/blosc_plane.hpp>
#include <zarrpoint/codec/blosc/huffman_sample.hpp>
#include <zarrpoint/codec/blosc/zstd_literals_encode.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE double sampled_entropy(bytes_view from) {
  const byte_counts counts =
      sample_of(from, std::clamp(from.size() / 8, good_sample / 2, good_sample));
  double total = 0;
  for (const auto count : counts) total += static_cast<double>(count);
  double bits = 0;
  for (const std::uint32_t count : counts) {
    if (count > 0) bits -= count * std::log2(count / total);
  }
  return total == 0 ? 8 : bits / total;
}

ZARRPOINT_INLINE bool has_repeats(bytes_view from) {
  constexpr std::size_t window = 64 << 10;
  constexpr std::size_t length = 16;  // shorter ones are chance where few values are frequent
  constexpr unsigned bits = 12;
  // Every eighth place; eight places in turn meet one, if it repeats.
  constexpr std::size_t noted = 8;
  constexpr std::size_t asked = 128;
  from = from.first(std::min(from.size(), window));
  if (from.size() < length + asked) return false;
  const auto entry_of = [&](std::size_t i) {
    constexpr std::uint64_t prime = 0x9e3779b97f4a7c15;
    return load_le<std::uint64_t>(from.data() + i) * prime >> (64 - bits);
  };
  std::array<std::uint16_t, 1 << bits> last{};
  std::size_t tried = 0;
  std::size_t found = 0;
  for (std::size_t at = 0; at + asked + length <= from.size(); at += asked) {
    for (std::size_t i = at; i < at + noted && at != 0; ++i) {
      const std::size_t before = last[entry_of(i)];
      if (std::memcmp(from.data() + before, from.data() + i, length) == 0) ++found;
    }
    for (std::size_t i = at; i < at + asked; i += noted)
      last[entry_of(i)] = static_cast<std::uint16_t>(i);
    ++tried;
  }
  return found * 16 > tried;
}

ZARRPOINT_INLINE bool is_noise_plane(bytes_view from) {
  constexpr double noise = 7.84;  // bits of 8: 2 % less
  return sampled_entropy(from) > noise && !has_repeats(from);
}

ZARRPOINT_INLINE result<std::size_t> encode_plane(bytes_view from, mutable_bytes to, int level,
                                                  codec_workspace& scratch) {
  if (is_noise_plane(from)) return error{errc::out_of_range, "not worth coding"};
  result<std::size_t> coded = encode_zstd_literals(from, to, scratch);
  if (level <= 1 && !has_repeats(from)) return coded;
  if (!coded && coded.failure().code != errc::out_of_range) return coded;
  // The second try goes to memory of its own, and only if it can be better.
  const std::size_t room = (coded ? *coded : to.size()) / 50 * 49;
  ZARRPOINT_TRY(memory, scratch.state<plane_memory>().get(room));
  result<std::size_t> matched = zstd_codec{.level = level}.encode(from, memory, scratch);
  if (!matched) return matched.failure().code == errc::out_of_range ? coded : matched;
  std::memcpy(to.data(), memory.data(), *matched);
  return matched;
}

}}}  // namespace zarrpoint::v0::detail
