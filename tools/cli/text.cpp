// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <zarrpoint/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cli {

namespace {

/// The code point of a well-formed sequence.
char32_t code_point(std::string_view sequence) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
  if (sequence.size() == 1) return at(0);
  char32_t out = at(0) & (0xffU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) out = out << 6 | (at(i) & 0x3fU);
  return out;
}

/// Characters that change what a terminal does or the order in which text appears, and those that
/// nobody sees.
bool is_unsafe(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0x303e) ||
         (c >= 0x3041 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) ||
         (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) ||
         (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
}

bool is_combining(char32_t c) {
  return (c >= 0x300 && c <= 0x36f) || (c >= 0x1ab0 && c <= 0x1aff) ||
         (c >= 0x20d0 && c <= 0x20ff) || (c >= 0xfe00 && c <= 0xfe0f);
}

std::string hex_escape(const char* format, unsigned value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

std::string escaped(std::string_view text, bool backslash) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = zp::detail::utf8_sequence(text);
    if (length == 0) {
      out += hex_escape("\\x%02x", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    const char32_t c = code_point(text.substr(0, length));
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\\' && backslash) {
      out += "\\\\";
    } else if (!is_unsafe(c)) {
      out += text.substr(0, length);
    } else if (c < 0x80) {
      out += hex_escape("\\x%02x", static_cast<unsigned>(c));
    } else {
      out += hex_escape(c < 0x10000 ? "\\u%04x" : "\\U%08x", static_cast<unsigned>(c));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t out = 0;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(zp::detail::utf8_sequence(text), 1);
    const char32_t c = code_point(text.substr(0, length));
    out += is_wide(c) ? 2U : is_combining(c) ? 0U : 1U;
    text.remove_prefix(length);
  }
  return out;
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = columns(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + std::string(text) : std::string(text) + space;
}

std::string cut_to(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  std::string out;
  std::size_t used = 1;  // of the ellipsis
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(zp::detail::utf8_sequence(text), 1);
    used += columns(text.substr(0, length));
    if (used > width) break;
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out + "…";
}

std::string byte_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fixed(value, 1) + " " + units[unit];
}

bool parse_bytes(std::string_view text, std::uint64_t& bytes) {
  double value = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (status != std::errc() || !(value >= 0)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) {
    constexpr std::string_view units = "kKmMgGtT";
    const std::size_t unit = units.find(text[0]);
    if (unit != units.npos) {
      value *= std::exp2(10.0 * static_cast<double>(unit / 2 + 1));
      text.remove_prefix(1);
      if (text.starts_with('i')) text.remove_prefix(1);
    }
    if (text.starts_with('B')) text.remove_prefix(1);
  }
  if (!text.empty() || value >= 9e18) return false;
  bytes = static_cast<std::uint64_t>(value);
  return true;
}

std::string fixed(double value, int digits) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string shortest(double value) {
  std::array<char, 40> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string shape_text(const zp::dims& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i != 0) out += ',';
    out += std::to_string(shape[i]);
  }
  return out += ']';
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace cli
