// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/pickle/pickle_input.hpp>
#include <zarrpoint/interop/pickle/pickle_value.hpp>
#include <zarrpoint/interop/pickle/pickle_writer.hpp>

#include <bit>
#include <unordered_map>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace torch {

// -------------------------------------------------------------------------------- pickle_value.hpp

ZARRPOINT_INLINE std::optional<bool> pickle_value::to_bool() const noexcept {
  if (kind() != pickle_kind::boolean) return std::nullopt;
  return item().number != 0;
}

ZARRPOINT_INLINE std::optional<std::int64_t> pickle_value::to_int64() const noexcept {
  if (kind() != pickle_kind::integer || !item().body().text.empty()) return std::nullopt;
  return static_cast<std::int64_t>(item().number);
}

ZARRPOINT_INLINE std::optional<std::uint64_t> pickle_value::to_uint64() const noexcept {
  if (const auto narrow = to_int64())
    return *narrow < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(*narrow));
  const std::string& digits = item().body().text;
  if (kind() != pickle_kind::integer || digits.size() != 9 || digits[8] != 0) return std::nullopt;
  return load_le<std::uint64_t>(as_bytes(digits).data());
}

ZARRPOINT_INLINE std::optional<bytes_view> pickle_value::if_wide_integer() const noexcept {
  if (kind() != pickle_kind::integer || item().body().text.empty()) return std::nullopt;
  return as_bytes(item().body().text);
}

ZARRPOINT_INLINE std::optional<double> pickle_value::to_double() const noexcept {
  if (kind() != pickle_kind::real) return std::nullopt;
  return std::bit_cast<double>(item().number);
}

ZARRPOINT_INLINE std::optional<bytes_view> pickle_value::if_bytes() const noexcept {
  if (kind() != pickle_kind::bytes) return std::nullopt;
  return as_bytes(item().body().text);
}

ZARRPOINT_INLINE std::optional<pickle_value> pickle_value::find(std::string_view key) const {
  const std::vector<detail::pickle_index>& all = members();
  for (std::size_t i = all.size(); i != 0; i -= 2) {
    const detail::pickle_item& one = arena_->items[all[i - 2]];
    if (one.kind == pickle_kind::string && one.body().text == key) return other(all[i - 1]);
  }
  return std::nullopt;
}

ZARRPOINT_INLINE std::string_view pickle_value::module() const noexcept {
  if (kind() != pickle_kind::global) return {};
  return std::string_view(item().body().text).substr(0, item().body().text.find('\n'));
}

ZARRPOINT_INLINE std::string_view pickle_value::name() const noexcept {
  if (kind() != pickle_kind::global) return {};
  return std::string_view(item().body().text).substr(item().body().text.find('\n') + 1);
}

ZARRPOINT_INLINE const std::vector<detail::pickle_index>& pickle_value::members() const noexcept {
  static const std::vector<detail::pickle_index> none;
  if (kind() == pickle_kind::dict) return item().body().elements;
  return item().body().call == nullptr ? none : item().body().call->members;
}

}}}  // namespace zarrpoint::v0::torch

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

// -------------------------------------------------------------------------------- pickle_input.hpp

ZARRPOINT_INLINE error broken_pickle(std::string what) { return {errc::corrupt, std::move(what)}; }

ZARRPOINT_INLINE result<bytes_view> pickle_input::take(std::uint64_t size) {
  if (!has(size)) return broken_pickle("it is cut short");
  const bytes_view out = rest_.first(static_cast<std::size_t>(size));
  rest_ = rest_.subspan(out.size());
  return out;
}

ZARRPOINT_INLINE result<std::string_view> pickle_input::line() {
  const std::string_view text = as_text(rest_);
  const std::size_t end = text.find('\n');
  is_short_ = end == text.npos;
  if (is_short_) return broken_pickle("it is cut short");
  rest_ = rest_.subspan(end + 1);
  return text.substr(0, end);
}

}}}  // namespace zarrpoint::v0::torch::detail

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------------- pickle.hpp

