// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/streamed_copy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

// Byte shuffle puts the first bytes of all elements together, then the second ones, and so on; bit
// shuffle does the same with bits. What belongs together then looks alike to a compressor.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// The most byte planes that a pointer to each is kept for; the kernels of more go without.
inline constexpr std::size_t max_planes = 16;

// nvcc understands the builtin in its own way.
#if __has_builtin(__builtin_shufflevector) && !defined(__CUDACC__)

// Vectors of 16 bytes, which every x86-64 and aarch64 has; wider ones are not faster, since both
// directions are bound by loads and stores.
using shuffle_vector [[gnu::vector_size(16)]] = std::uint8_t;
inline constexpr std::size_t shuffle_lanes = sizeof(shuffle_vector);

template <std::size_t First, std::size_t... I>
void interleave_bytes(shuffle_vector& out, const shuffle_vector& a, const shuffle_vector& b,
                      std::index_sequence<I...>) {
  out = __builtin_shufflevector(a, b, (First + I / 2 + I % 2 * sizeof...(I))...);
}
/// Every second byte of `a` and `b`.
template <std::size_t First, std::size_t... I>
void every_second_byte(shuffle_vector& out, const shuffle_vector& a, const shuffle_vector& b,
                       std::index_sequence<I...>) {
  out = __builtin_shufflevector(a, b, (First + 2 * I)...);
}

/// Rows of planes to rows of elements: log2(T) perfect shuffles of all bytes.
template <std::size_t T, std::size_t... Pair>
void join_planes(shuffle_vector* rows, std::index_sequence<Pair...>) {
  constexpr std::make_index_sequence<shuffle_lanes> lanes;
  shuffle_vector out[T];
  for (std::size_t step = 1; step < T; step *= 2) {
    (interleave_bytes<0>(out[2 * Pair], rows[Pair], rows[Pair + T / 2], lanes), ...);
    (interleave_bytes<shuffle_lanes / 2>(out[2 * Pair + 1], rows[Pair], rows[Pair + T / 2], lanes),
     ...);
    ((rows[2 * Pair] = out[2 * Pair], rows[2 * Pair + 1] = out[2 * Pair + 1]), ...);
  }
}
/// The inverse.
template <std::size_t T, std::size_t... Pair>
void split_planes(shuffle_vector* rows, std::index_sequence<Pair...>) {
  constexpr std::make_index_sequence<shuffle_lanes> lanes;
  shuffle_vector out[T];
  for (std::size_t step = 1; step < T; step *= 2) {
    (every_second_byte<0>(out[Pair], rows[2 * Pair], rows[2 * Pair + 1], lanes), ...);
    (every_second_byte<1>(out[Pair + T / 2], rows[2 * Pair], rows[2 * Pair + 1], lanes), ...);
    ((rows[Pair] = out[Pair], rows[Pair + T / 2] = out[Pair + T / 2]), ...);
  }
}

/// Elements come from memory, faster than the processor itself foresees; past the end it does no
/// harm.
inline void prefetch_ahead(const std::byte* from) {
  constexpr std::uintptr_t distance = 2048;
  // A pointer past the end must not be made by adding to one.
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(from) + distance;
  __builtin_prefetch(reinterpret_cast<const void*>(at));  // NOLINT(performance-no-int-to-ptr)
}

template <std::size_t T, bool Streaming>
std::size_t unshuffle_vectors(std::byte* to, const std::byte* const* planes, std::size_t count) {
  std::size_t i = 0;
  for (; i + shuffle_lanes <= count; i += shuffle_lanes) {
    shuffle_vector rows[T];
    for (std::size_t j = 0; j < T; ++j) std::memcpy(&rows[j], planes[j] + i, shuffle_lanes);
    join_planes<T>(rows, std::make_index_sequence<T / 2>{});
    if constexpr (Streaming) {
      for (std::size_t j = 0; j < T; ++j) stream_to(to + i * T + j * shuffle_lanes, &rows[j]);
    } else {
      for (std::size_t j = 0; j < T; ++j)
        std::memcpy(to + i * T + j * shuffle_lanes, &rows[j], shuffle_lanes);
    }
  }
  if constexpr (Streaming) end_streaming();
  return i;
}

