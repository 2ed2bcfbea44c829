// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_input.hpp>
#include <zarrpoint/interop/pickle/pickle_opcode.hpp>
#include <zarrpoint/interop/pickle/pickle_stack.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch { namespace detail {

class pickle_reader {
 public:
  pickle_reader(bytes_view bytes, const pickle_limits& limits) : in_(bytes), limits_(limits) {}

  result<pickle_value> read() {
    ZARRPOINT_TRY(out, read_first());
    if (in_.size() != 0) return broken_pickle("bytes follow its end");
    return std::move(out);
  }

  bool is_short() const noexcept { return in_.is_short(); }
  /// Bytes that nobody has read.
  std::size_t rest() const noexcept { return in_.size(); }

  result<pickle_value> read_first() {
    const std::size_t size = in_.size();
    if (size > limits_.max_bytes)
      return error{errc::resource_limit, "its " + std::to_string(size) +
                                             " bytes are more than the limit of " +
                                             std::to_string(limits_.max_bytes)};
    ZARRPOINT_CHECK(read_protocol());
    // Few opcodes make more than one value.
    stack_.reserve(std::min(in_.size(), limits_.max_values));
    for (;;) {
      ZARRPOINT_TRY(op, in_.number<std::uint8_t>());
      if (static_cast<pickle_op>(op) == pickle_op::stop) break;
      if (auto done = step(static_cast<pickle_op>(op)); !done)
        return std::move(done).failure().at("at byte " + std::to_string(size - in_.size()));
      if (stack_.size() > limits_.max_values)
        return error{errc::resource_limit,
                     "more than " + std::to_string(limits_.max_values) + " values"};
    }
    return stack_.finish();
  }

 private:
  result<void> read_protocol() {
    const auto begins = [&]() -> result<bool> {
      ZARRPOINT_TRY(op, in_.number<std::uint8_t>());
      ZARRPOINT_TRY(protocol, in_.number<std::uint8_t>());
      protocol_ = protocol;
      return static_cast<pickle_op>(op) == pickle_op::proto;
    };
    if (!begins().value_or(false))
      return error{errc::unsupported, "it is not a pickle of protocol 2 to 5"};
    if (protocol_ < 2 || protocol_ > 5)
      return error{errc::unsupported, "pickle protocol " + std::to_string(protocol_)};
    return {};
  }