namespace torch {

ZARRPOINT_INLINE result<std::vector<std::byte>> to_bytes(const pickle_value& value, int levels) {
  const error refusal{errc::unsupported, "a pickled value is not bytes"};
  if (const auto plain = value.if_bytes()) return std::vector(plain->begin(), plain->end());
  if (value.kind() != pickle_kind::call || levels == 0) return refusal;
  if (value.is_call_of("_io", "BytesIO")) {
    if (value.state_count() != 1 || value.state(0).element_count() == 0) return refusal;
    return to_bytes(value.state(0).element(0), levels - 1);
  }
  const pickle_value arguments = value.arguments();
  if (value.is_call_of("builtins", "bytes") || value.is_call_of("builtins", "bytearray")) {
    if (arguments.element_count() == 0) return std::vector<std::byte>();
    if (arguments.element_count() != 1) return refusal;
    return to_bytes(arguments.element(0), levels - 1);
  }
  if (!value.is_call_of("_codecs", "encode") || arguments.element_count() != 2) return refusal;
  const std::string* text = arguments.element(0).if_string();
  const std::string* encoding = arguments.element(1).if_string();
  if (text == nullptr || encoding == nullptr || (*encoding != "latin1" && *encoding != "latin-1"))
    return refusal;
  std::vector<std::byte> out;
  out.reserve(text->size());
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto point = zarrpoint::detail::take_code_point(rest);
    if (!point || *point > 0xff)
      return error{errc::corrupt, "pickled bytes hold a character that is not a byte"};
    out.push_back(static_cast<std::byte>(*point));
  }
  return out;
}

}  // namespace torch

namespace torch { namespace detail {

class pickle_to_json {
 public:
  explicit pickle_to_json(const pickle_node_limits& limits) : limits_(limits) {}

  result<json> convert(const pickle_value& value, std::size_t depth) {
    if (depth > limits_.max_depth)
      return error{errc::unsupported, "it is nested deeper than " +
                                          std::to_string(limits_.max_depth) +
                                          " levels, or within itself"};
    if (++values_ > limits_.max_values)
      return error{errc::resource_limit,
                   "it has more than " + std::to_string(limits_.max_values) + " values"};
    switch (value.kind()) {
      case pickle_kind::none: return json();
      case pickle_kind::boolean: return json(*value.to_bool());
      case pickle_kind::real: return json(*value.to_double());
      case pickle_kind::string:
        ZARRPOINT_CHECK(charge(*value.if_string()));
        return json(*value.if_string());
      case pickle_kind::integer:
        if (const auto narrow = value.to_int64()) return json(*narrow);
        if (const auto wide = value.to_uint64()) return json(*wide);
        return refuse("an integer that does not fit in 64 bits");
      case pickle_kind::list:
      case pickle_kind::tuple: {
        json::array out;
        for (std::size_t i = 0; i < value.element_count(); ++i) {
          ZARRPOINT_TRY(one,
                        convert(value.element(i), depth + 1).at("[" + std::to_string(i) + "]"));
          out.push_back(std::move(one));
        }
        return json(std::move(out));
      }
      case pickle_kind::dict: return members_of(value, depth);
      case pickle_kind::call:
        // What is set in it is all that there is of it.
        if (value.is_call_of("collections", "OrderedDict") &&
            value.arguments().element_count() == 0 && value.state_count() == 0 &&
            value.element_count() == 0)
          return members_of(value, depth);
        return refuse("a call of " + called(value.callable()));
      case pickle_kind::bytes: return refuse("bytes");
      case pickle_kind::set: return refuse("a set");
      case pickle_kind::global: return refuse(called(value));
      case pickle_kind::persistent: return refuse("a value that is kept outside the pickle");
    }
    return refuse("an unknown value");
  }

 private:
  static error refuse(const std::string& what) {
    return {errc::unsupported, what + " is not a JSON value"};
  }
  static std::string called(const pickle_value& value) {
    if (value.kind() != pickle_kind::global) return "something";
    return std::string(value.module()) + "." + std::string(value.name());
  }

  /// One text may be there any number of times.
  result<void> charge(const std::string& text) {
    if (text.size() > limits_.max_text - text_)
      return error{errc::resource_limit,
                   "it has more than " + std::to_string(limits_.max_text) + " bytes of text"};
    text_ += text.size();
    return {};
  }

  result<json> members_of(const pickle_value& value, std::size_t depth) {
    json::object out;
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < value.member_count(); ++i) {
      const pickle_value key = value.key(i);
      const std::string* name = key.if_string();
      if (name == nullptr) return refuse("a dict with keys other than strings");
      ZARRPOINT_CHECK(charge(*name));
      ZARRPOINT_TRY(one, convert(value.member(i), depth + 1).at(*name));
      const auto [place, is_new] = places.try_emplace(*name, out.size());
      if (is_new) {
        out.push_back({*name, std::move(one)});
      } else {
        out[place->second].value = std::move(one);
      }
    }
    return json(std::move(out));
  }

  pickle_node_limits limits_;
  std::size_t values_ = 0;
  std::size_t text_ = 0;
};

}}  // namespace torch::detail