template <std::size_t T>
std::size_t unshuffle_vectors(std::byte* to, const std::byte* const* planes, std::size_t count) {
  // A tensor that is loaded is larger than the caches: its lines need not be fetched to be written.
  constexpr std::size_t large = std::size_t{256} << 10;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(to) % shuffle_lanes == 0;
  if (has_streaming_stores && is_aligned && count * T >= large)
    return unshuffle_vectors<T, true>(to, planes, count);
  return unshuffle_vectors<T, false>(to, planes, count);
}

template <std::size_t T>
std::size_t shuffle_vectors(std::byte* const* planes, const std::byte* from, std::size_t count) {
  std::size_t i = 0;
  for (; i + shuffle_lanes <= count; i += shuffle_lanes) {
    shuffle_vector rows[T];
    prefetch_ahead(from + i * T);
    // Row by row: as a whole they would go by way of memory.
    for (std::size_t j = 0; j < T; ++j)
      std::memcpy(&rows[j], from + i * T + j * shuffle_lanes, shuffle_lanes);
    split_planes<T>(rows, std::make_index_sequence<T / 2>{});
    for (std::size_t j = 0; j < T; ++j) std::memcpy(planes[j] + i, &rows[j], shuffle_lanes);
  }
  return i;
}

#else

template <std::size_t>
std::size_t unshuffle_vectors(std::byte*, const std::byte* const*, std::size_t) {
  return 0;
}
template <std::size_t>
std::size_t shuffle_vectors(std::byte* const*, const std::byte*, std::size_t) {
  return 0;
}

#endif

/// Elements of `type_size` (up to `max_planes`) bytes from their byte planes, which lie anywhere.
inline void unshuffle_planes(std::byte* to, const std::byte* const* planes, std::size_t type_size,
                             std::size_t count) {
  std::size_t i = 0;
  switch (type_size) {
    case 2: i = unshuffle_vectors<2>(to, planes, count); break;
    case 4: i = unshuffle_vectors<4>(to, planes, count); break;
    case 8: i = unshuffle_vectors<8>(to, planes, count); break;
    case 16: i = unshuffle_vectors<16>(to, planes, count); break;
    default: break;
  }
  for (; i < count; ++i) {
    for (std::size_t j = 0; j < type_size; ++j) to[i * type_size + j] = planes[j][i];
  }
}

/// The byte planes of `count` elements.
inline void shuffle_planes(std::byte* const* planes, const std::byte* from, std::size_t type_size,
                           std::size_t count) {
  std::size_t i = 0;
  switch (type_size) {
    case 2: i = shuffle_vectors<2>(planes, from, count); break;
    case 4: i = shuffle_vectors<4>(planes, from, count); break;
    case 8: i = shuffle_vectors<8>(planes, from, count); break;
    case 16: i = shuffle_vectors<16>(planes, from, count); break;
    default: break;
  }
  for (; i < count; ++i) {
    for (std::size_t j = 0; j < type_size; ++j) planes[j][i] = from[i * type_size + j];
  }
}

/// Transposes a matrix of 8 x 8 bits: bit k of byte i becomes bit i of byte k.
constexpr std::uint64_t transpose_bits(std::uint64_t x) noexcept {
  std::uint64_t swap = (x ^ (x >> 7)) & 0x00aa00aa00aa00aa;
  x ^= swap ^ (swap << 7);
  swap = (x ^ (x >> 14)) & 0x0000cccc0000cccc;
  x ^= swap ^ (swap << 14);
  swap = (x ^ (x >> 28)) & 0x00000000f0f0f0f0;
  return x ^ swap ^ (swap << 28);
}

/// The bytes of a row that are made together. Rows often lie a power of two apart, on few lines of
/// the cache, which one byte at a time would fetch again and again.
inline constexpr std::size_t bit_group = 16;

/// What stays in place behind the last whole element.
inline void copy_tail(mutable_bytes to, bytes_view from, std::size_t done) {
  if (done < from.size()) std::memcpy(to.data() + done, from.data() + done, from.size() - done);
}

