// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_reader.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- json_reader.hpp

ZARRPOINT_INLINE json_reader::json_reader(std::string_view text, const json_limits& limits,
                                          json_member* wanted)
    : begin_(text.data()),
      at_(begin_),
      end_(begin_ + text.size()),
      levels_(std::min(limits.max_depth, most_levels)),
      levels_left_(levels_),
      values_(limits.node_limit()),
      values_left_(values_),
      memory_(limits.max_memory),
      memory_left_(memory_),
      looks_left_(2 * text.size()),
      wanted_(wanted),
      takes_nan_(limits.allow_nan_literals),
      keeps_text_(limits.keep_text),
      keeps_twice_(limits.keep_twice) {}

ZARRPOINT_INLINE bool json_reader::fail(errc code, std::string message) {
  if (!failure_) failure_ = error{code, std::move(message)};
  return false;
}

ZARRPOINT_INLINE bool json_reader::wrong(std::string_view what) {
  const auto line = static_cast<std::size_t>(std::count(begin_, at_, '\n')) + 1;
  const char* start = at_;
  while (start != begin_ && start[-1] != '\n') --start;
  std::string message = "line " + std::to_string(line) + ", column " +
                        std::to_string(at_ - start + 1) + ": " + std::string(what);
  message += at_ == end_ ? ", found the end" : ", found " + in_quotes(rest().substr(0, 1));
  return fail(errc::corrupt, std::move(message));
}

ZARRPOINT_INLINE error json_reader::failure() && {
  return failure_ ? *std::move(failure_) : error{errc::corrupt, "not a JSON document"};
}

ZARRPOINT_INLINE bool json_reader::read(json& out) {
  take_text("\xef\xbb\xbf");
  if (!read_value(out, wanted_ != nullptr ? 0 : no_path)) return false;
  skip_space();
  if (at_ != end_) return wrong("expected nothing more");
  if (wanted_ != nullptr) wanted_->found_ = passed_wanted_;
  return true;
}

ZARRPOINT_INLINE bool json_reader::take_text(std::string_view text) noexcept {
  if (!rest().starts_with(text)) return false;
  at_ += text.size();
  return true;
}

ZARRPOINT_INLINE bool json_reader::count_values(std::size_t values) noexcept {
  if (values > values_left_) return false;
  values_left_ -= values;
  return true;
}

