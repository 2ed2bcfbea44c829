// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/streamed_copy.hpp>

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
/// Written out, as all of the tile is: at -O2 g++ would keep the vectors in memory, at a third of
/// the speed.
template <std::size_t Step, std::size_t Count, class Vector, std::size_t... Pair>
[[gnu::always_inline]] inline void transpose_vectors(Vector* in,
                                                     std::index_sequence<Pair...> pairs) {
  if constexpr (Step < Count) {
    constexpr std::make_index_sequence<Count> lanes;
    Vector out[Count];
    (interleave<0>(out[2 * Pair], in[Pair], in[Pair + Count / 2], lanes), ...);
    (interleave<Count / 2>(out[2 * Pair + 1], in[Pair], in[Pair + Count / 2], lanes), ...);
    ((in[2 * Pair] = out[2 * Pair], in[2 * Pair + 1] = out[2 * Pair + 1]), ...);
    transpose_vectors<2 * Step, Count>(in, pairs);
  }
}

/// Transposes as many rows of one vector as the vector has elements.
template <class Vector, std::size_t... I>
[[gnu::always_inline]] inline void transpose_square(const matrix<std::byte*>& to,
                                                    const matrix<const std::byte*>& from,
                                                    std::index_sequence<I...>) {
  Vector in[sizeof...(I)];
  (std::memcpy(&in[I], from.at(0, static_cast<index_t>(I)), sizeof(Vector)), ...);
  transpose_vectors<1, sizeof...(I)>(in, std::make_index_sequence<sizeof...(I) / 2>{});
  (std::memcpy(to.at(static_cast<index_t>(I), 0), &in[I], sizeof(Vector)), ...);
}

/// Transposes one tile: `to` has contiguous rows, `from` contiguous columns.
template <std::size_t Size>
void transpose_tile(const matrix<std::byte*>& to, const matrix<const std::byte*>& from) {
  constexpr auto side = static_cast<index_t>(tile_bytes / Size);
  if constexpr (Size == 16) {
    copy_matrix<Size>(to, from, side, side);
  } else {
    using vector = typename vector_of<Size>::type;
    constexpr std::make_index_sequence<sizeof(vector) / Size> lanes;
    constexpr auto step = static_cast<index_t>(lanes.size());
    for (index_t j = 0; j < side; j += step) {
      for (index_t i = 0; i < side; i += step)
        transpose_square<vector>(to.part(i, j), from.part(i, j), lanes);
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
/// columns. Both are contiguous there.
template <std::size_t Size>
void transpose_tiles(const matrix<std::byte*>& to, const matrix<const std::byte*>& from,
                     index_t rows, index_t columns) {
  constexpr auto side = static_cast<index_t>(tile_bytes / Size);
  // Rows of `to` are written four lines at a time, so that few lines are written in part where they
  // do not begin at one. `from` is read along its columns, as long as their pages are at hand.
  constexpr index_t tiles = 4;
  constexpr index_t height = 1024;
  const bool is_streamed =
      static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * Size >=
      streamed_copy_bytes;
  alignas(tile_bytes) std::byte lines[static_cast<std::size_t>(side * tiles) * tile_bytes];
  for (index_t top = 0; top < rows; top += height) {
    const index_t bottom = std::min(rows, top + height);
    for (index_t j = 0; j < columns; j += tiles * side) {
      const index_t wide = std::min(tiles, (columns - j) / side);
      const index_t done = j + wide * side;
      const matrix<std::byte*> made{lines, wide * static_cast<index_t>(tile_bytes),
                                    static_cast<index_t>(Size)};
      index_t i = top;
      for (; wide != 0 && i + side <= bottom; i += side) {
        // The hardware does not foresee steps from column to column. Here and not in a function,
        // which g++ takes for one without effect and drops.
        for (index_t k = 0; i + 2 * side <= rows && k < wide * side; ++k)
          __builtin_prefetch(from.at(i + side, j + k));
        for (index_t k = 0; k < wide * side; k += side)
          transpose_tile<Size>(made.part(0, k), from.part(i, j + k));
        for (index_t k = 0; k < side; ++k) {
          const auto size = static_cast<std::size_t>(made.row_stride);
          if (is_streamed) {
            copy_streamed(to.at(i + k, j), made.at(k, 0), size);
          } else {
            std::memcpy(to.at(i + k, j), made.at(k, 0), size);
          }
        }
      }
      copy_matrix<Size>(to.part(i, j), from.part(i, j), bottom - i, done - j);
      if (wide < tiles && done < columns)
        copy_matrix<Size>(to.part(top, done), from.part(top, done), bottom - top, columns - done);
    }
  }
  if (is_streamed) end_streaming();
}

/// The same, where they need not be.
template <std::size_t Size>
void transpose_matrix(const matrix<std::byte*>& to, const matrix<const std::byte*>& from,
                      index_t rows, index_t columns) {
  if (to.column_stride == static_cast<index_t>(Size) &&
      from.row_stride == static_cast<index_t>(Size))
    return transpose_tiles<Size>(to, from, rows, columns);
  constexpr auto side = static_cast<index_t>(tile_bytes / Size);
  for (index_t i = 0; i < rows; i += side) {
    for (index_t j = 0; j < columns; j += side)
      copy_matrix<Size>(to.part(i, j), from.part(i, j), std::min(side, rows - i),
                        std::min(side, columns - j));
  }
}

}}}  // namespace zarrpoint::v0::detail
