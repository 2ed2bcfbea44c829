// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/checksums.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::uint32_t crc32(bytes_view data) noexcept { return detail::crc32(0, data); }

ZARRPOINT_INLINE std::uint32_t adler32(bytes_view data) noexcept {
  constexpr std::uint32_t modulus = 65521;
  constexpr std::size_t run = 5552;  // the most bytes before the second sum may overflow
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  while (!data.empty()) {
    const bytes_view piece = data.first(std::min(run, data.size()));
    for (const std::byte next : piece) {
      low += static_cast<std::uint32_t>(next);
      high += low;
    }
    low %= modulus;
    high %= modulus;
    data = data.subspan(piece.size());
  }
  return high << 16 | low;
}

ZARRPOINT_INLINE std::uint32_t fletcher32(bytes_view data) noexcept {
  constexpr std::size_t run = 2 * 360;  // the most bytes before the second sum may overflow
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  const auto fold = [&] {
    first = (first & 0xffff) + (first >> 16);
    second = (second & 0xffff) + (second >> 16);
  };
  while (data.size() >= 2) {
    const bytes_view piece = data.first(std::min(run, data.size() - data.size() % 2));
    for (std::size_t i = 0; i < piece.size(); i += 2) {
      first += static_cast<std::uint32_t>(piece[i]) << 8 | static_cast<std::uint32_t>(piece[i + 1]);
      second += first;
    }
    fold();
    data = data.subspan(piece.size());
  }
  if (!data.empty()) {
    first += static_cast<std::uint32_t>(data[0]) << 8;
    second += first;
    fold();
  }
  fold();
  return second << 16 | first;
}

ZARRPOINT_INLINE std::uint32_t jenkins_lookup3(bytes_view data, std::uint32_t initial) noexcept {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(data.size()) + initial;
  std::uint32_t b = a;
  std::uint32_t c = a;
  while (data.size() > 12) {
    a += load_le<std::uint32_t>(data.data());
    b += load_le<std::uint32_t>(data.data() + 4);
    c += load_le<std::uint32_t>(data.data() + 8);
    a = (a - c) ^ std::rotl(c, 4), c += b;
    b = (b - a) ^ std::rotl(a, 6), a += c;
    c = (c - b) ^ std::rotl(b, 8), b += a;
    a = (a - c) ^ std::rotl(c, 16), c += b;
    b = (b - a) ^ std::rotl(a, 19), a += c;
    c = (c - b) ^ std::rotl(b, 4), b += a;
    data = data.subspan(12);
  }
  if (data.empty()) return c;
  std::array<std::byte, 12> last{};
  std::copy(data.begin(), data.end(), last.begin());
  a += load_le<std::uint32_t>(last.data());
  b += load_le<std::uint32_t>(last.data() + 4);
  c += load_le<std::uint32_t>(last.data() + 8);
  c = (c ^ b) - std::rotl(b, 14);
  a = (a ^ c) - std::rotl(c, 11);
  b = (b ^ a) - std::rotl(a, 25);
  c = (c ^ b) - std::rotl(b, 16);
  a = (a ^ c) - std::rotl(c, 4);
  b = (b ^ a) - std::rotl(a, 14);
  return (c ^ b) - std::rotl(b, 24);
}

}}  // namespace zarrpoint::v0
