// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>

#include <cstddef>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A selection cut into pieces that are read one by one: whole inner chunks, as many as fit a
/// number of bytes, neighbours in row-major order. It is one of them if even that does not fit. A
/// rule, not a list. Where the selection has steps, pieces may share inner chunks.
class piece_grid {
 public:
  /// `part` has been checked against its array, and its bytes can be counted. `unit`: the extents
  /// of an inner chunk.
  static piece_grid make(const selection& part, const dims& unit, std::size_t element_size,
                         std::size_t bytes);

  std::size_t size() const noexcept { return size_; }
  /// No piece is larger along any axis.
  const dims& largest() const noexcept { return extent_; }

  /// Piece `i`, in row-major order, as a box of the selection.
  box at(std::size_t i) const;

 private:
  static index_t unit_of(const selection& part, const dims& unit, std::size_t d);

  dims shape_;
  dims lead_;    ///< extents of the first piece along each axis
  dims extent_;  ///< of the others, but for the last
  dims counts_;
  std::size_t size_ = 1;
};

/// The elements of a selection that a box of it holds.
selection part_of(const selection& whole, const box& part);

/// `"chunk c/0/0 [0:5, 2:4]"`: where a piece of a selection of an array comes from.
template <class Array>
std::string chunks_of_piece(const Array& of, const selection& whole, const box& piece) {
  const auto& metadata = of.metadata();
  const selection wanted = part_of(whole, piece);
  dims first(piece.rank(), 0);
  dims last(piece.rank(), 0);
  for (std::size_t d = 0; d < piece.rank(); ++d) {
    const index_t end = wanted.offset[d] + (piece.shape[d] - 1) * wanted.step[d];
    if (metadata.edges.empty()) {
      first[d] = wanted.offset[d] / metadata.chunk_shape[d];
      last[d] = end / metadata.chunk_shape[d];
    } else {
      first[d] = metadata.edges[d].find(wanted.offset[d]).index;
      last[d] = metadata.edges[d].find(end).index;
    }
  }
  std::string text = "chunk " + metadata.keys.key(first);
  if (first != last) text += " to " + metadata.keys.key(last);
  return text + " " + to_string(piece);
}

}}}  // namespace zarrpoint::v0::detail
