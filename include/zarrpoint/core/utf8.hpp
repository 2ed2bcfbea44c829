// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The length of the well-formed UTF-8 sequence at the start of `text` (1 to 4), or 0 when there
/// is none. Overlong forms, surrogates and code points above U+10FFFF are not well formed
/// (Unicode 15, table 3-7).
constexpr std::size_t utf8_sequence(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  if (text.empty()) return 0;
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace detail

/// Whether all of `text` is well-formed UTF-8.
constexpr bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = detail::utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

namespace detail {

/// Takes the first code point off `text`; nothing when that does not begin with one.
constexpr std::optional<char32_t> take_code_point(std::string_view& text) noexcept {
  const std::size_t length = utf8_sequence(text);
  if (length == 0) return std::nullopt;
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  // The lead byte of a sequence of n > 1 bytes has n + 1 bits that are not of the code point.
  char32_t out = length == 1 ? at(0) : at(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) out = out << 6 | (at(i) & 0x3fU);
  text.remove_prefix(length);
  return out;
}

/// Appends a code point as UTF-8; false, and nothing appended, for a surrogate or a number above
/// U+10FFFF.
bool append_code_point(std::string& text, char32_t code_point);

}  // namespace detail

}}  // namespace zarrpoint::v0
