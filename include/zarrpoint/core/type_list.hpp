// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

// Lists of types: codecs, stores, strategies and entries of handlers, in each of which no two may
// answer to one name. What that means is a trait, such as `same_name`.
namespace zarrpoint { inline namespace v0 { namespace detail {

template <class... Ts>
struct type_list {};

template <class... As, class... Bs>
consteval type_list<As..., Bs...> operator+(type_list<As...>, type_list<Bs...>) {
  return {};
}

template <class A, class B>
struct same_name : std::bool_constant<A::name == B::name> {};

/// `Older` as a list of one, or of none when `Same<Newer, Older>` of one of `Newer`.
template <template <class, class> class Same, class Older, class... Newer>
using unless_replaced =
    std::conditional_t<(false || ... || Same<Newer, Older>::value), type_list<>, type_list<Older>>;

/// Whether no two types of the list are the same by `Same`.
template <template <class, class> class Same>
consteval bool all_differ(type_list<>) {
  return true;
}
template <template <class, class> class Same, class Head, class... Tail>
consteval bool all_differ(type_list<Head, Tail...>) {
  return !(false || ... || Same<Head, Tail>::value) && all_differ<Same>(type_list<Tail...>{});
}

/// `Of<Ts...>` as a function of the list, for `decltype`.
template <template <class...> class Of, class... Ts>
consteval std::type_identity<Of<Ts...>> list_as(type_list<Ts...>) {
  return {};
}

/// `Of<Added..., Kept...>`: the types of `Old` that none of `Added` replaces stand behind those.
template <template <class...> class Of, template <class, class> class Same, class Added, class Old>
struct replaced_by;
template <template <class...> class Of, template <class, class> class Same, class... Added,
          class... Old>
struct replaced_by<Of, Same, type_list<Added...>, type_list<Old...>> {
  using type = typename decltype(list_as<Of>(
      (type_list<Added...>{} + ... + unless_replaced<Same, Old, Added...>{})))::type;
};

}}}  // namespace zarrpoint::v0::detail
