// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/type_list.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/table.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// A set of schemes, as a type: `store_registry<file_scheme, zip_scheme>`.
template <class... Ss>
struct store_registry {
  static_assert((true && ... && store_scheme<Ss>),
                "zarrpoint: a type of the registry is not a scheme of a store");
  static_assert(detail::all_differ<detail::same_name>(detail::type_list<Ss...>{}),
                "zarrpoint: two stores of the registry have one scheme");

  /// These schemes and those of `Added`; one of the same name is replaced.
  template <class... Added>
  using with =
      typename detail::replaced_by<store_registry, detail::same_name, detail::type_list<Added...>,
                                   detail::type_list<Ss...>>::type;

  static constexpr std::array<store_entry, sizeof...(Ss)> entries{
      store_entry{Ss::name, &Ss::open}...};

  static constexpr store_table table() { return store_table(entries); }
};

/// The schemes of a `context` that says nothing else.
using default_stores = store_registry<file_scheme, zip_scheme>;

}}  // namespace zarrpoint::v0