  // Values.
  result<void> push_integer(std::int64_t value) {
    return stack_.push({.kind = pickle_kind::integer, .number = static_cast<std::uint64_t>(value)});
  }
  result<void> push_long(bytes_view digits) {
    // Bytes that only repeat the sign say nothing.
    while (digits.size() > 8) {
      const auto last = static_cast<unsigned>(digits.back());
      const bool below = (static_cast<unsigned>(digits[digits.size() - 2]) & 0x80U) != 0;
      if (!(last == 0 && !below) && !(last == 0xff && below)) break;
      digits = digits.first(digits.size() - 1);
    }
    if (digits.size() > 8) return stack_.push(pickle_kind::integer, std::string(as_text(digits)));
    const bool negative = !digits.empty() && (static_cast<unsigned>(digits.back()) & 0x80U) != 0;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;)
      value = value << 8 | static_cast<std::uint64_t>(digits[i]);
    return push_integer(static_cast<std::int64_t>(value));
  }
  result<void> push_text(pickle_kind kind, const result<bytes_view>& bytes) {
    if (!bytes) return bytes.failure();
    if (kind == pickle_kind::string && !is_utf8(as_text(*bytes)))
      return broken_pickle("text that is not UTF-8");
    return stack_.push(kind, std::string(as_text(*bytes)));
  }
  /// Strings of Python 2 are text or bytes: nobody knows.
  result<void> push_old_string(const result<bytes_view>& bytes) {
    return push_text(bytes && is_utf8(as_text(*bytes)) ? pickle_kind::string : pickle_kind::bytes,
                     bytes);
  }
  result<void> push_global(std::string_view module, std::string_view name) {
    if (!is_utf8(module) || !is_utf8(name) || module.find('\n') != module.npos)
      return broken_pickle("the name of a class is not valid");
    if (protocol_ < 3 && module == "copy_reg") module = "copyreg";
    if (protocol_ < 3 && module == "__builtin__") {
      module = "builtins";
      if (name == "long") name = "int";
      if (name == "unicode") name = "str";
      if (name == "xrange") name = "range";
    }
    std::string text(module);
    return stack_.push(pickle_kind::global, std::move(text.append("\n").append(name)));
  }
  result<void> push_group(pickle_kind kind, result<std::vector<pickle_index>> elements) {
    if (!elements) return std::move(elements).failure();
    if (kind == pickle_kind::tuple && elements->empty()) return stack_.push(pickle_empty_tuple);
    if (kind == pickle_kind::dict && elements->size() % 2 != 0)
      return broken_pickle("a key has no value");
    return stack_.push(kind, *std::move(elements));
  }
  result<void> push_tuple(std::size_t size) {
    if (size > 2) {
      std::vector<pickle_index> elements(size);
      for (std::size_t i = size; i-- > 0;) {
        ZARRPOINT_TRY(one, stack_.pop());
        elements[i] = one;
      }
      return push_group(pickle_kind::tuple, std::move(elements));
    }
    pickle_item out{.kind = pickle_kind::tuple, .few = static_cast<std::uint8_t>(size)};
    for (std::size_t i = size; i-- > 0;) {
      ZARRPOINT_TRY(one, stack_.pop());
      out.number = out.number << 32 | one;
    }
    return stack_.push(std::move(out));
  }
  /// Notes what would be called; `arguments` must be a tuple.
  result<void> push_call(pickle_call call) {
    if (stack_.item(call.arguments).kind != pickle_kind::tuple)
      return broken_pickle("the arguments of a call are not a tuple");
    if (call.keywords != pickle_none && stack_.item(call.keywords).kind != pickle_kind::dict)
      return broken_pickle("the keywords of a call are not a dict");
    pickle_item out{.kind = pickle_kind::call};
    out.make_body().call = std::make_unique<pickle_call>(std::move(call));
    return stack_.push(std::move(out));
  }
  result<void> read_call(pickle_op op) {
    pickle_call out;
    if (op == pickle_op::newobj_ex) {
      ZARRPOINT_TRY(keywords, stack_.pop());
      out.keywords = keywords;
    }
    ZARRPOINT_TRY(arguments, stack_.pop());
    ZARRPOINT_TRY(callable, stack_.pop());
    out.arguments = arguments;
    out.callable = callable;
    return push_call(std::move(out));
  }
  /// The class is named in the opcode's own lines, or lies beneath the arguments.
  result<void> read_inst() {
    ZARRPOINT_TRY(module, in_.line());
    ZARRPOINT_TRY(name, in_.line());
    ZARRPOINT_TRY(arguments, stack_.pop_mark());
    ZARRPOINT_CHECK(push_global(module, name));
    ZARRPOINT_TRY(callable, stack_.pop());
    arguments.insert(arguments.begin(), callable);
    return call_of(std::move(arguments));
  }
  result<void> read_obj() {
    ZARRPOINT_TRY(parts, stack_.pop_mark());
    return call_of(std::move(parts));
  }
  result<void> call_of(std::vector<pickle_index> parts) {
    if (parts.empty()) return broken_pickle("a call has no class");
    pickle_call out;
    out.callable = parts.front();
    parts.erase(parts.begin());
    ZARRPOINT_CHECK(push_group(pickle_kind::tuple, std::move(parts)));
    ZARRPOINT_TRY(arguments, stack_.pop());
    out.arguments = arguments;
    return push_call(std::move(out));
  }

  // What is added to a value beneath.
  result<void> add(const std::vector<pickle_index>& more, pickle_kind kind) {
    ZARRPOINT_TRY(at, stack_.top());
    pickle_item& target = stack_.item(at);
    const bool are_members = kind == pickle_kind::dict;
    if (are_members && more.size() % 2 != 0) return broken_pickle("a key has no value");
    std::vector<pickle_index>* into = nullptr;
    if (target.kind == pickle_kind::call) {
      pickle_body& body = target.make_body();
      into = are_members ? &body.call->members : &body.elements;
    } else if (target.kind == kind) {
      into = &target.make_body().elements;
    }
    if (into == nullptr) return broken_pickle("it adds an item to a value that is not a container");
    into->insert(into->end(), more.begin(), more.end());
    return {};
  }
  result<void> add_one(pickle_kind kind) {
    std::vector<pickle_index> more(kind == pickle_kind::dict ? 2 : 1);
    for (std::size_t i = more.size(); i-- > 0;) {
      ZARRPOINT_TRY(one, stack_.pop());
      more[i] = one;
    }
    return add(more, kind);
  }
  result<void> add_marked(pickle_kind kind) {
    ZARRPOINT_TRY(more, stack_.pop_mark());
    return add(more, kind);
  }
  result<void> build() {
    ZARRPOINT_TRY(state, stack_.pop());
    ZARRPOINT_TRY(at, stack_.top());
    if (stack_.item(at).kind != pickle_kind::call)
      return broken_pickle("it sets the state of a value that cannot have one");
    stack_.item(at).own->call->states.push_back(state);
    return {};
  }

  template <class T>
  result<void> put() {
    ZARRPOINT_TRY(index, in_.number<T>());
    return stack_.put(index);
  }
  template <class T>
  result<void> get() {
    ZARRPOINT_TRY(index, in_.number<T>());
    return stack_.get(index);
  }

  result<void> stack_global() {
    ZARRPOINT_TRY(name, stack_.pop());
    ZARRPOINT_TRY(module, stack_.pop());
    if (stack_.item(name).kind != pickle_kind::string ||
        stack_.item(module).kind != pickle_kind::string)
      return broken_pickle("a name that is not text");
    return push_global(std::string(stack_.item(module).body().text),
                       std::string(stack_.item(name).body().text));
  }
  result<void> persistent() {
    ZARRPOINT_TRY(id, stack_.pop());
    return stack_.push(pickle_kind::persistent, std::vector<pickle_index>{id});
  }
  result<void> frame() {
    ZARRPOINT_TRY(size, in_.number<std::uint64_t>());
    if (!in_.has(size)) return broken_pickle("a frame is longer than the pickle");
    return {};
  }
  result<void> long4() {
    ZARRPOINT_TRY(size, in_.number<std::uint32_t>());
    if (size > 0x7fffffffU) return broken_pickle("an integer of a negative size");
    ZARRPOINT_TRY(digits, in_.take(size));
    return push_long(digits);
  }
  result<void> real() {
    ZARRPOINT_TRY(bits, in_.number<std::uint64_t>());
    return stack_.push({.kind = pickle_kind::real, .number = byteswap(bits)});  // big-endian
  }

  result<void> step(pickle_op op) {
    switch (op) {
      case pickle_op::mark: return stack_.mark(), result<void>();
      case pickle_op::pop: return stack_.drop();
      case pickle_op::pop_mark: ZARRPOINT_CHECK(stack_.pop_mark()); return {};
      case pickle_op::dup:
        return stack_.top().and_then([this](pickle_index at) { return stack_.push(at); });
      case pickle_op::none: return stack_.push(pickle_none);
      case pickle_op::newtrue: return stack_.push(pickle_true);
      case pickle_op::newfalse: return stack_.push(pickle_false);
      case pickle_op::binint1: return integer<std::uint8_t>();
      case pickle_op::binint2: return integer<std::uint16_t>();
      case pickle_op::binint: return integer<std::uint32_t>();
      case pickle_op::long1: {
        ZARRPOINT_TRY(digits, in_.sized<std::uint8_t>());
        return push_long(digits);
      }
      case pickle_op::long4: return long4();
      case pickle_op::binfloat: return real();
      case pickle_op::binunicode: return push_text(pickle_kind::string, in_.sized<std::uint32_t>());
      case pickle_op::short_binunicode:
        return push_text(pickle_kind::string, in_.sized<std::uint8_t>());
      case pickle_op::binunicode8:
        return push_text(pickle_kind::string, in_.sized<std::uint64_t>());
      case pickle_op::binstring: return push_old_string(in_.sized<std::uint32_t>());
      case pickle_op::short_binstring: return push_old_string(in_.sized<std::uint8_t>());
      case pickle_op::binbytes: return push_text(pickle_kind::bytes, in_.sized<std::uint32_t>());
      case pickle_op::short_binbytes:
        return push_text(pickle_kind::bytes, in_.sized<std::uint8_t>());
      case pickle_op::binbytes8:
      case pickle_op::bytearray8: return push_text(pickle_kind::bytes, in_.sized<std::uint64_t>());
      case pickle_op::empty_list: return stack_.push({.kind = pickle_kind::list});
      case pickle_op::empty_dict: return stack_.push({.kind = pickle_kind::dict});
      case pickle_op::empty_set: return stack_.push({.kind = pickle_kind::set});
      case pickle_op::empty_tuple: return stack_.push(pickle_empty_tuple);
      case pickle_op::tuple1: return push_tuple(1);
      case pickle_op::tuple2: return push_tuple(2);
      case pickle_op::tuple3: return push_tuple(3);
      case pickle_op::tuple: return push_group(pickle_kind::tuple, stack_.pop_mark());
      case pickle_op::list: return push_group(pickle_kind::list, stack_.pop_mark());
      case pickle_op::dict: return push_group(pickle_kind::dict, stack_.pop_mark());
      case pickle_op::frozenset: return push_group(pickle_kind::set, stack_.pop_mark());
      case pickle_op::append: return add_one(pickle_kind::list);
      case pickle_op::setitem: return add_one(pickle_kind::dict);
      case pickle_op::appends: return add_marked(pickle_kind::list);
      case pickle_op::setitems: return add_marked(pickle_kind::dict);
      case pickle_op::additems: return add_marked(pickle_kind::set);
      case pickle_op::global: {
        ZARRPOINT_TRY(module, in_.line());
        ZARRPOINT_TRY(name, in_.line());
        return push_global(module, name);
      }
      case pickle_op::stack_global: return stack_global();
      case pickle_op::reduce:
      case pickle_op::newobj:
      case pickle_op::newobj_ex: return read_call(op);
      case pickle_op::obj: return read_obj();
      case pickle_op::inst: return read_inst();
      case pickle_op::build: return build();
      case pickle_op::binpersid: return persistent();
      case pickle_op::put: return put<std::uint8_t>();
      case pickle_op::long_put: return put<std::uint32_t>();
      case pickle_op::memoize:
        // Older protocols say each place, so that a part can be taken out: no pickle mixes the two.
        if (protocol_ < 4) break;
        return stack_.put(stack_.memo_size());
      case pickle_op::get: return get<std::uint8_t>();
      case pickle_op::long_get: return get<std::uint32_t>();
      case pickle_op::frame: return frame();
      case pickle_op::proto:
      case pickle_op::stop: break;
    }
    return error{errc::unsupported, "opcode " + std::to_string(static_cast<unsigned>(op))};
  }
  template <class T>
  result<void> integer() {
    ZARRPOINT_TRY(value, in_.number<T>());
    if constexpr (sizeof(T) == 4) return push_integer(static_cast<std::int32_t>(value));
    return push_integer(static_cast<std::int64_t>(value));
  }

  pickle_input in_;
  pickle_limits limits_;
  unsigned protocol_ = 2;
  pickle_stack stack_;
};

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<pickle_value> read_pickle(bytes_view bytes, const pickle_limits& limits) {
  return guarded([&] { return detail::pickle_reader(bytes, limits).read(); }).at("pickle");
}

ZARRPOINT_INLINE result<std::optional<first_pickle>> read_first_pickle(
    bytes_view bytes, const pickle_limits& limits) {
  return guarded([&]() -> result<std::optional<first_pickle>> {
           detail::pickle_reader reader(bytes, limits);
           auto made = reader.read_first();
           if (!made && reader.is_short()) return std::optional<first_pickle>();
           if (!made) return std::move(made).failure();
           return std::optional(first_pickle{*std::move(made), bytes.size() - reader.rest()});
         })
      .at("pickle");
}

}  // namespace torch

}}  // namespace zarrpoint::v0
