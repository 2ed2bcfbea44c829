// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/codec/blosc/huffman_code.hpp>
#include <zarrpoint/codec/blosc/huffman_encode.hpp>
#include <zarrpoint/codec/blosc/zstd_literals_encode.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Writes the blocks of one frame.
class zstd_literals_writer {
 public:
  zstd_literals_writer(bytes_view from, mutable_bytes to, mutable_bytes streams,
                       huffman_kernel kernel)
      : from_(from), to_(to), room_(to.size()), streams_(streams), kernel_(kernel) {}

  static constexpr std::size_t max_block = 128 << 10;
  static constexpr std::size_t stream_room =
      huffman_stream::margin + huffman_stream::bound(max_block / 4);

  /// The bytes of the frame; 0 when it does not fit.
  std::size_t run() {
    constexpr std::uint64_t magic = 0xfd2fb528;
    constexpr std::uint64_t single_segment = 0xa0;  // the content size in four bytes, no window
    if (!put(magic, 4) || !put(single_segment, 1) || !put(from_.size(), 4)) return 0;
    do {
      if (!group()) return 0;
    } while (!from_.empty());
    return room_ - to_.size();
  }

 private:
  static constexpr std::size_t max_group = 8;

  struct block {
    bytes_view from;
    byte_counts counts;
    std::uint64_t counted;  ///< the sum of `counts`
    huffman_code code;      ///< of `counts`
  };
  enum block_type : std::uint64_t { raw, repeated, coded };

