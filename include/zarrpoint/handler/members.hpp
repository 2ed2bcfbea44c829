// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Values that are several leaves, as they are saved. checkpoint/load/load_members.hpp loads them.

#include <zarrpoint/handler/leaf.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <variant>

namespace zarrpoint { inline namespace v0 {

/// An enumeration is stored as its underlying integer.
template <class E>
  requires(std::is_enum_v<E>&& detail::builtin_dtype<std::underlying_type_t<E>>().valid())
inline constexpr dtype dtype_of<E> = dtype_of<std::underlying_type_t<E>>;

namespace detail {

/// The named members of a value, by reference.
template <class... Ts>
struct member_list {
  std::array<std::string_view, sizeof...(Ts)> names;
  std::tuple<Ts&...> values;
};

/// Every second argument: the values between the names.
template <class... Done, class... Args>
auto list_members(const std::array<std::string_view, sizeof...(Args) / 2>& names,
                  const std::tuple<Args&...>& all) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return member_list<
        std::remove_reference_t<std::tuple_element_t<2 * I + 1, std::tuple<Args&...>>>...>{
        names, {std::get<2 * I + 1>(all)...}};
  }
  (std::make_index_sequence<sizeof...(Args) / 2>{});
}

}  // namespace detail

/// Names the members of a value that is saved as a group of leaves, and loaded from one:
/// `auto zarrpoint_members(quantized& v) { return zp::members("q", v.q, "scale", v.scale); }`,
/// in the namespace of the type, or as its friend. Names are literals, members are lvalues of any
/// type that can be saved, such values again included.
template <class... Args>
auto members(Args&... namesAndValues) {
  static_assert(sizeof...(Args) % 2 == 0, "zarrpoint: members takes a name before each member");
  const std::tuple<Args&...> all(namesAndValues...);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_assert((std::is_convertible_v<std::tuple_element_t<2 * I, std::tuple<Args&...>>,
                                         std::string_view> &&
                   ...),
                  "zarrpoint: members takes a name, which is text, before each member");
    return detail::list_members<>(
        std::array<std::string_view, sizeof...(I)>{std::string_view(std::get<2 * I>(all))...}, all);
  }
  (std::make_index_sequence<sizeof...(Args) / 2>{});
}

namespace detail {

template <class Handler, class T>
auto members_of(T& value) {
  return Handler::members(const_cast<std::remove_const_t<T>&>(value));
}

/// The leaf or group `name` in the group `group`.
inline std::string member_name(const std::string& group, std::string_view name) {
  return group.empty() ? std::string(name) : group + "/" + std::string(name);
}

/// The leaves of one value, in the order of its members, by the handlers of `Registry`.
template <class Registry>
class member_leaves {
 public:
  std::vector<leaf> take() { return std::move(leaves_); }

  template <class T>
  void add(const std::string& name, const T& value) {
    using handler = handler_in<T, Registry>;
    const std::size_t before = leaves_.size();
    if constexpr (!group_handler<handler, T>) {
      leaves_.emplace_back(name, value, Registry());
    } else if constexpr (requires { handler::add(*this, name, value); }) {
      handler::add(*this, name, value);
    } else {
      const auto list = members_of<handler>(value);
      std::apply(
          [&](const auto&... each) {
            std::size_t i = 0;
            (add(member_name(name, list.names[i++]), each), ...);
          },
          list.values);
    }
    if (leaves_.size() == before && !may_be_absent<handler>())
      leaves_.push_back(leaf::empty_group(name));
  }

  /// The same for a value that would be taken for missing if it were absent.
  template <class T>
  void add_present(const std::string& name, const T& value) {
    const std::size_t before = leaves_.size();
    add(name, value);
    if (leaves_.size() == before)
      refuse(name,
             "an empty optional is not allowed here: it could not be told from a missing one");
  }

  void refuse(const std::string& name, std::string_view why) {
    leaves_.push_back(leaf::refused(name, {errc::invalid_argument, std::string(why)}));
  }

 private:
  template <class Handler>
  static consteval bool may_be_absent() {
    return requires { requires Handler::may_be_absent; };
  }

