// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a character stands for; 64 for those that stand for nothing.
inline constexpr std::array<std::uint8_t, 256> base64_values = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(64);
  for (std::size_t i = 0; i < 64; ++i)
    out[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::uint8_t>(i);
  return out;
}();

ZARRPOINT_INLINE void base64_encode(bytes_view from, char* to) noexcept {
  for (std::size_t i = 0; i < from.size(); i += 3) {
    const std::size_t left = from.size() - i;
    std::uint32_t group = std::to_integer<std::uint32_t>(from[i]) << 16;
    if (left > 1) group |= std::to_integer<std::uint32_t>(from[i + 1]) << 8;
    if (left > 2) group |= std::to_integer<std::uint32_t>(from[i + 2]);
    *to++ = detail::base64_digits[group >> 18];
    *to++ = detail::base64_digits[group >> 12 & 63];
    *to++ = left > 1 ? detail::base64_digits[group >> 6 & 63] : '=';
    *to++ = left > 2 ? detail::base64_digits[group & 63] : '=';
  }
}

ZARRPOINT_INLINE bool base64_decode(std::string_view text, std::byte* to) noexcept {
  const std::optional<std::size_t> size = base64_decoded_size(text);
  if (!size) return false;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = std::min<std::size_t>(4, *size - done + 1);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::uint8_t value = detail::base64_values[static_cast<unsigned char>(text[i + j])];
      if (value == 64 && (j < digits || text[i + j] != '=')) return false;
      group = group << 6 | (value & 63U);
    }
    for (std::size_t j = 0; j + 1 < digits; ++j)
      to[done++] = static_cast<std::byte>(group >> (16 - 8 * j) & 255);
  }
  return true;
}

ZARRPOINT_INLINE std::string to_base64(bytes_view from) {
  std::string out(base64_size(from.size()), '\0');
  base64_encode(from, out.data());
  return out;
}

ZARRPOINT_INLINE std::optional<std::string> from_base64(std::string_view text) {
  const std::optional<std::size_t> size = base64_decoded_size(text);
  if (!size) return std::nullopt;
  std::string out(*size, '\0');
  if (!base64_decode(text, reinterpret_cast<std::byte*>(out.data()))) return std::nullopt;
  return out;
}

}}}  // namespace zarrpoint::v0::detail