  static std::uint64_t bits_of(const byte_counts& counts, const huffman_code& code) {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) out += counts[i] * code.lengths[i];
    return out;
  }

  /// Some blocks, which have one code if that is hardly worse for any of them than its own: a table
  /// less to make, and one less to read.
  bool group() {
    std::array<block, max_group> blocks;
    std::size_t count = 0;
    byte_counts sum{};
    do {
      block& one = blocks[count++];
      one.from = from_.first(std::min(from_.size(), max_block));
      from_ = from_.subspan(one.from.size());
      one.counts = sampled_counts(one.from, kernel_);
      one.counted = 0;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += one.counts[i];
        one.counted += one.counts[i];
      }
      one.code = code_of(one.counts);
    } while (count < max_group && !from_.empty());
    const huffman_code common = count == 1 ? blocks[0].code : code_of(sum);
    const bool is_shared = std::all_of(blocks.data(), blocks.data() + count, [&](const block& one) {
      const std::uint64_t own = bits_of(one.counts, one.code);
      return bits_of(one.counts, common) - own <= own / 256;
    });
    has_description_ = false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_last = from_.empty() && i + 1 == count;
      if (!is_shared) has_description_ = false;
      if (!write(blocks[i], is_shared ? common : blocks[i].code, is_last)) return false;
    }
    return true;
  }

  /// Of what has less than two symbols: no code.
  static huffman_code code_of(const byte_counts& counts) {
    const auto absent = std::count(counts.begin(), counts.end(), 0U);
    return absent + 1 < static_cast<std::ptrdiff_t>(counts.size()) ? huffman_code::of(counts)
                                                                   : huffman_code{};
  }

  bool write(const block& one, const huffman_code& code, bool is_last) {
    const bytes_view from = one.from;
    if (from.empty()) return head(raw, 0, is_last);
    if (one.counts[std::to_integer<std::size_t>(from[0])] == one.counted)
      return head(repeated, from.size(), is_last) &&
             put(std::to_integer<std::uint64_t>(from[0]), 1);
    // Two in a hundred at least, by what the sample says.
    if (bits_of(one.counts, code) * 51 < one.counted * 8 * 50) {
      const std::size_t size = code_streams(from, code);
      if (size != 0) return size <= to_.size() && write_coded(from.size(), size, is_last);
    }
    if (!head(raw, from.size(), is_last) || from.size() > to_.size()) return false;
    std::memcpy(to_.data(), from.data(), from.size());
    to_ = to_.subspan(from.size());
    return true;
  }

  /// Makes the streams and, unless a block before has it, the description of the code. Returns the
  /// bytes of the block, or 0 when they are too many.
  std::size_t code_streams(bytes_view from, const huffman_code& code) {
    constexpr std::size_t worthwhile = 1024;
    count_ = from.size() < worthwhile ? 1 : 4;
    const std::size_t each = (from.size() + count_ - 1) / count_;
    description_size_ = has_description_ ? 0 : code.describe(description_);
    if (!has_description_ && description_size_ == 0) return 0;
    for (std::size_t i = 0; i < count_; ++i) {
      parts_[i].from = from.subspan(i * each, std::min(each, from.size() - i * each));
      parts_[i].to = streams_.data() + i * stream_room + huffman_stream::margin;
    }
    encode_streams(code, parts_.data(), count_, kernel_);
    const std::size_t size = literals_head(from.size()) + stored_bytes() + 1;
    return size < from.size() ? size : 0;
  }
  std::size_t stored_bytes() const {
    std::size_t out = description_size_ + (count_ == 1 ? 0 : 6);
    for (std::size_t i = 0; i < count_; ++i) out += parts_[i].size;
    return out;
  }
  static constexpr std::size_t literals_head(std::size_t bytes) {
    return bytes < 1024 ? 3 : bytes < 16384 ? 4 : 5;
  }

  bool write_coded(std::size_t bytes, std::size_t size, bool is_last) {
    if (!head(coded, size, is_last) || size > to_.size()) return false;
    const std::uint64_t type = has_description_ ? 3 : 2;
    const std::size_t head_size = literals_head(bytes);
    const std::uint64_t form = count_ == 1 ? 0 : head_size - 2;
    const unsigned bits = head_size == 3 ? 10 : head_size == 4 ? 14 : 18;
    put(type | form << 2 | bytes << 4 | stored_bytes() << (4 + bits), head_size);
    put(bytes_view(description_).first(description_size_));
    has_description_ = true;
    for (std::size_t i = 0; i + 1 < count_; ++i) put(parts_[i].size, 2);
    for (std::size_t i = 0; i < count_; ++i) put(bytes_view(parts_[i].to, parts_[i].size));
    return put(0, 1);  // no sequences
  }

  bool head(block_type type, std::size_t size, bool is_last) {
    return put((is_last ? 1U : 0U) | type << 1 | size << 3, 3);
  }
  bool put(std::uint64_t value, std::size_t bytes) {
    if (to_.size() < bytes) return false;
    for (std::size_t i = 0; i < bytes; ++i) to_[i] = static_cast<std::byte>(value >> 8 * i & 255);
    to_ = to_.subspan(bytes);
    return true;
  }
  void put(bytes_view bytes) {
    if (!bytes.empty()) std::memcpy(to_.data(), bytes.data(), bytes.size());
    to_ = to_.subspan(bytes.size());
  }

  bytes_view from_;
  mutable_bytes to_;
  std::size_t room_;
  mutable_bytes streams_;
  huffman_kernel kernel_;
  // Of the block that is being written.
  std::array<huffman_stream, 4> parts_{};
  std::size_t count_ = 0;
  std::array<std::byte, huffman_code::max_description> description_{};
  std::size_t description_size_ = 0;
  bool has_description_ = false;  ///< whether a block before this one described the code
};

ZARRPOINT_INLINE result<std::size_t> encode_zstd_literals(bytes_view from, mutable_bytes to,
                                                          codec_workspace& scratch,
                                                          huffman_kernel kernel) {
  using writer = zstd_literals_writer;
  ZARRPOINT_TRY(streams, scratch.state<streams_memory>().get(4 * writer::stream_room));
  const std::size_t size = writer(from, to, streams, kernel).run();
  if (size == 0) return error{errc::out_of_range, "the frame does not fit"};
  return size;
}

}}}  // namespace zarrpoint::v0::detail