ZARRPOINT_INLINE bool json_reader::descend(std::size_t levels) noexcept {
  if (levels > levels_left_) return false;
  levels_left_ -= levels;
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_string(std::string& out, bool plain) {
  if (at_ == end_ || *at_ != '"') return wrong("expected a string");
  const std::size_t before = out.size();
  const char* from = ++at_;
  unsigned bits = 0;
  for (; at_ != end_ && *at_ != '"'; ++at_) {
    const auto c = static_cast<unsigned char>(*at_);
    if (c < 0x20) return wrong("expected an escape in place of a control character");
    bits |= c;
    if (c != '\\') continue;
    out.append(from, at_);
    ++at_;
    if (!read_escape(out, plain)) return false;
    from = at_ + 1;
  }
  if (at_ == end_) return wrong("expected '\"' after a string");
  out.append(from, at_);
  if (bits >= 0x80 && !is_utf8(std::string_view(out).substr(before)))
    return wrong("the string that ends here is not UTF-8");
  ++at_;
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_escape(std::string& out, bool plain) {
  const char c = at_ == end_ ? '\0' : *at_;
  switch (c) {
    case '"':
    case '\\': out += c; return true;
    case 'b': out += '\b'; return true;
    case 'f': out += '\f'; return true;
    case 'n': out += '\n'; return true;
    case 'r': out += '\r'; return true;
    case 't': out += '\t'; return true;
    default: break;
  }
  if (plain || (c != '/' && c != 'u')) return wrong("expected an escape after '\\'");
  if (c == '/') {
    out += c;
    return true;
  }
  char32_t code = 0;
  if (!read_hex4(code)) return false;
  const char* const last = at_;
  if (code >= 0xd800 && code < 0xdc00 && rest().substr(1).starts_with("\\u")) {
    char32_t second = 0;
    at_ += 2;
    if (!read_hex4(second)) return false;
    if (second >= 0xdc00 && second <= 0xdfff) {
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    } else {
      at_ = last;  // an escape of its own
    }
  }
  if (append_code_point(out, code)) return true;
  if (!keeps_text_) return wrong("expected both halves of a surrogate pair");
  out.append(last - 5, 6);
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_hex4(char32_t& out) {
  std::uint32_t value = 0;  // `at_` is at the 'u', and then at the last digit
  for (int i = 0; i < 4; ++i) {
    if (++at_ == end_) return wrong("expected four hexadecimal digits");
    const char c = *at_;
    const char lower = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<std::uint32_t>(lower - 'a') + 10;
    } else {
      return wrong("expected four hexadecimal digits");
    }
  }
  out = value;
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_uint64(std::uint64_t& out) {
  const char* const from = at_;
  return take_digits() && (*from != '0' || at_ - from == 1) &&
         std::from_chars(from, at_, out).ec == std::errc();
}

ZARRPOINT_INLINE void json_reader::skip_space() noexcept {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
}

ZARRPOINT_INLINE bool json_reader::take(char c) noexcept {
  skip_space();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

ZARRPOINT_INLINE bool json_reader::expect(char c, std::string_view what) {
  return take(c) || wrong(what);
}

ZARRPOINT_INLINE bool json_reader::expect_text(std::string_view text) {
  return take_text(text) || wrong("expected a value");
}

ZARRPOINT_INLINE bool json_reader::read_value(json& out, std::size_t matched) {
  if (!count_values(1))
    return fail(errc::resource_limit, "more than " + std::to_string(values_) + " values");
  skip_space();
  if (at_ == end_) return wrong("expected a value");
  switch (*at_) {
    case '{':
    case '[': {
      if (!descend(1))
        return fail(errc::resource_limit,
                    "nested deeper than " + std::to_string(levels_) + " levels");
      if (is_behind_ && *at_ == '{' && wanted_->pass(*this)) {
        ascend(1);
        out = json(json::object());
        return true;
      }
      const bool done = *at_++ == '{' ? read_members(out, matched) : read_elements(out);
      ascend(1);
      return done;
    }
    case '"': {
      out = json(std::string());
      return read_string(*out.if_string(), false);
    }
    case 't': out = json(true); return expect_text("true");
    case 'f': out = json(false); return expect_text("false");
    case 'n': out = json(); return expect_text("null");
    default: return read_number(out);
  }
}

ZARRPOINT_INLINE bool json_reader::take_memory(std::size_t bytes) {
  if (bytes > memory_left_)
    return fail(errc::resource_limit, "its values take more than the " + std::to_string(memory_) +
                                          " bytes of the budget");
  memory_left_ -= bytes;
  return true;
}

ZARRPOINT_INLINE std::size_t json_reader::values_to_come() noexcept {
  std::size_t values = 1;
  std::size_t depth = 0;
  bool is_text = false;
  for (const char* at = at_; at != end_ && looks_left_ != 0; ++at, --looks_left_) {
    if (*at == '"') {
      is_text = !is_text;
    } else if (is_text) {
      if (*at == '\\' && end_ - at > 1) ++at;
    } else if (*at == ',') {
      if (depth == 0) ++values;
    } else if (*at == '[' || *at == '{') {
      ++depth;
    } else if ((*at == ']' || *at == '}') && depth-- == 0) {
      break;
    }
  }
  return std::min(values, values_left_ + 1);
}

ZARRPOINT_INLINE bool json_reader::read_members(json& out, std::size_t matched) {
  const char* const begin = at_ - 1;
  const std::size_t first = members_.size();
  const bool keeps_twice = keeps_twice_;
  bool has_twice = false;
  // Hostile text that repeats a key is not kept to its end.
  std::size_t check_at = 64;
  if (!take('}')) {
    for (std::size_t count = 1;; ++count) {
      std::string key;
      skip_space();
      if (!read_string(key, false) || !expect(':', "expected ':' after a key")) return false;
      if (keeps_text_ && (key == "attributes" || key.ends_with(".zattrs"))) keeps_twice_ = true;
      json value;
      const bool on_path = matched != no_path && key == wanted_->path_[matched];
      if (on_path && matched + 1 == wanted_->path_.size()) {
        skip_space();
        if (!wanted_->read(*this)) {
          gave_up_ = true;
          return false;
        }
        passed_wanted_ = true;
      } else if (!read_value(value, on_path ? matched + 1 : no_path)) {
        return false;
      } else if (matched == 0) {
        is_behind_ = passed_wanted_;
      }
      keeps_twice_ = keeps_twice;
      if (!append(members_, first, {std::move(key), std::move(value)})) return false;
      const bool is_last = !take(',');
      if (is_last && !expect('}', "expected ',' or '}' after a member")) return false;
      if (is_last || count == check_at) {
        if (const std::string* twice = duplicate_key(members_.data() + first, count)) {
          if (!keeps_twice || passed_wanted_)  // what is wanted is never text
            return fail(errc::corrupt, "duplicate key " + in_quotes(*twice));
          has_twice = true;
        }
        check_at *= 8;
      }
      if (is_last) break;
    }
  }
  if (!close(members_, first, out)) return false;
  if (has_twice) out = json(json::object{{"duplicate_keys", std::string(begin, at_)}});
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_elements(json& out) {
  const std::size_t first = elements_.size();
  if (!take(']')) {
    do {
      json value;
      if (!read_value(value, no_path)) return false;
      if (!append(elements_, first, std::move(value))) return false;
    } while (take(','));
    if (!expect(']', "expected ',' or ']' after an element")) return false;
  }
  return close(elements_, first, out);
}

ZARRPOINT_INLINE const std::string* json_reader::duplicate_key(const json::member* members,
                                                               std::size_t count) {
  constexpr std::size_t few = 12;
  if (count <= few) {
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (members[i].key == members[j].key) return &members[i].key;
      }
    }
    return nullptr;
  }
  std::vector<named_place> keys;
  keys.reserve(count);
  for (std::size_t i = 0; i < count; ++i) keys.push_back({members[i].key, i});
  // Not by pairs, since a hostile object has a million keys.
  const named_place* const twice = find_twice(keys);
  return twice == nullptr ? nullptr : &members[twice->place].key;
}

ZARRPOINT_INLINE bool json_reader::take_digits() noexcept {
  const char* const from = at_;
  while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
  return at_ != from;
}

ZARRPOINT_INLINE bool json_reader::read_number(json& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const char* const from = at_;
  if (takes_nan_ && (*at_ < '0' || *at_ > '9')) {
    if (take_text("NaN")) return out = json(std::numeric_limits<double>::quiet_NaN()), true;
    if (take_text("Infinity")) return out = json(infinity), true;
    if (take_text("-Infinity")) return out = json(-infinity), true;
  }
  const bool negative = *at_ == '-';
  if (negative) ++at_;
  const char* const digits = at_;
  if (!take_digits()) return wrong(negative ? "expected a digit" : "expected a value");
  if (*digits == '0' && at_ - digits > 1) {
    at_ = digits + 1;
    return wrong("expected no digit after a leading 0");
  }
  bool is_integer = true;
  if (at_ != end_ && *at_ == '.') {
    is_integer = false;
    ++at_;
    if (!take_digits()) return wrong("expected a digit");
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    is_integer = false;
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!take_digits()) return wrong("expected a digit");
  }
  if (!is_integer) return read_double(from, out);
  return negative ? read_integer<std::int64_t>(from, out) : read_integer<std::uint64_t>(from, out);
}

ZARRPOINT_INLINE bool json_reader::read_double(const char* from, json& out) {
  std::string text(from, at_);  // ends with NUL, as the function wants it
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) {  // a locale with another decimal point
    text.replace(text.find('.'), 1, std::localeconv()->decimal_point);
    value = std::strtod(text.c_str(), &end);
  }
  if (end == text.c_str() + text.size() && std::isfinite(value)) {
    out = json(value);
    return true;
  }
  return too_large(from, false, out);
}

ZARRPOINT_INLINE bool json_reader::too_large(const char* from, bool is_integer, json& out) {
  const std::string_view text(from, at_);
  if (keeps_text_) {
    out = json(std::string(text));
    return true;
  }
  const std::string shown = in_quotes(text.substr(0, 40));
  return is_integer ? fail(errc::out_of_range, "integer " + shown + " does not fit in 64 bits")
                    : fail(errc::corrupt, "number " + shown + " is too large for a double");
}

}  // namespace detail

