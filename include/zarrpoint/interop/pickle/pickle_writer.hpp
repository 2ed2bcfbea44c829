// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/pickle/pickle_opcode.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// Writes a pickle of protocol 2, value by value: the bytes that CPython writes for the same
/// values, where no two of them are one object. The same values give the same bytes.
class pickle_writer {
 public:
  pickle_writer();

  void none() { put(detail::pickle_op::none); }
  void boolean(bool value) {
    put(value ? detail::pickle_op::newtrue : detail::pickle_op::newfalse);
  }
  void integer(std::int64_t value);
  void unsigned_integer(std::uint64_t value);
  void real(double value);
  /// Errors: `invalid_argument` for text that is not UTF-8, or of 4 GiB.
  result<void> string(std::string_view text);
  /// As protocol 2 says it: the result of encoding text whose characters are the bytes.
  result<void> bytes(bytes_view value);

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
  void global(std::string_view module, std::string_view name);
  /// Calls the global before the last value, with that as its arguments, a tuple.
  void reduce() { put(detail::pickle_op::reduce), memoize(); }
  /// Makes the last value the name of something outside the pickle.
  void persistent() { put(detail::pickle_op::binpersid); }

  /// An object of the class that is the last value, made without its constructor.
  void object();
  /// Gives the object before the last value that value as its state.
  void build() { put(detail::pickle_op::build); }

  /// The place in the memo of what was written last. It is there if that is a text, a global, a
  /// result of `reduce` or an object, or a tuple that is not empty.
  std::uint32_t place() const noexcept { return memo_ - 1; }
  /// The value at a place once more: Python makes one object of both.
  void again(std::uint32_t place);

  /// Any value of JSON. Errors: `invalid_argument` for text that is not UTF-8, and for what is
  /// nested deeper than 100 levels.
  result<void> value(const json& from, std::size_t levels = 100);

  /// The pickle, whose only value has been written.
  std::string finish() &&;

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
  void put_long(std::uint64_t value, bool negative);
  void memoize();
  void end_tuple(std::size_t count);
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
result<std::string> write_pickle(const json& value);

}}}  // namespace zarrpoint::v0::torch
