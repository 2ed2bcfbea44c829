// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_opcode.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace torch { namespace detail {

template <class = void>
class pickle_reader {
 public:
  pickle_reader(bytes_view bytes, const pickle_limits& limits) : rest_(bytes), limits_(limits) {}

  result<pickle_value> read() {
    if (rest_.size() > limits_.max_bytes)
      return error{errc::resource_limit, "its " + std::to_string(rest_.size()) +
                                             " bytes are more than the limit of " +
                                             std::to_string(limits_.max_bytes)};
    const std::size_t size = rest_.size();
    if (rest_.size() < 2 || rest_[0] != static_cast<std::byte>(pickle_op::proto))
      return error{errc::unsupported, "it is not a pickle of protocol 2 to 5"};
    protocol_ = static_cast<unsigned>(rest_[1]);
    if (protocol_ < 2 || protocol_ > 5)
      return error{errc::unsupported, "pickle protocol " + std::to_string(protocol_)};
    rest_ = rest_.subspan(2);
    // Few opcodes make more than one value, and room that nothing fills costs no memory.
    arena_->items.reserve(std::min(rest_.size(), limits_.max_values) + 4);
    arena_->items.resize(4);
    arena_->items[pickle_true].kind = arena_->items[pickle_false].kind = pickle_kind::boolean;
    arena_->items[pickle_true].number = 1;
    arena_->items[pickle_empty_tuple].kind = pickle_kind::tuple;
    for (;;) {
      if (rest_.empty()) return broken("it is cut short");
      const auto op = static_cast<pickle_op>(rest_[0]);
      rest_ = rest_.subspan(1);
      if (op == pickle_op::stop) break;
      if (auto done = step(op); !done)
        return std::move(done).failure().at("at byte " + std::to_string(size - rest_.size()));
      if (arena_->items.size() > limits_.max_values || stack_.size() > limits_.max_values ||
          marks_.size() > limits_.max_values || memo_size() > limits_.max_values)
        return error{errc::resource_limit,
                     "more than " + std::to_string(limits_.max_values) + " values"};
    }
    if (!rest_.empty()) return broken("bytes follow its end");
    if (!marks_.empty() || stack_.size() != 1)
      return broken("it does not end with exactly one value");
    return pickle_value(std::move(arena_), stack_.back());
  }

 private:
  static error broken(std::string what) { return {errc::corrupt, std::move(what)}; }

  // What is read of the bytes.
  result<bytes_view> take(std::uint64_t size) {
    if (size > rest_.size()) return broken("it is cut short");
    const bytes_view out = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(out.size());
    return out;
  }
  template <class T>
  result<T> number() {
    ZARRPOINT_TRY(bytes, take(sizeof(T)));
    return load_le<T>(bytes.data());
  }
  template <class T>
  result<bytes_view> sized() {
    ZARRPOINT_TRY(size, number<T>());
    return take(size);
  }
  result<std::string_view> line() {
    const std::string_view text = as_text(rest_);
    const std::size_t end = text.find('\n');
    if (end == text.npos) return broken("it is cut short");
    rest_ = rest_.subspan(end + 1);
    return text.substr(0, end);
  }