// ---------------------------------------------------------------------------------------- json.hpp

namespace detail {

ZARRPOINT_INLINE result<json> read_json(std::string_view text, const json_limits& limits,
                                        json_member* wanted) {
  json out;
  if (wanted != nullptr) {
    json_reader reader(text, limits, wanted);
    if (reader.read(out)) return out;
    // What is wrong is so for every reader: hostile text is read once.
    if (!reader.gave_up()) return std::move(reader).failure();
  }
  json_reader reader(text, limits);
  if (reader.read(out)) return out;
  return std::move(reader).failure();
}

}  // namespace detail

ZARRPOINT_INLINE result<json> parse_json(bytes_view text, const json_limits& limits,
                                         detail::json_member* wanted) {
  if (text.size() > limits.max_bytes)
    return error{errc::resource_limit, "JSON: " + std::to_string(text.size()) +
                                           " bytes are more than the limit of " +
                                           std::to_string(limits.max_bytes)};
#if ZARRPOINT_EXCEPTIONS
  try {
    return detail::read_json(as_text(text), limits, wanted).at("JSON");
  } catch (const std::bad_alloc&) {
    return error{errc::resource_limit, "JSON: out of memory"};
  }
#else
  return detail::read_json(as_text(text), limits, wanted).at("JSON");
#endif
}

