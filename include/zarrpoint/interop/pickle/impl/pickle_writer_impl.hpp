// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/pickle/pickle_opcode.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace torch {

ZARRPOINT_INLINE pickle_writer::pickle_writer() {
  put(detail::pickle_op::proto);
  out_ += '\x02';
}

ZARRPOINT_INLINE void pickle_writer::boolean(bool value) {
  put(value ? detail::pickle_op::newtrue : detail::pickle_op::newfalse);
}

ZARRPOINT_INLINE void pickle_writer::integer(std::int64_t value) {
  if (value >= 0 && value <= UINT8_MAX) {
    put(detail::pickle_op::binint1), append(static_cast<std::uint8_t>(value));
  } else if (value >= 0 && value <= UINT16_MAX) {
    put(detail::pickle_op::binint2), append(static_cast<std::uint16_t>(value));
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    put(detail::pickle_op::binint), append(static_cast<std::uint32_t>(value));
  } else {
    put_long(static_cast<std::uint64_t>(value), value < 0);
  }
}

ZARRPOINT_INLINE void pickle_writer::unsigned_integer(std::uint64_t value) {
  if (value <= INT64_MAX) return integer(static_cast<std::int64_t>(value));
  put_long(value, false);
}

ZARRPOINT_INLINE void pickle_writer::real(double value) {
  put(detail::pickle_op::binfloat);
  append(byteswap(std::bit_cast<std::uint64_t>(value)));  // big-endian
}

ZARRPOINT_INLINE result<void> pickle_writer::string(std::string_view text) {
  if (!is_utf8(text))
    return error{errc::invalid_argument,
                 "text " + zarrpoint::detail::in_quotes(text) + " is not UTF-8"};
  if (text.size() > UINT32_MAX) return error{errc::invalid_argument, "text of 4 GiB"};
  put(detail::pickle_op::binunicode);
  append(static_cast<std::uint32_t>(text.size()));
  out_ += text;
  memoize();
  return {};
}

ZARRPOINT_INLINE result<void> pickle_writer::bytes(bytes_view value) {
  std::string text;
  for (const std::byte each : value)
    zarrpoint::detail::append_code_point(
        text, static_cast<char32_t>(std::to_integer<unsigned char>(each)));
  global("_codecs", "encode");
  ZARRPOINT_CHECK(string(text));
  ZARRPOINT_CHECK(string("latin1"));
  end_tuple(2);
  reduce();
  return {};
}

ZARRPOINT_INLINE void pickle_writer::global(std::string_view module, std::string_view name) {
  put(detail::pickle_op::global);
  out_.append(module).append("\n").append(name).append("\n");
  memoize();
}

ZARRPOINT_INLINE void pickle_writer::object() {
  put(detail::pickle_op::empty_tuple);
  put(detail::pickle_op::newobj);
  memoize();
}

ZARRPOINT_INLINE void pickle_writer::again(std::uint32_t place) {
  if (place <= UINT8_MAX) {
    put(detail::pickle_op::get), append(static_cast<std::uint8_t>(place));
  } else {
    put(detail::pickle_op::long_get), append(place);
  }
}

ZARRPOINT_INLINE result<void> pickle_writer::value(const node& from, std::size_t levels) {
  if (levels == 0) return error{errc::invalid_argument, "nested deeper than 100 levels"};
  if (const bool* truth = from.if_bool()) return boolean(*truth), result<void>();
  if (const std::string* text = from.if_string()) return string(*text);
  if (const auto narrow = from.to_int64()) return integer(*narrow), result<void>();
  if (const auto wide = from.to_uint64()) return unsigned_integer(*wide), result<void>();
  if (const auto number = from.to_double()) return real(*number), result<void>();
  if (const node::array* elements = from.if_array())
    return list(elements->size(), [&](std::size_t i) { return value((*elements)[i], levels - 1); });
  if (const node::object* members = from.if_object())
    return dict(members->size(), [&](std::size_t i) -> result<void> {
      ZARRPOINT_CHECK(string((*members)[i].key));
      return value((*members)[i].value, levels - 1).at((*members)[i].key);
    });
  none();
  return {};
}

ZARRPOINT_INLINE std::string pickle_writer::finish() && {
  put(detail::pickle_op::stop);
  return std::move(out_);
}

ZARRPOINT_INLINE void pickle_writer::put_long(std::uint64_t value, bool negative) {
  std::string digits;
  const std::uint64_t rest = negative ? ~std::uint64_t{0} : 0;
  for (std::uint64_t left = value; left != rest && digits.size() < 8;) {
    digits += static_cast<char>(static_cast<unsigned char>(left & 0xff));
    left = left >> 8 | (negative ? std::uint64_t{0xff} << 56 : 0);
  }
  const bool has_sign = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U);
  if (has_sign != negative) digits += negative ? '\xff' : '\0';
  put(detail::pickle_op::long1);
  out_ += static_cast<char>(digits.size());
  out_ += digits;
}

ZARRPOINT_INLINE void pickle_writer::memoize() {
  if (memo_ <= UINT8_MAX) {
    put(detail::pickle_op::put), append(static_cast<std::uint8_t>(memo_));
  } else {
    put(detail::pickle_op::long_put), append(memo_);
  }
  ++memo_;
}

ZARRPOINT_INLINE void pickle_writer::end_tuple(std::size_t count) {
  constexpr detail::pickle_op short_ones[] = {detail::pickle_op::empty_tuple,
                                              detail::pickle_op::tuple1, detail::pickle_op::tuple2,
                                              detail::pickle_op::tuple3};
  put(count <= 3 ? short_ones[count] : detail::pickle_op::tuple);
  if (count != 0) memoize();
}

ZARRPOINT_INLINE result<std::string> write_pickle(const node& value) {
  pickle_writer to;
  ZARRPOINT_CHECK(to.value(value));
  return std::move(to).finish();
}

}}}  // namespace zarrpoint::v0::torch
