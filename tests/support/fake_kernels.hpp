// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

// What the kernels of a device mean, as plain loops over memory of the host.

namespace zarrpoint_test {

namespace zp = zarrpoint;

/// How often each was asked for.
struct kernel_counts {
  std::uint64_t move = 0;
  std::uint64_t scatter = 0;
  std::uint64_t cast = 0;
  std::uint64_t swap_bytes = 0;
  std::uint64_t unshuffle = 0;
  std::uint64_t crc32c = 0;
  std::uint64_t compare_crc32c = 0;
  std::uint64_t decode_literals = 0;
  std::uint64_t join_planes = 0;
  std::uint64_t count_symbols = 0;
  std::uint64_t encode_symbols = 0;
};

/// The bytes that strided elements touch: `bytes` of them, `low` from the first element on.
struct strided_reach {
  std::ptrdiff_t low = 0;
  std::size_t bytes = 0;
};
inline strided_reach reach_of_strides(const zp::dims& shape, const zp::dims& strides,
                                      std::size_t size) {
  strided_reach out;
  std::ptrdiff_t high = static_cast<std::ptrdiff_t>(size);
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return {};
    const std::ptrdiff_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? out.low : high) += reach;
  }
  out.bytes = static_cast<std::size_t>(high - out.low);
  return out;
}

inline void run_move(const zp::strided_move& m) {
  for (const zp::index_t extent : m.shape) {
    if (extent == 0) return;
  }
  zp::dims at(m.shape.rank(), 0);
  for (;;) {
    std::ptrdiff_t to = 0;
    std::ptrdiff_t from = 0;
    for (std::size_t i = 0; i < at.rank(); ++i) {
      to += at[i] * m.to_strides[i];
      from += at[i] * m.from_strides[i];
    }
    std::memcpy(m.to + to, m.from + from, m.element_size);
    std::size_t i = at.rank();
    while (i > 0 && ++at[i - 1] == m.shape[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

inline zp::result<void> run_cast(const zp::device_cast& c) {
  const zp::dims shape = {static_cast<zp::index_t>(c.count)};
  return zp::detail::cast_elements(zp::dense_view(c.to, {c.to_type, shape}),
                                   zp::dense_view(c.from, {c.from_type, shape}));
}

inline void run_swap_bytes(std::byte* data, std::size_t size, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

/// Byte `b` of element `i` lies at `b * count + i`.
inline void run_unshuffle(std::byte* to, const std::byte* from, std::size_t size,
                          std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < size; ++b) to[i * size + b] = from[b * count + i];
  }
}

inline void run_crc32c(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::uint32_t state = 0xffffffffu;
  for (std::size_t i = 0; i < bytes; ++i) {
    state ^= static_cast<std::uint32_t>(from[i]);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78u : 0);
  }
  zp::store_le<std::uint32_t>(to, ~state);
}

/// Symbols of one stream (RFC 8878, 4.2.2), bit by bit from its end. False unless it ends with the
/// last of them.
inline bool run_huffman(std::byte* to, std::size_t count, const std::byte* from, std::size_t size,
                        const std::array<std::uint8_t, 128>& lengths) {
  if (size == 0 || from[size - 1] == std::byte{}) return false;
  // Codes are numbered from the longest on, and among equals by their symbols.
  std::array<std::array<std::int16_t, 1 << 11>, 12> symbols;  // by length and code; -1 for none
  for (auto& of_length : symbols) of_length.fill(-1);
  unsigned code = 0;
  for (unsigned length = 11; length > 0; --length) {
    for (unsigned s = 0; s < 256; ++s) {
      if ((lengths[s / 2] >> s % 2 * 4 & 15U) == length)
        symbols[length][code++] = static_cast<std::int16_t>(s);
    }
    code >>= 1;
  }
  std::size_t left = 8 * size - 1;
  while ((static_cast<unsigned>(from[left / 8]) >> left % 8 & 1U) == 0) --left;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned bits = 0;
    unsigned length = 0;
    std::int16_t found = -1;
    while (found < 0) {
      if (left == 0 || length == 11) return false;
      --left;
      bits = bits << 1 | (static_cast<unsigned>(from[left / 8]) >> left % 8 & 1U);
      found = symbols[++length][bits];
    }
    to[i] = static_cast<std::byte>(found);
  }
  return left == 0;
}

/// `to` and `from` are where the host has what the literals name. False as above.
inline bool run_literals(const zp::device_literals& one, std::byte* to, const std::byte* from) {
  if (one.kind == zp::device_literals::stored) {
    std::memmove(to, from, one.bytes);
    return true;
  }
  if (one.kind == zp::device_literals::repeated) {
    std::memset(to, static_cast<int>(*from), one.bytes);
    return true;
  }
  const std::size_t streams = one.kind == zp::device_literals::one_stream ? 1 : 4;
  const std::size_t each = (one.bytes + streams - 1) / streams;
  bool good = true;
  for (std::size_t i = 0; i < streams; ++i) {
    const std::size_t size = i + 1 < streams ? each : one.bytes - each * (streams - 1);
    good &= run_huffman(to + i * each, size, from, one.sizes[i], one.lengths);
    from += one.sizes[i];
  }
  return good;
}

/// The symbols of each stream: where they begin, and how many they are.
inline std::array<std::pair<std::size_t, std::size_t>, 4> streams_of(
    const zp::device_symbols& one) {
  const std::size_t streams = one.kind == zp::device_literals::one_stream ? 1 : 4;
  const std::size_t each = (one.bytes + streams - 1) / streams;
  std::array<std::pair<std::size_t, std::size_t>, 4> out{};
  for (std::size_t i = 0; i < streams; ++i)
    out[i] = {each * i,
              std::min<std::size_t>(each, one.bytes - std::min<std::size_t>(each * i, one.bytes))};
  return out;
}

/// `to` and `from` are where the host has what the symbols name.
inline void run_count_symbols(const zp::device_symbols& one, std::byte* to, const std::byte* from) {
  std::array<std::array<std::uint16_t, 256>, 4> counts{};
  const auto streams = streams_of(one);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    for (std::size_t i = 0; i < streams[s].second; ++i)
      ++counts[s][std::to_integer<std::size_t>(from[(streams[s].first + i) * one.step])];
  }
  std::memcpy(to, counts.data(), sizeof counts);
}

