// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A matrix of elements in memory; strides in bytes.
template <class Pointer>
struct matrix {
  Pointer data;
  index_t row_stride;
  index_t column_stride;

  Pointer at(index_t row, index_t column) const {
    return data + row * row_stride + column * column_stride;
  }
  /// The matrix that begins at an element of this one.
  matrix part(index_t row, index_t column) const {
    return {at(row, column), row_stride, column_stride};
  }
};

/// Copies `rows` x `columns` elements of `Size` bytes, one by one.
template <std::size_t Size>
void copy_matrix(const matrix<std::byte*>& to, const matrix<const std::byte*>& from, index_t rows,
                 index_t columns) {
  for (index_t i = 0; i < rows; ++i) {
    for (index_t j = 0; j < columns; ++j) std::memcpy(to.at(i, j), from.at(i, j), Size);
  }
}

/// A tile is a cache line wide and as many elements high, so that every line of either side is
/// touched once, whole.
inline constexpr std::size_t tile_bytes = 64;

#if __has_builtin(__builtin_shufflevector) && !defined(__CUDACC__)

template <std::size_t Size>
struct vector_of;
template <>
struct vector_of<1> {
  using type [[gnu::vector_size(16)]] = std::uint8_t;
};
template <>
struct vector_of<2> {
  using type [[gnu::vector_size(16)]] = std::uint16_t;
};
template <>
struct vector_of<4> {
  using type [[gnu::vector_size(16)]] = std::uint32_t;
};
template <>
struct vector_of<8> {
  using type [[gnu::vector_size(16)]] = std::uint64_t;
};

/// `out` = the first, or last, halves of `a` and `b`, element by element in turn.
template <std::size_t First, class Vector, std::size_t... I>
void interleave(Vector& out, const Vector& a, const Vector& b, std::index_sequence<I...>) {
  out = __builtin_shufflevector(a, b, (First + I / 2 + I % 2 * sizeof...(I))...);
}

/// Transposes the square matrix whose rows are `in`, as log2(n) perfect shuffles of its rows.
template <std::size_t Count, class Vector, std::size_t... Pair>
void transpose_vectors(Vector* in, Vector* out, std::index_sequence<Pair...>) {
  constexpr std::make_index_sequence<Count> lanes;
  for (std::size_t step = 1; step < Count; step *= 2) {
    (interleave<0>(out[2 * Pair], in[Pair], in[Pair + Count / 2], lanes), ...);
    (interleave<Count / 2>(out[2 * Pair + 1], in[Pair], in[Pair + Count / 2], lanes), ...);
    ((in[2 * Pair] = out[2 * Pair], in[2 * Pair + 1] = out[2 * Pair + 1]), ...);
  }
}

/// Transposes one tile: `to` has contiguous rows, `from` contiguous columns.
template <std::size_t Size>
void transpose_tile(const matrix<std::byte*>& to, const matrix<const std::byte*>& from) {
  if constexpr (Size == 16) {
    copy_matrix<Size>(to, from, tile_bytes / Size, tile_bytes / Size);
  } else {
    using vector = typename vector_of<Size>::type;
    constexpr std::size_t side = tile_bytes / Size;
    constexpr std::size_t lanes = sizeof(vector) / Size;
    // Rows a power of two apart fall on few lines of the cache: copied together first, each is
    // fetched once.
    alignas(tile_bytes) std::byte lines[side][tile_bytes];
    for (std::size_t i = 0; i < side; ++i) {
      std::memcpy(lines[i], from.at(0, static_cast<index_t>(i)), tile_bytes);
    }
    for (std::size_t row = 0; row < side; row += lanes) {
      for (std::size_t column = 0; column < side; column += lanes) {
        vector in[lanes];
        vector out[lanes];
        for (std::size_t i = 0; i < lanes; ++i) {
          std::memcpy(&in[i], lines[column + i] + row * Size, sizeof(vector));
        }
        transpose_vectors<lanes>(in, out, std::make_index_sequence<lanes / 2>{});
        for (std::size_t i = 0; i < lanes; ++i) {
          std::memcpy(to.at(static_cast<index_t>(row + i), static_cast<index_t>(column)), &in[i],
                      sizeof(vector));
        }
      }
    }
  }
}

#else

template <std::size_t Size>
void transpose_tile(const matrix<std::byte*>& to, const matrix<const std::byte*>& from) {
  copy_matrix<Size>(to, from, tile_bytes / Size, tile_bytes / Size);
}

#endif

/// Copies `rows` x `columns` elements, where `to` runs fastest along its rows and `from` along its
/// columns, tile by tile.
template <std::size_t Size>
void transpose_matrix(const matrix<std::byte*>& to, const matrix<const std::byte*>& from,
                      index_t rows, index_t columns) {
  constexpr auto side = static_cast<index_t>(tile_bytes / Size);
  const bool is_contiguous = to.column_stride == static_cast<index_t>(Size) &&
                             from.row_stride == static_cast<index_t>(Size);
  for (index_t i = 0; i < rows; i += side) {
    for (index_t j = 0; j < columns; j += side) {
      const index_t height = std::min(side, rows - i);
      const index_t width = std::min(side, columns - j);
      if (is_contiguous && height == side && width == side) {
        // The hardware does not foresee steps from row to row: out of memory, asking for the lines
        // of the next tile is twice as fast. Here and not in a function, which g++ takes for one
        // without effect and drops.
        if (j + 2 * side <= columns) {
          for (index_t k = 0; k < side; ++k) {
            __builtin_prefetch(from.at(i, j + side + k));
            __builtin_prefetch(to.at(i + k, j + side), 1);
          }
        }
        transpose_tile<Size>(to.part(i, j), from.part(i, j));
      } else {
        copy_matrix<Size>(to.part(i, j), from.part(i, j), height, width);
      }
    }
  }
}

}}}  // namespace zarrpoint::v0::detail
