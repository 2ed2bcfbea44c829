// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/pickle_opcode.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint::inline v0::torch {

/// Writes a pickle of protocol 2, value by value: the bytes that CPython writes for the same
/// values, where no two of them are one object. The same values give the same bytes.
class pickle_writer {
 public:
  pickle_writer() {
    put(detail::pickle_op::proto);
    out_ += '\x02';
  }

  void none() { put(detail::pickle_op::none); }
  void boolean(bool value) {
    put(value ? detail::pickle_op::newtrue : detail::pickle_op::newfalse);
  }
  void integer(std::int64_t value) {
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
  void unsigned_integer(std::uint64_t value) {
    if (value <= INT64_MAX) return integer(static_cast<std::int64_t>(value));
    put_long(value, false);
  }
  void real(double value) {
    put(detail::pickle_op::binfloat);
    append(byteswap(std::bit_cast<std::uint64_t>(value)));  // big-endian
  }
  /// Errors: `invalid_argument` for text that is not UTF-8, or of 4 GiB.
  result<void> string(std::string_view text) {
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
  /// As protocol 2 says it: the result of encoding text whose characters are the bytes.
  result<void> bytes(bytes_view value) {
    std::string text;
    for (const std::byte each : value)
      append_code_point(text, static_cast<char32_t>(std::to_integer<unsigned char>(each)));
    global("_codecs", "encode");
    ZARRPOINT_CHECK(string(text));
    ZARRPOINT_CHECK(string("latin1"));
    end_tuple(2);
    reduce();
    return {};
  }

  /// A list of `count` values; `each(i)` writes one and returns a `result<void>`.
  template <std::invocable<std::size_t> F>
  result<void> list(std::size_t count, F&& each) {
    put(detail::pickle_op::empty_list), memoize();
    return fill(count, each, {detail::pickle_op::append, detail::pickle_op::appends});
  }
  /// A dict of `count` members; `each(i)` writes a key and its value.
  template <std::invocable<std::size_t> F>
  result<void> dict(std::size_t count, F&& each) {
    put(detail::pickle_op::empty_dict), memoize();
    return fill(count, each, {detail::pickle_op::setitem, detail::pickle_op::setitems});
  }
  template <std::invocable<std::size_t> F>
  result<void> tuple(std::size_t count, F&& each) {
    if (count > 3) put(detail::pickle_op::mark);
    for (std::size_t i = 0; i < count; ++i) ZARRPOINT_CHECK(each(i));
    end_tuple(count);
    return {};
  }

  /// The name of something in a module, both without line breaks.
  void global(std::string_view module, std::string_view name) {
    put(detail::pickle_op::global);
    out_.append(module).append("\n").append(name).append("\n");
    memoize();
  }
  /// Calls the global before the last value, with that as its arguments, a tuple.
  void reduce() { put(detail::pickle_op::reduce), memoize(); }
  /// Makes the last value the name of something outside the pickle.
  void persistent() { put(detail::pickle_op::binpersid); }

  /// Any value of JSON. Errors: `invalid_argument` for text that is not UTF-8, and for what is
  /// nested deeper than 100 levels.
  template <class = void>
  result<void> value(const node& from, std::size_t levels = 100) {
    if (levels == 0) return error{errc::invalid_argument, "nested deeper than 100 levels"};
    if (const bool* truth = from.if_bool()) return boolean(*truth), result<void>();
    if (const std::string* text = from.if_string()) return string(*text);
    if (const auto narrow = from.to_int64()) return integer(*narrow), result<void>();
    if (const auto wide = from.to_uint64()) return unsigned_integer(*wide), result<void>();
    if (const auto number = from.to_double()) return real(*number), result<void>();
    if (const node::array* elements = from.if_array())
      return list(elements->size(),
                  [&](std::size_t i) { return value((*elements)[i], levels - 1); });
    if (const node::object* members = from.if_object())
      return dict(members->size(), [&](std::size_t i) -> result<void> {
        ZARRPOINT_CHECK(string((*members)[i].key));
        return value((*members)[i].value, levels - 1).at((*members)[i].key);
      });
    none();
    return {};
  }

  /// The pickle, whose only value has been written.
  std::string finish() && {
    put(detail::pickle_op::stop);
    return std::move(out_);
  }

 private:
  struct fill_ops {
    detail::pickle_op one;
    detail::pickle_op many;
  };

  void put(detail::pickle_op op) { out_ += static_cast<char>(op); }
  template <std::unsigned_integral T>
  void append(T value) {
    char bytes[sizeof(T)];
    store_le<T>(reinterpret_cast<std::byte*>(bytes), value);
    out_.append(bytes, sizeof bytes);
  }
  /// The shortest two's complement.
  void put_long(std::uint64_t value, bool negative) {
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
  void memoize() {
    if (memo_ <= UINT8_MAX) {
      put(detail::pickle_op::put), append(static_cast<std::uint8_t>(memo_));
    } else {
      put(detail::pickle_op::long_put), append(memo_);
    }
    ++memo_;
  }
  void end_tuple(std::size_t count) {
    constexpr detail::pickle_op short_ones[] = {
        detail::pickle_op::empty_tuple, detail::pickle_op::tuple1, detail::pickle_op::tuple2,
        detail::pickle_op::tuple3};
    put(count <= 3 ? short_ones[count] : detail::pickle_op::tuple);
    if (count != 0) memoize();
  }
  /// In batches of 1000, as Python does.
  template <class F>
  result<void> fill(std::size_t count, F& each, const fill_ops& ops) {
    if (count == 1) {
      ZARRPOINT_CHECK(each(0));
      put(ops.one);
      return {};
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 1000 == 0) put(detail::pickle_op::mark);
      ZARRPOINT_CHECK(each(i));
      if (i % 1000 == 999 || i + 1 == count) put(ops.many);
    }
    return {};
  }

  std::string out_;
  std::uint32_t memo_ = 0;
};

/// A value of JSON as a pickle. Errors: those of `pickle_writer::value`.
template <class = void>
result<std::string> write_pickle(const node& value) {
  pickle_writer to;
  ZARRPOINT_CHECK(to.value(value));
  return std::move(to).finish();
}

}  // namespace zarrpoint::inline v0::torch
