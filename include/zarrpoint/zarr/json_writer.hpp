// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/shortest_double.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace zarrpoint::inline v0 {

enum class json_style : std::uint8_t {
  compact,  ///< no white space at all
  pretty,   ///< one member or element a line, indented by two spaces, as `json.dumps(x, indent=2)`
};

namespace detail {

/// The shortest text that reads back as `value`, spelled as Python's `repr` spells it, which is
/// what zarr-python writes: fixed from 1e-4 up to 1e16, always with a point or an exponent.
inline void write_json_double(std::string& out, double value) {
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

inline void write_json_string(std::string& out, std::string_view text) {
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

class json_writer {
 public:
  explicit json_writer(json_style style) : pretty_(style == json_style::pretty) {}

  void write(const node& value) {
    std::visit([this](const auto& held) { write_value(held); }, value.value());
  }
  std::string take() { return std::move(out_); }

 private:
  template <class T>
  void write_value(const T& value) {
    if constexpr (std::is_same_v<T, std::monostate>) {
      out_ += "null";
    } else if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      write_json_double(out_, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      write_json_string(out_, value);
    } else if constexpr (std::is_same_v<T, node::array>) {
      write_list('[', value, ']', [this](const node& element) { write(element); });
    } else if constexpr (std::is_same_v<T, node::object>) {
      write_list('{', value, '}', [this](const node::member& member) {
        write_json_string(out_, member.key);
        out_ += pretty_ ? ": " : ":";
        write(member.value);
      });
    } else {
      out_ += std::to_string(value);
    }
  }

  template <class List, class F>
  void write_list(char open, const List& list, char close, F write_one) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& one : list) {
      if (!first) out_ += ',';
      first = false;
      new_line();
      write_one(one);
    }
    --depth_;
    if (!first) new_line();
    out_ += close;
  }

  void new_line() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  std::string out_;
  std::size_t depth_ = 0;
  bool pretty_;
};

}  // namespace detail

/// `value` as JSON text (RFC 8259), the same bytes for equal values in every run and on every
/// machine. Members keep their order, integers are exact, doubles are the shortest text that
/// reads back equal. NaN and the infinities become the bare tokens `NaN`, `Infinity` and
/// `-Infinity`, as zarr-python writes them; bytes that are not UTF-8 become U+FFFD.
inline std::string dump_json(const node& value, json_style style = json_style::compact) {
  detail::json_writer writer(style);
  writer.write(value);
  return writer.take();
}

}  // namespace zarrpoint::inline v0
