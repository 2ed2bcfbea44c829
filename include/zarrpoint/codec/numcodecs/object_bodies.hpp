// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/numcodecs/object_codecs.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------- object_codecs.hpp

ZARRPOINT_INLINE void categorize_codec::fields(configuration_fields& all) {
  state made = self_ == nullptr ? state() : *self_;
  if (!all.reads()) all.put("labels", json::array(made.labels.begin(), made.labels.end()));
  std::string type = "|O";
  all.text("dtype", type);
  if (type != "|O" && type != "O" && type != "object")
    all.fail({errc::unsupported, "categorize works on strings, not on " + detail::in_quotes(type)});
  all.text("astype", made.stored_text);
  all.check(made.read_type());
  if (!all.reads()) return;
  const json* const labels = all.find("labels");
  const json::array* const list = labels == nullptr ? nullptr : labels->if_array();
  if (list == nullptr) return all.fail("\"labels\" is not a list");
  if (list->size() > made.most)
    return all.fail(std::to_string(list->size()) + " labels are too many for " +
                    detail::in_quotes(made.stored_text));
  for (const json& label : *list) {
    const std::string* const text = label.if_string();
    if (text == nullptr) return all.fail("a label that is not a string");
    made.labels.push_back(*text);
    made.numbers[*text] = made.labels.size();
  }
  self_ = detail::make_counted<const state>(std::move(made));
}

ZARRPOINT_INLINE result<categorize_codec> categorize_codec::resolve(
    const tensor_spec& decoded) const {
  if (decoded.type == dtype_kind::string) return *this;
  return error{errc::invalid_argument,
               "elements of type " + std::string(to_string(decoded.type)) + " are not strings"};
}

ZARRPOINT_INLINE std::uint64_t categorize_codec::encoded_bound(const tensor_spec& decoded) const {
  const result<std::size_t> bytes = byte_count(decoded.shape, self_->size);
  return bytes ? *bytes : UINT64_MAX;
}

ZARRPOINT_INLINE result<std::size_t> categorize_codec::encode(const host_view& from,
                                                              mutable_bytes to,
                                                              codec_workspace&) const {
  std::size_t done = 0;
  ZARRPOINT_CHECK(detail::for_each_string<const std::string>(
      from, [&](const std::string& text) -> result<void> {
        if (to.size() - done < self_->size)
          return error{errc::out_of_range, "the output does not fit"};
        const auto found = self_->numbers.find(text);
        if (found == self_->numbers.end() && !text.empty())
          return error{errc::invalid_argument, detail::in_quotes(text) + " is not a label"};
        store(to.data() + done, found == self_->numbers.end() ? 0 : found->second);
        done += self_->size;
        return {};
      }));
  return done;
}

ZARRPOINT_INLINE result<void> categorize_codec::decode(bytes_view stored,
                                                       const mutable_host_view& into,
                                                       codec_workspace& scratch) const {
  const std::uint64_t expected = encoded_bound(into.spec());
  if (stored.size() != expected)
    return error{errc::corrupt, std::to_string(stored.size()) + " bytes where " +
                                    to_string(into.spec()) + " has " + std::to_string(expected)};
  return detail::for_each_string<std::string>(into, [&](std::string& text) -> result<void> {
    const std::uint64_t number = load(stored.data());
    stored = stored.subspan(self_->size);
    if (number > self_->labels.size())
      return error{errc::corrupt, "category " + std::to_string(number) + "; there are only " +
                                      std::to_string(self_->labels.size())};
    const std::string_view label =
        number == 0 ? std::string_view() : std::string_view(self_->labels[number - 1]);
    ZARRPOINT_CHECK(scratch.charge_text(label.size()));
    text = label;
    return {};
  });
}

ZARRPOINT_INLINE result<void> categorize_codec::state::read_type() {
  std::string_view rest = stored_text;
  is_big = rest.starts_with('>');
  dtype type;
  if (const auto named = parse_dtype(rest)) {
    type = *named;
  } else {
    if (is_big || rest.starts_with('<') || rest.starts_with('|')) rest.remove_prefix(1);
    for (const dtype_kind kind :
         {dtype_kind::int8, dtype_kind::int16, dtype_kind::int32, dtype_kind::int64,
          dtype_kind::uint8, dtype_kind::uint16, dtype_kind::uint32, dtype_kind::uint64}) {
      const dtype one(kind);
      const char digits[] = {one.is_signed_integer() ? 'i' : 'u',
                             static_cast<char>('0' + one.size())};
      if (rest == std::string_view(digits, 2)) type = one;
    }
  }
  if (!type.is_integer() || type.is_below_byte())
    return error{errc::unsupported,
                 "categories cannot be stored as " + detail::in_quotes(stored_text)};
  size = type.size();
  most = UINT64_MAX >> (64 - 8 * size + (type.is_signed_integer() ? 1 : 0));
  return {};
}