  // The stack.
  std::size_t floor() const noexcept { return marks_.empty() ? 0 : marks_.back(); }
  result<pickle_index> pop() {
    if (stack_.size() <= floor()) return broken("its stack is empty");
    const pickle_index out = stack_.back();
    stack_.pop_back();
    return out;
  }
  /// All above the last mark.
  result<std::vector<pickle_index>> pop_mark() {
    if (marks_.empty()) return broken("a mark is missing");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<pickle_index> out(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return out;
  }
  result<pickle_index> top() const {
    if (stack_.size() <= floor()) return broken("its stack is empty");
    return stack_.back();
  }
  result<void> push(pickle_index at) {
    stack_.push_back(at);
    return {};
  }
  result<void> push(pickle_item item) {
    arena_->items.push_back(std::move(item));
    return push(static_cast<pickle_index>(arena_->items.size() - 1));
  }
  result<void> push(pickle_kind kind, std::string text) {
    pickle_item out{.kind = kind};
    if (!text.empty()) out.make_body().text = std::move(text);
    return push(std::move(out));
  }
  result<void> push(pickle_kind kind, std::vector<pickle_index> elements) {
    pickle_item out{.kind = kind};
    if (!elements.empty()) out.make_body().elements = std::move(elements);
    return push(std::move(out));
  }
  pickle_item& item(pickle_index at) { return arena_->items[at]; }

  // Values.
  result<void> push_integer(std::int64_t value) {
    return push({.kind = pickle_kind::integer, .number = static_cast<std::uint64_t>(value)});
  }
  result<void> push_long(bytes_view digits) {
    // Bytes that only repeat the sign say nothing.
    while (digits.size() > 8) {
      const auto last = static_cast<unsigned>(digits.back());
      const bool below = (static_cast<unsigned>(digits[digits.size() - 2]) & 0x80U) != 0;
      if (!(last == 0 && !below) && !(last == 0xff && below)) break;
      digits = digits.first(digits.size() - 1);
    }
    if (digits.size() > 8) return push(pickle_kind::integer, std::string(as_text(digits)));
    const bool negative = !digits.empty() && (static_cast<unsigned>(digits.back()) & 0x80U) != 0;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = digits.size(); i-- > 0;)
      value = value << 8 | static_cast<std::uint64_t>(digits[i]);
    return push_integer(static_cast<std::int64_t>(value));
  }
  result<void> push_text(pickle_kind kind, const result<bytes_view>& bytes) {
    if (!bytes) return bytes.failure();
    if (kind == pickle_kind::string && !is_utf8(as_text(*bytes)))
      return broken("text that is not UTF-8");
    return push(kind, std::string(as_text(*bytes)));
  }
  /// Strings of Python 2 are text or bytes: nobody knows.
  result<void> push_old_string(const result<bytes_view>& bytes) {
    return push_text(bytes && is_utf8(as_text(*bytes)) ? pickle_kind::string : pickle_kind::bytes,
                     bytes);
  }
  result<void> push_global(std::string_view module, std::string_view name) {
    if (!is_utf8(module) || !is_utf8(name) || module.find('\n') != module.npos)
      return broken("the name of a class is not valid");
    if (protocol_ < 3 && module == "copy_reg") module = "copyreg";
    if (protocol_ < 3 && module == "__builtin__") {
      module = "builtins";
      if (name == "long") name = "int";
      if (name == "unicode") name = "str";
      if (name == "xrange") name = "range";
    }
    std::string text(module);
    return push(pickle_kind::global, std::move(text.append("\n").append(name)));
  }
  result<void> push_group(pickle_kind kind, result<std::vector<pickle_index>> elements) {
    if (!elements) return std::move(elements).failure();
    if (kind == pickle_kind::tuple && elements->empty()) return push(pickle_empty_tuple);
    if (kind == pickle_kind::dict && elements->size() % 2 != 0) return broken("a key has no value");
    return push(kind, *std::move(elements));
  }
  result<void> push_tuple(std::size_t size) {
    if (size > 2) {
      std::vector<pickle_index> elements(size);
      for (std::size_t i = size; i-- > 0;) {
        ZARRPOINT_TRY(one, pop());
        elements[i] = one;
      }
      return push_group(pickle_kind::tuple, std::move(elements));
    }
    pickle_item out{.kind = pickle_kind::tuple, .few = static_cast<std::uint8_t>(size)};
    for (std::size_t i = size; i-- > 0;) {
      ZARRPOINT_TRY(one, pop());
      out.number = out.number << 32 | one;
    }
    return push(std::move(out));
  }
  /// Notes what would be called; `arguments` must be a tuple.
  result<void> push_call(pickle_call call) {
    if (item(call.arguments).kind != pickle_kind::tuple)
      return broken("the arguments of a call are not a tuple");
    if (call.keywords != pickle_none && item(call.keywords).kind != pickle_kind::dict)
      return broken("the keywords of a call are not a dict");
    pickle_item out{.kind = pickle_kind::call};
    out.make_body().call = std::make_unique<pickle_call>(std::move(call));
    return push(std::move(out));
  }
  result<void> read_call(pickle_op op) {
    pickle_call out;
    if (op == pickle_op::newobj_ex) {
      ZARRPOINT_TRY(keywords, pop());
      out.keywords = keywords;
    }
    ZARRPOINT_TRY(arguments, pop());
    ZARRPOINT_TRY(callable, pop());
    out.arguments = arguments;
    out.callable = callable;
    return push_call(std::move(out));
  }
  /// The class is named in the opcode's own lines, or lies beneath the arguments.
  result<void> read_inst() {
    ZARRPOINT_TRY(module, line());
    ZARRPOINT_TRY(name, line());
    ZARRPOINT_TRY(arguments, pop_mark());
    ZARRPOINT_CHECK(push_global(module, name));
    ZARRPOINT_TRY(callable, pop());
    arguments.insert(arguments.begin(), callable);
    return call_of(std::move(arguments));
  }
  result<void> read_obj() {
    ZARRPOINT_TRY(parts, pop_mark());
    return call_of(std::move(parts));
  }
  result<void> call_of(std::vector<pickle_index> parts) {
    if (parts.empty()) return broken("a call has no class");
    pickle_call out;
    out.callable = parts.front();
    parts.erase(parts.begin());
    ZARRPOINT_CHECK(push_group(pickle_kind::tuple, std::move(parts)));
    ZARRPOINT_TRY(arguments, pop());
    out.arguments = arguments;
    return push_call(std::move(out));
  }

