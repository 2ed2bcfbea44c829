// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json/json_reader.hpp>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

ZARRPOINT_INLINE bool json_reader::read(node& out) {
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

ZARRPOINT_INLINE bool json_reader::read_value(node& out, std::size_t matched) {
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
        out = node(node::object());
        return true;
      }
      const bool done = *at_++ == '{' ? read_members(out, matched) : read_elements(out);
      ascend(1);
      return done;
    }
    case '"': {
      out = node(std::string());
      return read_string(*out.if_string(), false);
    }
    case 't': out = node(true); return expect_text("true");
    case 'f': out = node(false); return expect_text("false");
    case 'n': out = node(); return expect_text("null");
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

ZARRPOINT_INLINE bool json_reader::read_members(node& out, std::size_t matched) {
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
      node value;
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
  if (has_twice) out = node(node::object{{"duplicate_keys", std::string(begin, at_)}});
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_elements(node& out) {
  const std::size_t first = elements_.size();
  if (!take(']')) {
    do {
      node value;
      if (!read_value(value, no_path)) return false;
      if (!append(elements_, first, std::move(value))) return false;
    } while (take(','));
    if (!expect(']', "expected ',' or ']' after an element")) return false;
  }
  return close(elements_, first, out);
}

ZARRPOINT_INLINE const std::string* json_reader::duplicate_key(const node::member* members,
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

ZARRPOINT_INLINE bool json_reader::read_number(node& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const char* const from = at_;
  if (takes_nan_ && (*at_ < '0' || *at_ > '9')) {
    if (take_text("NaN")) return out = node(std::numeric_limits<double>::quiet_NaN()), true;
    if (take_text("Infinity")) return out = node(infinity), true;
    if (take_text("-Infinity")) return out = node(-infinity), true;
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

ZARRPOINT_INLINE bool json_reader::read_double(const char* from, node& out) {
  std::string text(from, at_);  // ends with NUL, as the function wants it
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) {  // a locale with another decimal point
    text.replace(text.find('.'), 1, std::localeconv()->decimal_point);
    value = std::strtod(text.c_str(), &end);
  }
  if (end == text.c_str() + text.size() && std::isfinite(value)) {
    out = node(value);
    return true;
  }
  return too_large(from, false, out);
}

ZARRPOINT_INLINE bool json_reader::too_large(const char* from, bool is_integer, node& out) {
  const std::string_view text(from, at_);
  if (keeps_text_) {
    out = node(std::string(text));
    return true;
  }
  const std::string shown = in_quotes(text.substr(0, 40));
  return is_integer ? fail(errc::out_of_range, "integer " + shown + " does not fit in 64 bits")
                    : fail(errc::corrupt, "number " + shown + " is too large for a double");
}

}}}  // namespace zarrpoint::v0::detail
