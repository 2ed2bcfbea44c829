// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/json/shortest_double.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE void write_json_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  if (std::signbit(value)) out += '-';
  if (value == 0) {
    out += "0.0";
    return;
  }
  const decimal_digits shortest = shortest_digits(std::fabs(value));
  const std::string_view digits = shortest.digits();
  const int exponent = shortest.exponent;
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) (out += '.').append(digits.substr(1));
    out += exponent < 0 ? "e-" : "e+";
    const int size = std::abs(exponent);
    if (size < 10) out += '0';
    out += std::to_string(size);
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  } else {
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    out += digits.substr(0, whole);
    if (digits.size() > whole) {
      (out += '.').append(digits.substr(whole));
    } else {
      out.append(whole - digits.size(), '0').append(".0");
    }
  }
}

/// Stands in a JSON string as it is.
constexpr bool is_plain_ascii(char c) noexcept {
  return c >= 0x20 && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x80;
}

ZARRPOINT_INLINE void write_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  while (true) {
    std::size_t plain = 0;  // most text is nothing else
    while (plain < text.size() && is_plain_ascii(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_sequence(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text[0];
    } else if (c >= 0x20) {
      out += text.substr(0, length);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\b') {
      out += "\\b";
    } else if (c == '\f') {
      out += "\\f";
    } else {
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

ZARRPOINT_INLINE void json_writer::write(const node& value) {
  value.visit([this](const auto& held) { write_value(held); });
}

ZARRPOINT_INLINE void json_writer::new_line() {
  if (!pretty_) return;
  out_ += '\n';
  out_.append(2 * depth_, ' ');
}

}  // namespace detail

ZARRPOINT_INLINE std::string dump_json(const node& value, json_style style) {
  detail::json_writer writer(style);
  writer.write(value);
  return writer.take();
}

}}  // namespace zarrpoint::v0