ZARRPOINT_INLINE std::uint64_t categorize_codec::load(const std::byte* from) const {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < self_->size; ++i) {
    const std::size_t at = self_->is_big ? i : self_->size - 1 - i;
    out = out << 8 | std::to_integer<std::uint64_t>(from[at]);
  }
  return out;
}

ZARRPOINT_INLINE void categorize_codec::store(std::byte* to, std::uint64_t number) const {
  for (std::size_t i = 0; i < self_->size; ++i, number >>= 8) {
    const std::size_t at = self_->is_big ? self_->size - 1 - i : i;
    to[at] = static_cast<std::byte>(number & 255);
  }
}

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
    if (special != '\\') return error{errc::corrupt, "a string has a control character"};
    ZARRPOINT_CHECK(escape(into));
  }
}

ZARRPOINT_INLINE result<std::uint64_t> json_rows_reader::number() {
  skip_space();
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(from_.data(), from_.data() + from_.size(), value);
  if (status != std::errc()) return error{errc::corrupt, "a number is expected"};
  from_.remove_prefix(static_cast<std::size_t>(end - from_.data()));
  return value;
}

ZARRPOINT_INLINE result<void> json_rows_reader::finish() {
  skip_space();
  if (from_.empty()) return {};
  return error{errc::corrupt, std::to_string(from_.size()) + " bytes follow the list"};
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
  if (name == nullptr) return error{errc::corrupt, "a value is expected"};
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
  if (c != 'u') return error{errc::corrupt, "an escape in a string is unknown"};
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
    return error{errc::corrupt, "an escape in a string is unknown"};
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

ZARRPOINT_INLINE void json2_codec::fields(configuration_fields& all) {
  std::string encoding = "utf-8";
  all.text("encoding", encoding);
  if (encoding != "utf-8" && encoding != "utf8" && encoding != "ascii")
    all.fail(
        {errc::unsupported, "JSON in " + detail::in_quotes(encoding) + " is not read; UTF-8 is"});
  all.boolean("ensure_ascii", ensure_ascii);
  all.boolean("strict", strict);
  for (const char* const of_writer :
       {"allow_nan", "check_circular", "indent", "separators", "skipkeys", "sort_keys"})
    all.find(of_writer);
}

namespace detail {

ZARRPOINT_INLINE result<void> msgpack_reader::begin_list(index_t size) {
  ZARRPOINT_TRY(mark, take(1));
  std::uint64_t found = mark & 15;
  if (mark == 0xdc || mark == 0xdd) {
    ZARRPOINT_TRY(length, take(mark == 0xdc ? 2 : 4));
    found = length;
  } else if (mark >> 4 != 9) {
    return other(mark, "a list");
  }
  if (found == static_cast<std::uint64_t>(size)) return {};
  return error{errc::corrupt, "a list of " + std::to_string(found) + " items where " +
                                  std::to_string(size) + " are expected"};
}

ZARRPOINT_INLINE result<void> msgpack_reader::text(std::string& into) {
  ZARRPOINT_TRY(mark, take(1));
  std::uint64_t size = 0;
  if (mark >> 5 == 5) {
    size = mark & 31;
  } else if (mark >= 0xd9 && mark <= 0xdb) {
    ZARRPOINT_TRY(length, take(std::size_t{1} << (mark - 0xd9)));
    size = length;
  } else if (mark != 0xc0 && mark != 0) {
    return other(mark, "a string");
  }
  if (size > from_.size()) return cut_short();
  into.assign(as_text(from_.first(static_cast<std::size_t>(size))));
  from_ = from_.subspan(static_cast<std::size_t>(size));
  return {};
}

ZARRPOINT_INLINE result<std::uint64_t> msgpack_reader::number() {
  ZARRPOINT_TRY(mark, take(1));
  if (mark < 0x80) return std::uint64_t{mark};
  if (mark >= 0xcc && mark <= 0xcf) return take(std::size_t{1} << (mark - 0xcc));
  return other(mark, "a number");
}

ZARRPOINT_INLINE result<void> msgpack_reader::finish() const {
  if (from_.empty()) return {};
  return error{errc::corrupt, std::to_string(from_.size()) + " bytes follow the list"};
}

ZARRPOINT_INLINE result<std::uint64_t> msgpack_reader::take(std::size_t size) {
  if (from_.size() < size) return cut_short();
  std::uint64_t out = 0;
  for (const std::byte one : from_.first(size))
    out = out << 8 | std::to_integer<std::uint64_t>(one);
  from_ = from_.subspan(size);
  return out;
}

ZARRPOINT_INLINE error msgpack_reader::other(std::uint64_t mark, std::string_view expected) {
  struct range {
    unsigned last;
    const char* name;
  };
  constexpr range ranges[] = {{0x7f, "a number"}, {0x8f, "a map"},        {0x9f, "a list"},
                              {0xbf, "a string"}, {0xc0, "null"},         {0xc1, "an unused mark"},
                              {0xc3, "a bool"},   {0xc6, "bytes"},        {0xc9, "an extension"},
                              {0xd3, "a number"}, {0xd8, "an extension"}, {0xdb, "a string"},
                              {0xdd, "a list"},   {0xdf, "a map"},        {0xff, "a number"}};
  const auto* const found = std::find_if(std::begin(ranges), std::end(ranges),
                                         [&](const range& one) { return mark <= one.last; });
  const bool is_structure = expected != "a string" || mark == 0xc1;
  return {is_structure ? errc::corrupt : errc::unsupported,
          std::string(found->name).append(" where ").append(expected) + " is expected"};
}

ZARRPOINT_INLINE void msgpack_writer::begin_list(index_t size) {
  const auto count = static_cast<std::uint64_t>(size);
  if (count < 16) return mark(0x90 + count, 0, 0);
  if (count <= UINT16_MAX) return mark(0xdc, count, 2);
  mark(0xdd, count, 4);
}

ZARRPOINT_INLINE void msgpack_writer::text(std::string_view text) {
  const std::uint64_t size = text.size();
  if (size < 32) {
    mark(0xa0 + size, 0, 0);
  } else if (size <= UINT8_MAX && short_) {
    mark(0xd9, size, 1);
  } else if (size <= UINT16_MAX) {
    mark(0xda, size, 2);
  } else {
    mark(0xdb, size, 4);
  }
  to_.put(text);
}

ZARRPOINT_INLINE void msgpack_writer::number(std::uint64_t value) {
  if (value < 0x80) return mark(value, 0, 0);
  if (value <= UINT8_MAX) return mark(0xcc, value, 1);
  if (value <= UINT16_MAX) return mark(0xcd, value, 2);
  if (value <= UINT32_MAX) return mark(0xce, value, 4);
  mark(0xcf, value, 8);
}

ZARRPOINT_INLINE void msgpack_writer::mark(std::uint64_t first, std::uint64_t value,
                                           unsigned size) {
  to_.put(static_cast<char>(first));
  while (size-- > 0) to_.put(static_cast<char>(value >> 8 * size & 255));
}

}  // namespace detail

ZARRPOINT_INLINE void msgpack2_codec::fields(configuration_fields& all) {
  all.boolean("raw", raw);
  all.boolean("use_bin_type", use_bin_type);
  all.boolean("use_single_float", use_single_float);
}

namespace detail {

/// The bytes of an item of a NumPy type of numbers, `<f4` or `float32`.
ZARRPOINT_INLINE std::optional<std::size_t> numpy_item_size(std::string_view text) {
  if (const auto named = parse_dtype(text); named && named->is_number()) return named->size();
  if (text.starts_with('<') || text.starts_with('>') || text.starts_with('|'))
    text.remove_prefix(1);
  if (text.size() != 2 && text.size() != 3) return std::nullopt;
  const std::pair<char, std::string_view> sizes[] = {
      {'b', "1"}, {'i', "1248"}, {'u', "1248"}, {'f', "248"}, {'c', "8"}};
  for (const auto& [kind, digits] : sizes) {
    if (text[0] != kind) continue;
    if (text.size() == 2 && digits.find(text[1]) != std::string_view::npos)
      return static_cast<std::size_t>(text[1] - '0');
    if (kind == 'c' && text == "c16") return 16;
  }
  return std::nullopt;
}

}  // namespace detail

ZARRPOINT_INLINE void vlen_array_codec::fields(configuration_fields& all) {
  all.need("dtype");
  all.text("dtype", type);
  const std::optional<std::size_t> size = detail::numpy_item_size(type);
  if (!size) all.fail({errc::unsupported, "cannot hold vectors of " + detail::in_quotes(type)});
  item_size = size.value_or(1);
}

ZARRPOINT_INLINE const char* vlen_array_codec::check(std::string_view bytes) const {
  return bytes.size() % item_size == 0 ? nullptr : "a vector is not a whole number of items";
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#endif