namespace torch {

ZARRPOINT_INLINE result<json> to_json(const pickle_value& value, const pickle_node_limits& limits) {
  return detail::pickle_to_json(limits).convert(value, 0);
}

}  // namespace torch

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
                     "it has more than " + std::to_string(limits_.max_values) + " values"};
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
      return error{errc::unsupported,
                   "pickle protocol " + std::to_string(protocol_) + " is not known"};
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
    return error{errc::unsupported,
                 "opcode " + std::to_string(static_cast<unsigned>(op)) + " is not read"};
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

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

ZARRPOINT_INLINE pickle_stack::pickle_stack() : arena_(v0::detail::make_counted<pickle_arena>()) {
  arena_->items.resize(4);
  arena_->items[pickle_true].kind = arena_->items[pickle_false].kind = pickle_kind::boolean;
  arena_->items[pickle_true].number = 1;
  arena_->items[pickle_empty_tuple].kind = pickle_kind::tuple;
}

ZARRPOINT_INLINE result<pickle_value> pickle_stack::finish() {
  if (!marks_.empty() || stack_.size() != 1)
    return broken_pickle("it does not end with exactly one value");
  return pickle_value(std::move(arena_), stack_.back());
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_index at) {
  stack_.push_back(at);
  return {};
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_item item) {
  arena_->items.push_back(std::move(item));
  return push(static_cast<pickle_index>(arena_->items.size() - 1));
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_kind kind, std::string text) {
  pickle_item out{.kind = kind};
  if (!text.empty()) out.make_body().text = std::move(text);
  return push(std::move(out));
}

ZARRPOINT_INLINE result<void> pickle_stack::push(pickle_kind kind,
                                                 std::vector<pickle_index> elements) {
  pickle_item out{.kind = kind};
  if (!elements.empty()) out.make_body().elements = std::move(elements);
  return push(std::move(out));
}

ZARRPOINT_INLINE result<pickle_index> pickle_stack::top() const {
  if (stack_.size() <= floor()) return broken_pickle("its stack is empty");
  return stack_.back();
}

ZARRPOINT_INLINE result<pickle_index> pickle_stack::pop() {
  if (stack_.size() <= floor()) return broken_pickle("its stack is empty");
  const pickle_index out = stack_.back();
  stack_.pop_back();
  return out;
}

ZARRPOINT_INLINE result<std::vector<pickle_index>> pickle_stack::pop_mark() {
  if (marks_.empty()) return broken_pickle("a mark is missing");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<pickle_index> out(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return out;
}

ZARRPOINT_INLINE result<void> pickle_stack::drop() {
  if (stack_.size() == floor() && !marks_.empty()) return marks_.pop_back(), result<void>();
  ZARRPOINT_CHECK(pop());
  return {};
}

ZARRPOINT_INLINE result<void> pickle_stack::put(std::size_t index) {
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

ZARRPOINT_INLINE result<void> pickle_stack::get(std::size_t index) {
  if (index < memo_.size()) return push(memo_[index]);
  const auto at = sparse_memo_.find(index);
  if (at == sparse_memo_.end())
    return broken_pickle("the memo has no value " + std::to_string(index));
  return push(at->second);
}

}}}  // namespace zarrpoint::v0::torch::detail

namespace zarrpoint { inline namespace v0 { namespace torch {

// ------------------------------------------------------------------------------- pickle_writer.hpp

ZARRPOINT_INLINE pickle_writer::pickle_writer() {
  put(detail::pickle_op::proto);
  out_ += '\x02';
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
  if (text.size() > UINT32_MAX) return error{errc::invalid_argument, "a text takes 4 GiB or more"};
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

ZARRPOINT_INLINE result<void> pickle_writer::value(const json& from, std::size_t levels) {
  if (levels == 0) return error{errc::invalid_argument, "it is nested deeper than 100 levels"};
  if (const bool* truth = from.if_bool()) return boolean(*truth), result<void>();
  if (const std::string* text = from.if_string()) return string(*text);
  if (const auto narrow = from.to_int64()) return integer(*narrow), result<void>();
  if (const auto wide = from.to_uint64()) return unsigned_integer(*wide), result<void>();
  if (const auto number = from.to_double()) return real(*number), result<void>();
  if (const json::array* elements = from.if_array())
    return list(elements->size(), [&](std::size_t i) { return value((*elements)[i], levels - 1); });
  if (const json::object* members = from.if_object())
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

ZARRPOINT_INLINE result<std::string> write_pickle(const json& value) {
  pickle_writer to;
  ZARRPOINT_CHECK(to.value(value));
  return std::move(to).finish();
}

}}}  // namespace zarrpoint::v0::torch

#if ZARRPOINT_BODIES
#include <zarrpoint/exec/bodies.hpp>
#endif