  // What is added to a value beneath.
  result<void> add(const std::vector<pickle_index>& more, pickle_kind kind) {
    ZARRPOINT_TRY(at, top());
    pickle_item& target = item(at);
    const bool are_members = kind == pickle_kind::dict;
    if (are_members && more.size() % 2 != 0) return broken("a key has no value");
    std::vector<pickle_index>* into = nullptr;
    if (target.kind == pickle_kind::call) {
      pickle_body& body = target.make_body();
      into = are_members ? &body.call->members : &body.elements;
    } else if (target.kind == kind) {
      into = &target.make_body().elements;
    }
    if (into == nullptr) return broken("it adds an item to a value that is not a container");
    into->insert(into->end(), more.begin(), more.end());
    return {};
  }
  result<void> add_one(pickle_kind kind) {
    std::vector<pickle_index> more(kind == pickle_kind::dict ? 2 : 1);
    for (std::size_t i = more.size(); i-- > 0;) {
      ZARRPOINT_TRY(one, pop());
      more[i] = one;
    }
    return add(more, kind);
  }
  result<void> add_marked(pickle_kind kind) {
    ZARRPOINT_TRY(more, pop_mark());
    return add(more, kind);
  }
  result<void> build() {
    ZARRPOINT_TRY(state, pop());
    ZARRPOINT_TRY(at, top());
    if (item(at).kind != pickle_kind::call)
      return broken("it sets the state of a value that cannot have one");
    item(at).own->call->states.push_back(state);
    return {};
  }

  // The memo: numbers follow each other in the pickles of Python, and the others are kept apart.
  std::size_t memo_size() const noexcept { return memo_.size() + sparse_memo_.size(); }
  result<void> put(std::size_t index) {
    ZARRPOINT_TRY(value, top());
    if (index < memo_.size()) {
      memo_[index] = value;
    } else if (index == memo_.size() && sparse_memo_.count(index) == 0) {
      memo_.push_back(value);
    } else {
      sparse_memo_[index] = value;
    }
    return {};
  }
  template <class T>
  result<void> put() {
    ZARRPOINT_TRY(index, number<T>());
    return put(index);
  }
  template <class T>
  result<void> get() {
    ZARRPOINT_TRY(index, number<T>());
    if (index < memo_.size()) return push(memo_[index]);
    const auto at = sparse_memo_.find(index);
    if (at == sparse_memo_.end()) return broken("the memo has no value " + std::to_string(index));
    return push(at->second);
  }

  result<void> stack_global() {
    ZARRPOINT_TRY(name, pop());
    ZARRPOINT_TRY(module, pop());
    if (item(name).kind != pickle_kind::string || item(module).kind != pickle_kind::string)
      return broken("a name that is not text");
    return push_global(std::string(item(module).body().text), std::string(item(name).body().text));
  }
  result<void> persistent() {
    ZARRPOINT_TRY(id, pop());
    return push(pickle_kind::persistent, std::vector<pickle_index>{id});
  }
  result<void> frame() {
    ZARRPOINT_TRY(size, number<std::uint64_t>());
    if (size > rest_.size()) return broken("a frame is longer than the pickle");
    return {};
  }
  result<void> long4() {
    ZARRPOINT_TRY(size, number<std::uint32_t>());
    if (size > 0x7fffffffU) return broken("an integer of a negative size");
    ZARRPOINT_TRY(digits, take(size));
    return push_long(digits);
  }
  result<void> real() {
    ZARRPOINT_TRY(bits, number<std::uint64_t>());
    return push({.kind = pickle_kind::real, .number = byteswap(bits)});  // big-endian
  }

