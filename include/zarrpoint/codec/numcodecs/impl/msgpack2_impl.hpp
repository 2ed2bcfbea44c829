// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/numcodecs/msgpack2.hpp>
#include <zarrpoint/codec/numcodecs/object_rows.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

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
  return error{errc::corrupt, std::to_string(from_.size()) + " bytes after the list"};
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

ZARRPOINT_INLINE result<msgpack2_codec> msgpack2_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration,
                                                   {"use_single_float", "use_bin_type", "raw"}));
  ZARRPOINT_TRY(single, reader.boolean("use_single_float"));
  ZARRPOINT_TRY(bin, reader.boolean("use_bin_type"));
  ZARRPOINT_TRY(raw, reader.boolean("raw"));
  msgpack2_codec out;
  out.use_single_float = single.value_or(false);
  out.use_bin_type = bin.value_or(true);
  out.raw = raw.value_or(false);
  return out;
}

ZARRPOINT_INLINE node msgpack2_codec::configuration() const {
  return node::object{
      {"raw", raw}, {"use_bin_type", use_bin_type}, {"use_single_float", use_single_float}};
}

}}  // namespace zarrpoint::v0
