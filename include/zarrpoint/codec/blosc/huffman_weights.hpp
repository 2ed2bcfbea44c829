// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

// The description of a Huffman code in zstd (RFC 8878, 4.2.1): a weight for each symbol. It is 0
// for those that do not occur, else one more than the longest code is longer than that of the
// symbol.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// The weights of a code; that of the last symbol is not stored, but follows from the others.
struct huffman_weights {
  static constexpr unsigned max_bits = 11;

  std::array<std::uint8_t, 256> of{};
  std::size_t count = 0;  ///< symbols, the last one too
  unsigned bits = 0;      ///< of the longest code
  std::size_t size = 0;   ///< bytes of the description
};

/// Bits of a stream that is read from its end, the highest first, down to a bit that marks its end.
class backward_bits {
 public:
  /// False when there is no mark.
  bool open(bytes_view from);
  /// The bits that are left; negative after more were taken, which read as zeros.
  std::ptrdiff_t left() const noexcept { return left_; }

  /// The next `count` <= 16 bits, without taking them.
  unsigned peek(unsigned count) const noexcept;
  void skip(unsigned count) noexcept { left_ -= static_cast<std::ptrdiff_t>(count); }
  /// Goes on with `left` bits.
  void skip_to(std::ptrdiff_t left) noexcept { left_ = left; }
  unsigned take(unsigned count) noexcept;

 private:
  bytes_view data_;
  std::ptrdiff_t left_ = 0;
};

/// The weights at the start of `from`, or nothing when they are none of a code of up to 11 bits.
std::optional<huffman_weights> read_huffman_weights(bytes_view from);

}}}  // namespace zarrpoint::v0::detail
