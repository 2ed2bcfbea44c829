// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "element_text.hpp"

#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/core/visit.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/zarr/json_writer.hpp>

#include "text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>

namespace cli {

namespace {

/// The fewest digits that read back as the same number of its own type.
template <class T>
std::string number(T value) {
  if constexpr (std::integral<T> || std::floating_point<T>) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  } else {
    if (static_cast<float>(value) == 0) return std::signbit(static_cast<float>(value)) ? "-0" : "0";
    return to_string(value);
  }
}

template <class T>
void append_number(std::string& out, T value, bool json) {
  if constexpr (std::integral<T>) {
    out += number(value);
  } else {
    const double wide = static_cast<double>(value);
    if (std::isnan(wide)) {
      out += json ? "\"NaN\"" : "nan";
    } else if (std::isinf(wide)) {
      out += wide < 0 ? (json ? "\"-Infinity\"" : "-inf") : (json ? "\"Infinity\"" : "inf");
    } else {
      out += number(value);
    }
  }
}

template <class T>
void append_value(std::string& out, T value, bool json) {
  if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (zp::dtype_of<T>.is_complex()) {
    if (json) out += '[';
    append_number(out, value.real(), json);
    if (json) {
      out += ',';
    } else if (!std::signbit(value.imag()) || std::isnan(value.imag())) {
      out += '+';
    }
    append_number(out, value.imag(), json);
    out += json ? ']' : 'j';
  } else {
    append_number(out, value, json);
  }
}

void append(std::string& out, const std::byte* at, zp::dtype type, bool json) {
  if (type.is_variable()) {
    const auto& text = *reinterpret_cast<const std::string*>(at);
    if (json) {
      append_json_string(out, text);
    } else {
      out += '"' + escaped(text) + '"';
    }
    return;
  }
  zp::visit_dtype(type, [&]<class T>() {
    if constexpr (std::same_as<T, bool>) {
      append_value(out, *at != std::byte{0}, json);
    } else {
      T value;
      std::memcpy(&value, at, sizeof value);
      append_value(out, value, json);
    }
  });
}

}  // namespace

void append_plain(std::string& out, const std::byte* at, zp::dtype type) {
  append(out, at, type, false);
}

void append_json(std::string& out, const std::byte* at, zp::dtype type) {
  append(out, at, type, true);
}

void append_json_string(std::string& out, std::string_view text) {
  if (zp::is_utf8(text)) {
    zp::detail::write_json_string(out, text);
    return;
  }
  std::string mended;
  while (!text.empty()) {
    const std::size_t length = zp::utf8_sequence(text);
    mended += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  zp::detail::write_json_string(out, mended);
}

}  // namespace cli
