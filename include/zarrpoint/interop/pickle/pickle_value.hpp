// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a pickle of Python says, as data. Nothing of it is ever called, imported or built.

namespace zarrpoint { inline namespace v0 { namespace torch {

/// What a value of a pickle is.
enum class pickle_kind : std::uint8_t {
  none,
  boolean,
  integer,     ///< of any width
  real,        ///< a float
  string,      ///< UTF-8
  bytes,       ///< `bytes` or `bytearray`
  list,        ///< has elements, as tuple and set
  tuple,       ///< immutable
  set,         ///< `set` or `frozenset`
  dict,        ///< has members, whose keys are values of any kind
  global,      ///< the name of something in a module; no more than the name
  call,        ///< what calling a value would give; nobody calls it
  persistent,  ///< something kept outside the pickle, named by its first element
};

class pickle_value;

namespace detail {

using pickle_index = std::uint32_t;

/// The first values of every pickle: they need no place of their own.
inline constexpr pickle_index pickle_none = 0, pickle_true = 1, pickle_false = 2,
                              pickle_empty_tuple = 3;

/// A call that was written down.
struct pickle_call {
  pickle_index callable = pickle_none;
  pickle_index arguments = pickle_empty_tuple;
  pickle_index keywords = pickle_none;
  std::vector<pickle_index> members{};  ///< keys and values by turns
  std::vector<pickle_index> states{};
};

/// What only some values have: a list without elements has none.
struct pickle_body {
  std::string text{};  ///< also of a wide integer: two's complement, low byte first
  std::vector<pickle_index> elements{};  ///< of a dict: keys and values by turns
  std::unique_ptr<pickle_call> call{};
};

/// Small, since a pickle has one for each of its bytes if somebody wants that.
struct pickle_item {
  pickle_kind kind = pickle_kind::none;
  std::uint8_t few = 0;      ///< of a tuple of one or two elements, which `number` holds
  std::uint64_t number = 0;  ///< a boolean, an int64, the bits of a double
  std::unique_ptr<pickle_body> own{};

  const pickle_body& body() const noexcept {
    static const pickle_body none{};
    return own != nullptr ? *own : none;
  }
  std::size_t element_count() const noexcept { return few != 0 ? few : body().elements.size(); }
  pickle_index element(std::size_t i) const noexcept {
    return few != 0 ? static_cast<pickle_index>(number >> (32 * i)) : body().elements[i];
  }
  pickle_body& make_body() {
    if (own == nullptr) own = std::make_unique<pickle_body>();
    return *own;
  }
};

/// All values of a pickle. They refer to each other by index: what is shared is there once, and
/// cycles do no harm.
struct pickle_arena {
  std::vector<pickle_item> items;
};

}  // namespace detail

/// A value of a pickle: a cheap handle that keeps the whole of the pickle alive.
class pickle_value {
 public:
  pickle_value(std::shared_ptr<const detail::pickle_arena> arena, detail::pickle_index at)
      : arena_(std::move(arena)), at_(at) {}

  pickle_kind kind() const noexcept { return item().kind; }
  bool is_none() const noexcept { return kind() == pickle_kind::none; }

  std::optional<bool> to_bool() const noexcept;
  /// An integer that fits; nothing for others, booleans among them.
  std::optional<std::int64_t> to_int64() const noexcept;
  std::optional<std::uint64_t> to_uint64() const noexcept;
  /// The two's complement of an integer that does not fit in 64 bits with a sign, low byte first;
  /// nothing for others.
  std::optional<bytes_view> if_wide_integer() const noexcept;
  std::optional<double> to_double() const noexcept;
  const std::string* if_string() const noexcept {
    return kind() == pickle_kind::string ? &item().body().text : nullptr;
  }
  std::optional<bytes_view> if_bytes() const noexcept;

  /// Elements of a list, tuple or set, those appended to the result of a call, or the one name of
  /// a persistent value.
  std::size_t element_count() const noexcept {
    return kind() == pickle_kind::dict ? 0 : item().element_count();
  }
  pickle_value element(std::size_t i) const { return other(item().element(i)); }

  /// Members of a dict, or those set in the result of a call (as in an `OrderedDict`). A key may
  /// stand there more than once: the last one counts.
  std::size_t member_count() const noexcept { return members().size() / 2; }
  pickle_value key(std::size_t i) const { return other(members()[2 * i]); }
  pickle_value member(std::size_t i) const { return other(members()[2 * i + 1]); }
  std::optional<pickle_value> find(std::string_view key) const;

  /// Of a global; empty for others. Names of Python 2 are told as those of Python 3.
  std::string_view module() const noexcept;
  std::string_view name() const noexcept;
  bool is_global(std::string_view module_name, std::string_view its_name) const noexcept {
    return kind() == pickle_kind::global && module() == module_name && name() == its_name;
  }

  /// Of a call, which must be one: what would be called, and with what.
  pickle_value callable() const { return other(item().body().call->callable); }
  pickle_value arguments() const { return other(item().body().call->arguments); }  ///< a tuple
  pickle_value keywords() const {
    return other(item().body().call->keywords);
  }  ///< none, or a dict
  /// What its result would be given as its state, in order.
  std::size_t state_count() const noexcept {
    return item().body().call == nullptr ? 0 : item().body().call->states.size();
  }
  pickle_value state(std::size_t i) const { return other(item().body().call->states[i]); }
  bool is_call_of(std::string_view module_name, std::string_view its_name) const {
    return kind() == pickle_kind::call && callable().is_global(module_name, its_name);
  }

  /// Its number among all values of the pickle, of which there are `total()`.
  std::size_t index() const noexcept { return at_; }
  std::size_t total() const noexcept { return arena_->items.size(); }
  /// Any value of the pickle, by its number, which must be less than `total()`.
  pickle_value at(std::size_t index) const {
    return other(static_cast<detail::pickle_index>(index));
  }
  /// Calls `f` with the number of each value that this one refers to.
  template <class F>
  void for_each_part(F&& f) const;

  /// Whether both are one value of one pickle, as `is` in Python.
  bool is_same(const pickle_value& as) const noexcept {
    return arena_ == as.arena_ && at_ == as.at_;
  }

 private:
  const detail::pickle_item& item() const noexcept { return arena_->items[at_]; }
  pickle_value other(detail::pickle_index at) const { return {arena_, at}; }
  const std::vector<detail::pickle_index>& members() const noexcept;

  std::shared_ptr<const detail::pickle_arena> arena_;
  detail::pickle_index at_;
};

template <class F>
void pickle_value::for_each_part(F&& f) const {
  const detail::pickle_item& own = item();
  for (std::size_t i = 0; i < own.element_count(); ++i) f(std::size_t{own.element(i)});
  const detail::pickle_call* const call = own.body().call.get();
  if (call == nullptr) return;
  for (const detail::pickle_index one : {call->callable, call->arguments, call->keywords})
    f(std::size_t{one});
  for (const detail::pickle_index one : call->members) f(std::size_t{one});
  for (const detail::pickle_index one : call->states) f(std::size_t{one});
}

}}}  // namespace zarrpoint::v0::torch