  result<void> step(pickle_op op) {
    switch (op) {
      case pickle_op::mark: return marks_.push_back(stack_.size()), result<void>();
      case pickle_op::pop:
        if (stack_.size() == floor() && !marks_.empty()) return marks_.pop_back(), result<void>();
        return drop(pop());
      case pickle_op::pop_mark: return drop(pop_mark());
      case pickle_op::dup: return top().and_then([this](pickle_index at) { return push(at); });
      case pickle_op::none: return push(pickle_none);
      case pickle_op::newtrue: return push(pickle_true);
      case pickle_op::newfalse: return push(pickle_false);
      case pickle_op::binint1: return integer<std::uint8_t>();
      case pickle_op::binint2: return integer<std::uint16_t>();
      case pickle_op::binint: return integer<std::uint32_t>();
      case pickle_op::long1: {
        ZARRPOINT_TRY(digits, sized<std::uint8_t>());
        return push_long(digits);
      }
      case pickle_op::long4: return long4();
      case pickle_op::binfloat: return real();
      case pickle_op::binunicode: return push_text(pickle_kind::string, sized<std::uint32_t>());
      case pickle_op::short_binunicode:
        return push_text(pickle_kind::string, sized<std::uint8_t>());
      case pickle_op::binunicode8: return push_text(pickle_kind::string, sized<std::uint64_t>());
      case pickle_op::binstring: return push_old_string(sized<std::uint32_t>());
      case pickle_op::short_binstring: return push_old_string(sized<std::uint8_t>());
      case pickle_op::binbytes: return push_text(pickle_kind::bytes, sized<std::uint32_t>());
      case pickle_op::short_binbytes: return push_text(pickle_kind::bytes, sized<std::uint8_t>());
      case pickle_op::binbytes8:
      case pickle_op::bytearray8: return push_text(pickle_kind::bytes, sized<std::uint64_t>());
      case pickle_op::empty_list: return push({.kind = pickle_kind::list});
      case pickle_op::empty_dict: return push({.kind = pickle_kind::dict});
      case pickle_op::empty_set: return push({.kind = pickle_kind::set});
      case pickle_op::empty_tuple: return push(pickle_empty_tuple);
      case pickle_op::tuple1: return push_tuple(1);
      case pickle_op::tuple2: return push_tuple(2);
      case pickle_op::tuple3: return push_tuple(3);
      case pickle_op::tuple: return push_group(pickle_kind::tuple, pop_mark());
      case pickle_op::list: return push_group(pickle_kind::list, pop_mark());
      case pickle_op::dict: return push_group(pickle_kind::dict, pop_mark());
      case pickle_op::frozenset: return push_group(pickle_kind::set, pop_mark());
      case pickle_op::append: return add_one(pickle_kind::list);
      case pickle_op::setitem: return add_one(pickle_kind::dict);
      case pickle_op::appends: return add_marked(pickle_kind::list);
      case pickle_op::setitems: return add_marked(pickle_kind::dict);
      case pickle_op::additems: return add_marked(pickle_kind::set);
      case pickle_op::global: {
        ZARRPOINT_TRY(module, line());
        ZARRPOINT_TRY(name, line());
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
        return put(memo_size());
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
    ZARRPOINT_TRY(value, number<T>());
    if constexpr (sizeof(T) == 4) return push_integer(static_cast<std::int32_t>(value));
    return push_integer(static_cast<std::int64_t>(value));
  }
  template <class T>
  static result<void> drop(const result<T>& popped) {
    return popped ? result<void>() : result<void>(popped.failure());
  }

  bytes_view rest_;
  pickle_limits limits_;
  unsigned protocol_ = 2;
  std::shared_ptr<pickle_arena> arena_ = v0::detail::make_counted<pickle_arena>();
  std::vector<pickle_index> stack_;
  std::vector<std::size_t> marks_;
  std::vector<pickle_index> memo_;
  std::map<std::size_t, pickle_index> sparse_memo_;  // not hashed: the file chooses the numbers
};

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<pickle_value> read_pickle(bytes_view bytes, const pickle_limits& limits) {
  return guarded([&] { return detail::pickle_reader<>(bytes, limits).read(); }).at("pickle");
}

}  // namespace torch

}}  // namespace zarrpoint::v0
