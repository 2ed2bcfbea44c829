// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_weights.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Walks through the blocks of one frame, as long as they are of the kind that it is for. `Sink`
/// has a member for each kind of literals, which is false when they are none. Each makes the next
/// `size` bytes:
///
/// - `stored(bytes_view)`;
/// - `repeated(bytes_view, size)`: one byte, again and again;
/// - `code(const huffman_weights&)`: that of the next streams;
/// - `streams(const std::array<bytes_view, N>&, size)`: 1 or 4 of them.
template <class Sink>
class zstd_literals_reader {
 public:
  zstd_literals_reader(bytes_view frame, std::size_t bytes, Sink& to)
      : in_(frame), left_(bytes), to_(&to) {}

  /// Whether the frame makes exactly that many bytes; if not, they may be anything.
  bool run() {
    if (!header()) return false;
    for (bool last = false; !last;) {
      if (in_.size() < 3) return false;
      const std::size_t head = number(3);
      last = (head & 1) != 0;
      const std::size_t size = head >> 3;
      bool done = false;
      switch (head >> 1 & 3) {
        case 0: done = raw(size); break;
        case 1: done = repeated(size); break;
        case 2: done = size <= in_.size() && literals(take(size)); break;
        default: break;
      }
      if (!done) return false;
    }
    return in_.empty() && left_ == 0;
  }

 private:
  static constexpr std::size_t max_block = 128 << 10;

  bytes_view take(std::size_t bytes) {
    const bytes_view out = in_.first(bytes);
    in_ = in_.subspan(bytes);
    return out;
  }
  static std::size_t number_at(bytes_view from, std::size_t bytes) {
    std::size_t out = 0;
    for (std::size_t i = 0; i < bytes; ++i) out |= std::to_integer<std::size_t>(from[i]) << 8 * i;
    return out;
  }
  std::size_t number(std::size_t bytes) { return number_at(take(bytes), bytes); }

  /// A frame with its content size, without a dictionary and a checksum.
  bool header() {
    constexpr std::uint32_t magic = 0xfd2fb528;
    constexpr std::size_t sizes[] = {1, 2, 4, 8};
    if (in_.size() < 5 || number(4) != magic) return false;
    const std::size_t flags = number(1);
    const bool single = (flags & 0x20) != 0;
    const std::size_t kind = flags >> 6;
    if ((flags & 0x1f) != 0 || in_.size() < sizes[kind] + (single ? 0 : 1)) return false;
    if (!single) {
      const std::size_t window = number(1);
      if (window >> 3 < 7) return false;  // of less than a block, which then is smaller
    }
    if (kind == 0 && !single) return false;
    return number(sizes[kind]) + (kind == 1 ? 256 : 0) == left_;
  }

  /// Whether so many bytes may come next; then they do.
  bool fits(std::size_t size) {
    if (size > left_ || size > max_block) return false;
    left_ -= size;
    return true;
  }

  bool raw(std::size_t size) { return size <= in_.size() && fits(size) && to_->stored(take(size)); }
  bool repeated(std::size_t size) {
    return !in_.empty() && fits(size) && to_->repeated(take(1), size);
  }

  /// A block of Huffman codes, and no sequences.
  bool literals(bytes_view block) {
    if (block.size() < 5) return false;
    const std::size_t head = number_at(block, 5);
    const std::size_t type = head & 3;  // 2: with its code; 3: of the code before
    const std::size_t form = head >> 2 & 3;
    if (type < 2 || (type == 3 && !has_code_)) return false;
    constexpr std::size_t bits[] = {10, 10, 14, 18};
    constexpr std::size_t heads[] = {3, 3, 4, 5};
    const std::size_t mask = (std::size_t{1} << bits[form]) - 1;
    const std::size_t made = head >> 4 & mask;
    const std::size_t stored = head >> (4 + bits[form]) & mask;
    // Behind them one byte: no sequences.
    if (block.size() != heads[form] + stored + 1 || block.back() != std::byte{}) return false;
    if (!fits(made)) return false;
    bytes_view codes = block.subspan(heads[form], stored);
    if (type == 2) {
      const std::optional<huffman_weights> weights = read_huffman_weights(codes);
      if (!weights) return false;
      to_->code(*weights);
      has_code_ = true;
      codes = codes.subspan(weights->size);
    }
    if (form == 0) return to_->streams(std::array{codes}, made);
    if (codes.size() < 6) return false;
    std::array<bytes_view, 4> parts;
    bytes_view rest = codes.subspan(6);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t size = number_at(codes.subspan(2 * i), 2);
      if (size > rest.size()) return false;
      parts[i] = rest.first(size);
      rest = rest.subspan(size);
    }
    parts[3] = rest;
    return to_->streams(parts, made);
  }

  bytes_view in_;
  std::size_t left_;
  Sink* to_;
  bool has_code_ = false;
};

}}}  // namespace zarrpoint::v0::detail
