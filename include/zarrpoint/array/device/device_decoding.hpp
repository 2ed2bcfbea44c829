// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// An array whose inner chunks are stored as planes of bytes, the first bytes of all elements, then
/// the second ones. That is what a byte shuffle right after `bytes` makes of them, before they are
/// compressed.
struct byte_planes {
  /// The same array without the shuffle. An inner chunk is a row of it along the last axis, and one
  /// element along the others, and holds the planes as they are. It has the key, the entry in its
  /// shard's index and the digest that it has in the array.
  array source;
  dims chunk;                  ///< the shape of an inner chunk
  std::size_t chunk_size = 0;  ///< its elements
  std::size_t width = 0;       ///< planes; those of a part of an element, or of several, too

  std::size_t chunk_bytes() const { return chunk_size * source.spec().type.size(); }

  /// The inner chunks that hold elements of a box of the array.
  box chunks_of(const box& part) const { return chunks_of(part, chunk); }
  static box chunks_of(const box& part, const dims& chunk);
  /// The elements of a box of inner chunks that a selection of steps of 1 wants. They are told as a
  /// box counted from the first of those chunks, and as a box of the selection.
  std::pair<box, box> place_of(const box& chunks, const selection& part) const {
    return place_of(chunks, chunk, part);
  }
  static std::pair<box, box> place_of(const box& chunks, const dims& chunk, const selection& part);
  /// One of a box of inner chunks, in row-major order.
  static box one_of(const box& chunks, std::size_t i);
  /// What is read of `source` for a box of inner chunks: row-major, one after another.
  box rows_of(box chunks) const;
};

/// Whether a device should have the inner chunks of a selection as planes, if an array has them.
/// Each takes a kernel, so that small ones are not worth it, and comes whole, so that most of them
/// must be wanted. It fits into `most` bytes. Cheap, too.
bool planes_suit(const array& of, const selection& part, std::size_t most = SIZE_MAX);

/// Whether a device should have the inner chunks of a selection as Blosc frames, if they are such
/// as its kernels decode: by the same rule. Each fits into `most` bytes, also as elements of
/// `element_size` bytes. Cheap, too.
bool frames_suit(const array& of, const selection& part, std::size_t most = SIZE_MAX,
                 std::size_t element_size = 1);

/// The planes of an array that is stored so; nothing for others, and where the fill value is not
/// the same as planes: where its bytes differ.
std::optional<byte_planes> planes_of(const array& of);

/// Whether the first codec that minds the order of bytes makes them of the other one; nothing when
/// that is left to the next codec.
std::optional<bool> makes_other_order(std::string_view name, const json& configuration);

/// Declares bytes of the other order than this machine's to be of its own. False when they are not
/// such bytes, or when a codec before that works on the values of elements.
bool declare_native(std::vector<codec_spec>& codecs);

/// Whether an array's numbers are stored in the byte order that is not this machine's. Cheap: each
/// read to a device asks.
bool has_flipped_order(const array& of);

/// The array, read as if its numbers were stored in this machine's byte order: each part of an
/// element then has its bytes reversed, those of the fill value, too. Nothing for arrays that are
/// stored so, and where more than the bytes themselves depends on the order.
std::optional<array> in_flipped_order(const array& of);

}}}  // namespace zarrpoint::v0::detail
