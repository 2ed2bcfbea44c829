// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/table.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

/// A set of schemes, as a type: `store_registry<file_scheme, zip_scheme>`.
template <store_scheme... Ss>
struct store_registry {
 private:
  template <class... Ts>
  struct list {};

  template <class Kept, class... Rest>
  struct joined;
  template <class... Kept>
  struct joined<list<Kept...>> {
    using type = store_registry<Kept...>;
  };
  template <class... Kept, class S, class... Rest>
  struct joined<list<Kept...>, list<S>, Rest...> : joined<list<Kept..., S>, Rest...> {};
  template <class... Kept, class... Rest>
  struct joined<list<Kept...>, list<>, Rest...> : joined<list<Kept...>, Rest...> {};

  template <class S, class... Added>
  using unless_replaced = std::conditional_t<((S::name == Added::name) || ...), list<>, list<S>>;

  static constexpr bool names_differ() {
    constexpr std::array<std::string_view, sizeof...(Ss)> names{Ss::name...};
    for (std::size_t i = 0; i < names.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (names[i] == names[j]) return false;
    return true;
  }
  static_assert(names_differ(), "zarrpoint: two stores of the registry have one scheme");

 public:
  /// These schemes and those of `Added`; one of the same name is replaced.
  template <class... Added>
  using with = typename joined<list<Added...>, unless_replaced<Ss, Added...>...>::type;

  static constexpr std::array<store_entry, sizeof...(Ss)> entries{
      store_entry{Ss::name, &Ss::open}...};

  static constexpr store_table table() { return store_table(entries); }
};

/// The schemes of a `context` that says nothing else.
using default_stores = store_registry<file_scheme, zip_scheme>;

}}  // namespace zarrpoint::v0
