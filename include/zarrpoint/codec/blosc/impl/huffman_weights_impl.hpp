// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/blosc/huffman_weights.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE bool backward_bits::open(bytes_view from) {
  if (from.empty() || from.back() == std::byte{}) return false;
  data_ = from;
  const auto last = std::to_integer<unsigned>(from.back());
  left_ = 8 * static_cast<std::ptrdiff_t>(from.size()) - 9 + std::bit_width(last);
  return true;
}

ZARRPOINT_INLINE unsigned backward_bits::peek(unsigned count) const noexcept {
  const std::ptrdiff_t low = left_ - static_cast<std::ptrdiff_t>(count);
  unsigned out = 0;
  for (std::ptrdiff_t at = low >> 3; at <= (left_ - 1) >> 3; ++at) {
    if (at < 0) continue;
    const auto byte = std::to_integer<unsigned>(data_[static_cast<std::size_t>(at)]);
    const std::ptrdiff_t shift = 8 * at - low;
    out |= shift < 0 ? byte >> -shift : byte << shift;
  }
  return out & ((1U << count) - 1);
}

ZARRPOINT_INLINE unsigned backward_bits::take(unsigned count) noexcept {
  const unsigned out = peek(count);
  skip(count);
  return out;
}

/// The table of a finite-state entropy decoder for weights (RFC 8878, 4.1).
class fse_weights {
 public:
  /// The table at the start of `from`; returns its bytes, 0 when it is none.
  std::size_t read(bytes_view from) {
    forward_bits in{from};
    log_ = in.take(4) + 5;
    if (log_ > max_log) return 0;
    std::array<int, 16> shares{};
    std::size_t symbols = 0;
    int left = 1 << log_;
    while (left > 0) {
      if (symbols >= shares.size()) return 0;
      // A value of up to left + 1 in one bit less where that is enough.
      const unsigned bits = static_cast<unsigned>(std::bit_width(static_cast<unsigned>(left + 1)));
      const int low = static_cast<int>(in.peek(bits - 1));
      const int spare = (1 << bits) - 2 - left;
      int value = low;
      if (low < spare) {
        in.at += bits - 1;
      } else {
        value = static_cast<int>(in.take(bits));
        if (value >= 1 << (bits - 1)) value -= spare;
      }
      const int share = value - 1;
      left -= share < 0 ? 1 : share;
      shares[symbols++] = share;
      if (share != 0) continue;
      for (unsigned zeros = 3; zeros == 3;) {
        zeros = in.take(2);
        if (symbols + zeros > shares.size()) return 0;
        symbols += zeros;
      }
    }
    if (left != 0 || in.at > 8 * from.size() || !spread(shares)) return 0;
    return (in.at + 7) / 8;
  }

  /// Decodes the weights that are all of `from`; returns their number, 0 when they are none.
  std::size_t decode(bytes_view from, std::array<std::uint8_t, 256>& to) const {
    backward_bits in;
    if (!in.open(from)) return 0;
    // Two states in turn; the one whose bits have run out has had its say.
    unsigned first = in.take(log_);
    unsigned second = in.take(log_);
    if (in.left() < 0) return 0;
    std::size_t count = 0;
    while (count + 2 < to.size()) {
      const cell& now = cells_[first];
      to[count++] = now.symbol;
      first = now.base + in.take(now.bits);
      if (in.left() < 0) {
        to[count++] = cells_[second].symbol;
        return count;
      }
      std::swap(first, second);
    }
    return 0;
  }

 private:
  static constexpr unsigned max_log = 6;

  struct cell {
    std::uint8_t symbol = 0;
    std::uint8_t bits = 0;
    std::uint16_t base = 0;
  };
  struct forward_bits {
    bytes_view from;
    std::size_t at = 0;

    unsigned peek(unsigned count) const {
      unsigned out = 0;
      for (unsigned i = 0; i < count; ++i) {
        const std::size_t byte = (at + i) / 8;
        if (byte < from.size())
          out |= (std::to_integer<unsigned>(from[byte]) >> (at + i) % 8 & 1U) << i;
      }
      return out;
    }
    unsigned take(unsigned count) {
      const unsigned out = peek(count);
      at += count;
      return out;
    }
  };

  bool spread(const std::array<int, 16>& shares) {
    const std::size_t size = std::size_t{1} << log_;
    std::size_t high = size;
    std::array<std::uint16_t, 16> next{};
    for (std::size_t s = 0; s < shares.size(); ++s) {
      if (shares[s] >= 0) {
        next[s] = static_cast<std::uint16_t>(shares[s]);
        continue;
      }
      if (high == 0) return false;
      cells_[--high].symbol = static_cast<std::uint8_t>(s);
      next[s] = 1;
    }
    std::size_t at = 0;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      for (int i = 0; i < shares[s]; ++i) {
        cells_[at].symbol = static_cast<std::uint8_t>(s);
        do {
          at = (at + (size >> 1) + (size >> 3) + 3) & (size - 1);
        } while (at >= high);
      }
    }
    if (at != 0) return false;
    for (std::size_t i = 0; i < size; ++i) {
      const unsigned state = next[cells_[i].symbol]++;
      cells_[i].bits =
          static_cast<std::uint8_t>(log_ + 1 - static_cast<unsigned>(std::bit_width(state)));
      cells_[i].base = static_cast<std::uint16_t>((state << cells_[i].bits) - size);
    }
    return true;
  }

  unsigned log_ = 0;
  std::array<cell, std::size_t{1} << max_log> cells_{};
};

ZARRPOINT_INLINE std::optional<huffman_weights> read_huffman_weights(bytes_view from) {
  if (from.empty()) return std::nullopt;
  huffman_weights out;
  const auto head = std::to_integer<std::size_t>(from[0]);
  from = from.subspan(1);
  if (head >= 128) {  // four bits each
    out.count = head - 127;
    const std::size_t bytes = (out.count + 1) / 2;
    if (from.size() < bytes) return std::nullopt;
    for (std::size_t i = 0; i < out.count; ++i)
      out.of[i] = static_cast<std::uint8_t>(
          std::to_integer<unsigned>(from[i / 2]) >> (i % 2 == 0 ? 4 : 0) & 15U);
    out.size = 1 + bytes;
  } else {
    if (from.size() < head) return std::nullopt;
    fse_weights table;
    const std::size_t used = table.read(from.first(head));
    if (used == 0 || used >= head) return std::nullopt;
    out.count = table.decode(from.first(head).subspan(used), out.of);
    if (out.count == 0) return std::nullopt;
    out.size = 1 + head;
  }
  // The last weight makes the sum of all 2^(weight - 1) a power of two.
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < out.count; ++i) {
    if (out.of[i] > huffman_weights::max_bits) return std::nullopt;
    sum += (1U << out.of[i]) >> 1;
  }
  if (sum == 0) return std::nullopt;
  out.bits = static_cast<unsigned>(std::bit_width(sum));
  const std::uint32_t rest = (1U << out.bits) - sum;
  if (out.bits > huffman_weights::max_bits || !std::has_single_bit(rest)) return std::nullopt;
  out.of[out.count++] = static_cast<std::uint8_t>(std::bit_width(rest));
  // The longest codes are two at least.
  if (std::count(out.of.begin(), out.of.end(), 1) < 2) return std::nullopt;
  return out;
}

}}}  // namespace zarrpoint::v0::detail