/// Byte j of element i goes to j * n + i, with n whole elements of `type_size` >= 1 bytes; the
/// bytes after the last whole element stay where they are. `to` has the size of `from` and does not
/// overlap it.
inline void byte_shuffle(mutable_bytes to, bytes_view from, std::size_t type_size) {
  ZARRPOINT_ASSERT(to.size() == from.size() && type_size > 0);
  const std::size_t count = type_size > 1 ? from.size() / type_size : 0;
  if (type_size <= detail::max_planes) {
    std::byte* planes[detail::max_planes];
    for (std::size_t j = 0; j < type_size; ++j) planes[j] = to.data() + j * count;
    detail::shuffle_planes(planes, from.data(), type_size, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < type_size; ++j) to[j * count + i] = from[i * type_size + j];
    }
  }
  detail::copy_tail(to, from, count * type_size);
}

/// Undoes `byte_shuffle`.
inline void byte_unshuffle(mutable_bytes to, bytes_view from, std::size_t type_size) {
  ZARRPOINT_ASSERT(to.size() == from.size() && type_size > 0);
  const std::size_t count = type_size > 1 ? from.size() / type_size : 0;
  if (type_size <= detail::max_planes) {
    const std::byte* planes[detail::max_planes];
    for (std::size_t j = 0; j < type_size; ++j) planes[j] = from.data() + j * count;
    detail::unshuffle_planes(to.data(), planes, type_size, count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < type_size; ++j) to[i * type_size + j] = from[j * count + i];
    }
  }
  detail::copy_tail(to, from, count * type_size);
}

/// Bit k of byte j of all n elements goes to row 8 * j + k of n bits, element i at bit i mod 8 of
/// byte i / 8. Copies everything when n is not a multiple of 8, as blosc has it; the bytes after
/// the last whole element stay where they are. `to` has the size of `from` and does not overlap it.
inline void bit_shuffle(mutable_bytes to, bytes_view from, std::size_t type_size) {
  ZARRPOINT_ASSERT(to.size() == from.size() && type_size > 0);
  const std::size_t count = from.size() / type_size;
  const std::size_t row = count % 8 == 0 ? count / 8 : 0;  // bytes
  for (std::size_t i = 0; i < row; i += detail::bit_group) {
    const std::size_t width = std::min(detail::bit_group, row - i);
    for (std::size_t j = 0; j < type_size; ++j) {
      std::byte rows[8][detail::bit_group];
      for (std::size_t g = 0; g < width; ++g) {
        const std::byte* const eight = from.data() + 8 * (i + g) * type_size + j;
        std::uint64_t bits = 0;
        for (std::size_t k = 0; k < 8; ++k)
          bits |= std::to_integer<std::uint64_t>(eight[k * type_size]) << 8 * k;
        bits = detail::transpose_bits(bits);
        for (std::size_t k = 0; k < 8; ++k)
          rows[k][g] = static_cast<std::byte>(bits >> 8 * k & 255);
      }
      for (std::size_t k = 0; k < 8; ++k)
        std::memcpy(to.data() + (8 * j + k) * row + i, rows[k], width);
    }
  }
  detail::copy_tail(to, from, 8 * row * type_size);
}

/// Undoes `bit_shuffle`.
inline void bit_unshuffle(mutable_bytes to, bytes_view from, std::size_t type_size) {
  ZARRPOINT_ASSERT(to.size() == from.size() && type_size > 0);
  const std::size_t count = from.size() / type_size;
  const std::size_t row = count % 8 == 0 ? count / 8 : 0;  // bytes
  for (std::size_t i = 0; i < row; i += detail::bit_group) {
    const std::size_t width = std::min(detail::bit_group, row - i);
    for (std::size_t j = 0; j < type_size; ++j) {
      std::byte rows[8][detail::bit_group];
      for (std::size_t k = 0; k < 8; ++k)
        std::memcpy(rows[k], from.data() + (8 * j + k) * row + i, width);
      for (std::size_t g = 0; g < width; ++g) {
        std::uint64_t bits = 0;
        for (std::size_t k = 0; k < 8; ++k)
          bits |= std::to_integer<std::uint64_t>(rows[k][g]) << 8 * k;
        bits = detail::transpose_bits(bits);
        std::byte* const eight = to.data() + 8 * (i + g) * type_size + j;
        for (std::size_t k = 0; k < 8; ++k)
          eight[k * type_size] = static_cast<std::byte>(bits >> 8 * k & 255);
      }
    }
  }
  detail::copy_tail(to, from, 8 * row * type_size);
}

}}}  // namespace zarrpoint::v0::detail