/// The same; false, and nothing is written, where a stream has another size than it should.
inline bool run_encode_symbols(const zp::device_symbols& one, std::byte* to,
                               const std::byte* from) {
  if (one.kind == zp::device_literals::stored) {
    for (std::size_t i = 0; i < one.bytes; ++i) to[i] = from[i * one.step];
    return true;
  }
  // Codes are numbered from the longest on, and among equals by their symbols.
  std::array<unsigned, 256> codes{};
  std::array<unsigned, 256> lengths{};
  unsigned code = 0;
  for (unsigned length = 11; length > 0; --length) {
    for (std::size_t s = 0; s < 256; ++s) {
      if ((one.lengths[s / 2] >> s % 2 * 4 & 15U) != length) continue;
      lengths[s] = length;
      codes[s] = code++;
    }
    code >>= 1;
  }
  std::vector<std::byte> all;
  const auto streams = streams_of(one);
  for (std::size_t s = 0; s < streams.size() && streams[s].second != 0; ++s) {
    const std::size_t begin = all.size();
    std::uint64_t held = 0;
    unsigned have = 0;
    const auto put = [&](unsigned value, unsigned bits) {
      held |= std::uint64_t{value} << have;
      for (have += bits; have >= 8; have -= 8, held >>= 8)
        all.push_back(static_cast<std::byte>(held & 255));
    };
    for (std::size_t i = streams[s].second; i-- > 0;) {
      const auto symbol = std::to_integer<std::size_t>(from[(streams[s].first + i) * one.step]);
      if (lengths[symbol] == 0) return false;
      put(codes[symbol], lengths[symbol]);
    }
    put(1, 1);
    if (have != 0) put(0, 8 - have);
    if (all.size() - begin != one.sizes[s]) return false;
  }
  for (std::size_t i = 0; i < all.size(); ++i) to[i] |= all[i];  // zeros were there before
  return true;
}

}  // namespace zarrpoint_test
