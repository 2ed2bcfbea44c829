// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/numcodecs/json2.hpp>
#include <zarrpoint/codec/numcodecs/object_rows.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<void> json_rows_reader::next(index_t i) {
  if (i == 0) return {};
  return expect(',');
}

ZARRPOINT_INLINE result<void> json_rows_reader::text(std::string& into) {
  into.clear();
  skip_space();
  if (!from_.starts_with('"')) return placeholder();
  from_.remove_prefix(1);
  while (true) {
    // As far as nothing is special.
    std::size_t plain = 0;
    while (plain < from_.size() && from_[plain] != '"' && from_[plain] != '\\' &&
           (!strict_ || static_cast<unsigned char>(from_[plain]) >= 0x20))
      ++plain;
    into += from_.substr(0, plain);
    from_.remove_prefix(plain);
    if (from_.empty()) return cut_short();
    const char special = from_.front();
    from_.remove_prefix(1);
    if (special == '"') return {};
    if (special != '\\') return error{errc::corrupt, "a control character in a string"};
    ZARRPOINT_CHECK(escape(into));
  }
}

ZARRPOINT_INLINE result<std::uint64_t> json_rows_reader::number() {
  skip_space();
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(from_.data(), from_.data() + from_.size(), value);
  if (status != std::errc()) return error{errc::corrupt, "expected a number"};
  from_.remove_prefix(static_cast<std::size_t>(end - from_.data()));
  return value;
}

ZARRPOINT_INLINE result<void> json_rows_reader::finish() {
  skip_space();
  if (from_.empty()) return {};
  return error{errc::corrupt, std::to_string(from_.size()) + " bytes after the list"};
}

ZARRPOINT_INLINE void json_rows_reader::skip_space() {
  const std::size_t space = from_.find_first_not_of(" \t\r\n");
  from_.remove_prefix(space == std::string_view::npos ? from_.size() : space);
}

ZARRPOINT_INLINE result<void> json_rows_reader::expect(char wanted) {
  skip_space();
  if (from_.empty()) return cut_short();
  if (from_.front() != wanted)
    return error{errc::corrupt, std::string("expected '") + wanted + "'"};
  from_.remove_prefix(1);
  return {};
}

ZARRPOINT_INLINE result<void> json_rows_reader::placeholder() {
  if (from_.empty()) return cut_short();
  const std::size_t end = from_.find_first_of(",] \t\r\n");
  const std::string_view word = from_.substr(0, end);
  if (word == "null" || word == "0") {
    from_.remove_prefix(word.size());
    return {};
  }
  const char first = word.empty() ? '\0' : word.front();
  const bool is_number =
      (first >= '0' && first <= '9') || first == '-' || word == "NaN" || word == "Infinity";
  const char* const name = first == '{'                        ? "an object"
                           : first == '['                      ? "a list"
                           : word == "true" || word == "false" ? "a bool"
                           : is_number                         ? "a number"
                                                               : nullptr;
  if (name == nullptr) return error{errc::corrupt, "expected a value"};
  return error{errc::unsupported, std::string("expected a string, found ") + name};
}

ZARRPOINT_INLINE result<void> json_rows_reader::escape(std::string& into) {
  if (from_.empty()) return cut_short();
  const char c = from_.front();
  from_.remove_prefix(1);
  constexpr std::string_view from = "\"\\/bfnrt";
  constexpr std::string_view to = "\"\\/\b\f\n\r\t";
  if (const std::size_t at = from.find(c); at != std::string_view::npos) {
    into += to[at];
    return {};
  }
  if (c != 'u') return error{errc::corrupt, "an unknown escape"};
  ZARRPOINT_TRY(unit, code_unit());
  std::uint32_t point = unit;
  if (point >= 0xd800 && point < 0xe000) {
    if (point >= 0xdc00 || !from_.starts_with("\\u")) return lone_surrogate();
    from_.remove_prefix(2);
    ZARRPOINT_TRY(low, code_unit());
    if (low < 0xdc00 || low >= 0xe000) return lone_surrogate();
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(into, point);
  return {};
}

ZARRPOINT_INLINE result<std::uint32_t> json_rows_reader::code_unit() {
  if (from_.size() < 4) return cut_short();
  std::uint32_t value = 0;
  const auto [end, status] = std::from_chars(from_.data(), from_.data() + 4, value, 16);
  if (status != std::errc() || end != from_.data() + 4)
    return error{errc::corrupt, "an unknown escape"};
  from_.remove_prefix(4);
  return value;
}

ZARRPOINT_INLINE void json_rows_reader::append_utf8(std::string& into, std::uint32_t point) {
  const auto byte = [&](std::uint32_t value) { into += static_cast<char>(value); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      byte(0xe0 | point >> 12);
    } else {
      byte(0xf0 | point >> 18);
      byte(0x80 | (point >> 12 & 63));
    }
    byte(0x80 | (point >> 6 & 63));
  }
  byte(0x80 | (point & 63));
}

ZARRPOINT_INLINE void json_rows_writer::next(index_t i) {
  if (i != 0) to_.put(',');
}

ZARRPOINT_INLINE void json_rows_writer::text(std::string_view text) {
  to_.put('"');
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_sequence(text);
    if (first == '"' || first == '\\') {
      to_.put('\\');
      to_.put(text.front());
    } else if (first < 0x20) {
      control(first);
    } else if (ascii_ && (first == 0x7f || length > 1)) {
      escape(text.substr(0, length));
    } else {
      to_.put(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  to_.put('"');
}

ZARRPOINT_INLINE void json_rows_writer::control(unsigned char c) {
  constexpr std::string_view from = "\b\f\n\r\t";
  const std::size_t at = from.find(static_cast<char>(c));
  if (at == std::string_view::npos) return unit(c);
  to_.put('\\');
  to_.put("bfnrt"[at]);
}

ZARRPOINT_INLINE void json_rows_writer::escape(std::string_view sequence) {
  std::uint32_t point = static_cast<unsigned char>(sequence.front());
  if (sequence.size() > 1) point &= 0x7fU >> sequence.size();
  for (const char c : sequence.substr(1)) point = point << 6 | (static_cast<unsigned>(c) & 63);
  if (point < 0x10000) return unit(point);
  unit(0xd800 + ((point - 0x10000) >> 10));
  unit(0xdc00 + ((point - 0x10000) & 0x3ff));
}

ZARRPOINT_INLINE void json_rows_writer::unit(std::uint32_t value) {
  to_.put("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) to_.put("0123456789abcdef"[value >> shift & 15]);
}

}  // namespace detail

ZARRPOINT_INLINE result<json2_codec> json2_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader,
                configuration_reader::open(
                    configuration, {"encoding", "allow_nan", "check_circular", "ensure_ascii",
                                    "indent", "separators", "skipkeys", "sort_keys", "strict"}));
  ZARRPOINT_TRY(encoding, reader.text("encoding"));
  if (encoding && *encoding != "utf-8" && *encoding != "utf8" && *encoding != "ascii")
    return error{errc::unsupported, "JSON in " + detail::in_quotes(*encoding)};
  ZARRPOINT_TRY(ascii, reader.boolean("ensure_ascii"));
  ZARRPOINT_TRY(strict, reader.boolean("strict"));
  json2_codec out;
  out.ensure_ascii = ascii.value_or(true);
  out.strict = strict.value_or(true);
  return out;
}

ZARRPOINT_INLINE node json2_codec::configuration() const {
  return node::object{{"encoding", "utf-8"}, {"ensure_ascii", ensure_ascii}, {"strict", strict}};
}

}}  // namespace zarrpoint::v0