  std::vector<leaf> leaves_;
};

template <class Handler, class Registry, class T>
std::shared_ptr<const std::vector<leaf>> leaves_of_members(const std::string& name, T&& value) {
  struct kept {
    std::conditional_t<std::is_lvalue_reference_v<T>, std::nullptr_t, std::remove_cvref_t<T>> value;
    std::vector<leaf> leaves{};
  };
  std::shared_ptr<kept> made;
  member_leaves<Registry> parts;
  if constexpr (std::is_lvalue_reference_v<T>) {
    made = detail::make_counted<kept>(kept{nullptr});
    parts.add(name, value);
  } else {
    made = detail::make_counted<kept>(kept{std::forward<T>(value)});
    parts.add(name, made->value);
  }
  made->leaves = parts.take();
  return {made, &made->leaves};
}

/// What is there, under its own name; an absent one is neither a leaf nor a group.
template <class T>
struct builtin_handler<std::optional<T>> {
  static constexpr bool is_group = true;
  static constexpr bool may_be_absent = true;
  template <class Leaves>
  static void add(Leaves& to, const std::string& name, const std::optional<T>& value) {
    if (value) to.add_present(name, *value);
  }
};

/// `index`, which alternative it is, and its `value`.
template <class... Ts>
struct builtin_handler<std::variant<Ts...>> {
  static constexpr bool is_group = true;
  template <class Leaves>
  static void add(Leaves& to, const std::string& name, const std::variant<Ts...>& value) {
    if (value.valueless_by_exception()) return to.refuse(name, "a variant without a value");
    to.add(member_name(name, "index"), static_cast<std::int64_t>(value.index()));
    std::visit(
        [&](const auto& one) {
          if constexpr (!std::is_same_v<decltype(one), const std::monostate&>)
            to.add(member_name(name, "value"), one);
        },
        value);
  }
};

/// `first` and `second`.
template <class A, class B>
struct builtin_handler<std::pair<A, B>> {
  static constexpr bool is_group = true;
  static auto members(std::pair<A, B>& value) {
    return zarrpoint::members("first", value.first, "second", value.second);
  }
};

/// `0`, `1`, ...
template <class... Ts>
struct builtin_handler<std::tuple<Ts...>> {
  static constexpr bool is_group = true;
  template <class Leaves>
  static void add(Leaves& to, const std::string& name, const std::tuple<Ts...>& value) {
    std::apply(
        [&](const auto&... each) {
          std::size_t i = 0;
          (to.add(member_name(name, std::to_string(i++)), each), ...);
        },
        value);
  }
};

/// `0`, `1`, ...: for values that cannot be elements of an array.
template <class T, class Allocator>
  requires(!storable_element<T> && !std::same_as<T, bool>)
struct builtin_handler<std::vector<T, Allocator>> {
  static constexpr bool is_group = true;
  template <class Leaves>
  static void add(Leaves& to, const std::string& name, const std::vector<T, Allocator>& value) {
    for (std::size_t i = 0; i < value.size(); ++i)
      to.add_present(member_name(name, std::to_string(i)), value[i]);
  }
};

/// A value of a map, by its key, which is text that a node may have as its name.
template <class Leaves, class T>
void add_by_key(Leaves& to, const std::string& name, const std::pair<const std::string, T>& one) {
  if (one.first.empty() || one.first.find('/') != std::string::npos) {
    to.refuse(name, "a key of a map that is empty or has a '/' is not a name of a member");
  } else {
    to.add_present(member_name(name, one.first), one.second);
  }
}

template <class T, class Less, class Allocator>
struct builtin_handler<std::map<std::string, T, Less, Allocator>> {
  static constexpr bool is_group = true;
  template <class Leaves>
  static void add(Leaves& to, const std::string& name,
                  const std::map<std::string, T, Less, Allocator>& value) {
    for (const auto& one : value) add_by_key(to, name, one);
  }
};

/// In the order of the keys, so that the same values are the same leaves.
template <class T, class Hash, class Equal, class Allocator>
struct builtin_handler<std::unordered_map<std::string, T, Hash, Equal, Allocator>> {
  static constexpr bool is_group = true;
  template <class Leaves>
  static void add(Leaves& to, const std::string& name,
                  const std::unordered_map<std::string, T, Hash, Equal, Allocator>& value) {
    std::vector<const std::pair<const std::string, T>*> sorted;
    for (const auto& one : value) sorted.push_back(&one);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* one : sorted) add_by_key(to, name, *one);
  }
};

}  // namespace detail

}}  // namespace zarrpoint::v0