// --------------------------------------------------------------------------------- json_writer.hpp

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

ZARRPOINT_INLINE void json_writer::write(const json& value) {
  value.visit([this](const auto& held) { write_value(held); });
}

ZARRPOINT_INLINE void json_writer::new_line() {
  if (!pretty_) return;
  out_ += '\n';
  out_.append(2 * depth_, ' ');
}

}  // namespace detail

ZARRPOINT_INLINE std::string dump_json(const json& value, json_style style) {
  detail::json_writer writer(style);
  writer.write(value);
  return writer.take();
}

namespace detail {

ZARRPOINT_INLINE void decimal_digits::drop_zeros() noexcept {
  while (size > 1 && text[size - 1] == '0') --size;
}

ZARRPOINT_INLINE void decimal_digits::increment() noexcept {
  std::size_t i = size;
  while (i > 0 && text[i - 1] == '9') --i;
  size = i;
  if (i > 0) {
    ++text[i - 1];
  } else {
    text[size++] = '1';
    ++exponent;
  }
}

ZARRPOINT_INLINE double decimal_digits::read_back() const noexcept {
  std::array<char, 40> number{};
  std::snprintf(number.data(), number.size(), "%.*se%d", static_cast<int>(size), text.data(),
                exponent - static_cast<int>(size) + 1);
  return std::strtod(number.data(), nullptr);
}

/// The `count` leading digits of `magnitude`, correctly rounded.
ZARRPOINT_INLINE decimal_digits rounded_digits(double magnitude, int count) noexcept {
  std::array<char, 40> number{};  // d.ddde-308
  std::snprintf(number.data(), number.size(), "%.*e", count - 1, magnitude);
  decimal_digits out;
  const char* at = number.data();
  for (; *at != 'e'; ++at) {
    if (*at >= '0' && *at <= '9') out.text[out.size++] = *at;
  }
  out.exponent = std::atoi(at + 1);
  return out;
}

ZARRPOINT_INLINE decimal_digits shortest_digits(double magnitude) noexcept {
  // A normal number that has 15 digits or fewer is what its first 15 say.
  const int first = magnitude < DBL_MIN ? 1 : DBL_DIG;
  for (int count = first;; ++count) {
    decimal_digits out = rounded_digits(magnitude, count);
    if (out.read_back() != magnitude && count < DBL_DECIMAL_DIG) {
      // Above a power of two there is twice the room as below it.
      out.increment();
      if (out.read_back() != magnitude) continue;
    }
    out.drop_zeros();
    return out;
  }
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif
