// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/json_builder.hpp>
#include <zarrpoint/zarr/json_reader.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

namespace detail {

ZARRPOINT_INLINE json_reader::json_reader(std::string_view text, const json_limits& limits,
                                          json_member* wanted)
    : at_(text.data()),
      end_(at_ + text.size()),
      levels_left_(std::min(limits.max_depth, most_levels)),
      values_left_(limits.node_limit()),
      wanted_(wanted) {}

ZARRPOINT_INLINE bool json_reader::read(node& out) {
  if (!read_value(out, wanted_ != nullptr ? 0 : no_path)) return false;
  skip_space();
  if (at_ != end_) return false;
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

ZARRPOINT_INLINE bool json_reader::read_string(std::string& out) {
  if (at_ == end_ || *at_ != '"') return false;
  const std::size_t before = out.size();
  const char* from = ++at_;
  unsigned bits = 0;
  for (; at_ != end_ && *at_ != '"'; ++at_) {
    const auto c = static_cast<unsigned char>(*at_);
    if (c < 0x20) return false;
    bits |= c;
    if (c != '\\') continue;
    out.append(from, at_);
    char meant = 0;
    if (++at_ == end_ || !unescape(*at_, meant)) return false;
    out += meant;
    from = at_ + 1;
  }
  if (at_ == end_) return false;
  out.append(from, at_);
  ++at_;
  return bits < 0x80 || is_utf8(std::string_view(out).substr(before));
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

ZARRPOINT_INLINE bool json_reader::read_value(node& out, std::size_t matched) {
  if (!count_values(1)) return false;
  skip_space();
  if (at_ == end_) return false;
  switch (*at_) {
    case '{':
    case '[': {
      if (!descend(1)) return false;
      const bool done = *at_++ == '{' ? read_members(out, matched) : read_elements(out);
      ascend(1);
      return done;
    }
    case '"': {
      std::string text;
      if (!read_string(text)) return false;
      out = node(std::move(text));
      return true;
    }
    case 't': out = node(true); return take_text("true");
    case 'f': out = node(false); return take_text("false");
    case 'n': out = node(); return take_text("null");
    default: return read_number(out);
  }
}

ZARRPOINT_INLINE bool json_reader::read_members(node& out, std::size_t matched) {
  const auto first = static_cast<std::ptrdiff_t>(members_.size());
  if (!take('}')) {
    do {
      std::string key;
      skip_space();
      if (!read_string(key) || !take(':')) return false;
      node value;
      const bool on_path = matched != no_path && key == wanted_->path_[matched];
      if (on_path && matched + 1 == wanted_->path_.size()) {
        skip_space();
        if (!wanted_->read(*this)) return false;
        passed_wanted_ = true;
      } else if (!read_value(value, on_path ? matched + 1 : no_path)) {
        return false;
      }
      members_.push_back({std::move(key), std::move(value)});
    } while (take(','));
    if (!take('}')) return false;
  }
  const auto begin = members_.begin() + first;
  node::object members(std::make_move_iterator(begin), std::make_move_iterator(members_.end()));
  members_.erase(begin, members_.end());
  if (json_builder::duplicate_key(members) != nullptr) return false;
  out = node(std::move(members));
  return true;
}

ZARRPOINT_INLINE bool json_reader::read_elements(node& out) {
  const auto first = static_cast<std::ptrdiff_t>(elements_.size());
  if (!take(']')) {
    do {
      node value;
      if (!read_value(value, no_path)) return false;
      elements_.push_back(std::move(value));
    } while (take(','));
    if (!take(']')) return false;
  }
  const auto begin = elements_.begin() + first;
  node::array elements(std::make_move_iterator(begin), std::make_move_iterator(elements_.end()));
  elements_.erase(begin, elements_.end());
  out = node(std::move(elements));
  return true;
}

ZARRPOINT_INLINE bool json_reader::unescape(char c, char& meant) noexcept {
  switch (c) {
    case '"':
    case '\\': meant = c; return true;
    case 'b': meant = '\b'; return true;
    case 'f': meant = '\f'; return true;
    case 'n': meant = '\n'; return true;
    case 'r': meant = '\r'; return true;
    case 't': meant = '\t'; return true;
    default: return false;
  }
}

ZARRPOINT_INLINE bool json_reader::take_digits() noexcept {
  const char* const from = at_;
  while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
  return at_ != from;
}

ZARRPOINT_INLINE bool json_reader::read_number(node& out) {
  const char* const from = at_;
  const bool negative = *at_ == '-';
  if (negative) ++at_;
  const char* const digits = at_;
  if (!take_digits() || (*digits == '0' && at_ - digits > 1)) return false;
  bool is_integer = true;
  if (at_ != end_ && *at_ == '.') {
    is_integer = false;
    ++at_;
    if (!take_digits()) return false;
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    is_integer = false;
    ++at_;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!take_digits()) return false;
  }
  if (is_integer)
    return negative ? read_integer<std::int64_t>(from, out)
                    : read_integer<std::uint64_t>(from, out);
  const std::string text(from, at_);  // ends with NUL, as the function wants it
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  // In a locale with another decimal point it stops there.
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return false;
  out = node(value);
  return true;
}

}  // namespace detail

}  // namespace zarrpoint::inline v0
