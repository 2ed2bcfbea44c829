// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/type_list.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

template <class C>
constexpr std::span<const std::string_view> aliases_of() {
  if constexpr (requires { C::aliases; }) {
    return C::aliases;
  } else {
    return {};
  }
}

/// A codec of a configuration. All of the codec's code hangs on it, so the compiled form has that
/// of the default codecs in the library (default_codecs.hpp).
template <class C>
struct codec_maker {
  static result<any_codec> make(const json& configuration, const codec_place& place);
};

template <class C>
result<any_codec> codec_maker<C>::make(const json& configuration, const codec_place& place) {
  if constexpr (requires { C::from_configuration(configuration, place); }) {
    ZARRPOINT_TRY(made, C::from_configuration(configuration, place));
    return any_codec(std::move(made));
  } else {
    ZARRPOINT_TRY(made, make_codec<C>(configuration));
    return any_codec(std::move(made));
  }
}

template <class C>
constexpr codec_entry entry_of() {
  constexpr codec_kind kind = kind_of<C>();  // first: it says what is missing
  return {C::name, aliases_of<C>(), kind, &codec_maker<C>::make};
}

template <std::size_t N>
constexpr bool names_differ(const std::array<codec_entry, N>& entries) {
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < N; ++j) {
      if (i == j) continue;
      if (entries[j].answers_to(entries[i].name)) return false;
      for (const std::string_view alias : entries[i].aliases) {
        if (entries[j].answers_to(alias)) return false;
      }
    }
  }
  return true;
}

}  // namespace detail

/// A set of codecs, as a type: `codec_registry<bytes_codec, zstd_codec>`. Two codecs that answer to
/// one name do not compile.
template <class... Cs>
struct codec_registry {
  /// These codecs and those of `Added`; one of the same name is replaced.
  template <class... Added>
  using with =
      typename detail::replaced_by<codec_registry, detail::same_name, detail::type_list<Added...>,
                                   detail::type_list<Cs...>>::type;

  static constexpr std::array<codec_entry, sizeof...(Cs)> entries{detail::entry_of<Cs>()...};
  static_assert(detail::names_differ(entries),
                "zarrpoint: two codecs of the registry answer to one name");

  static constexpr codec_table table() { return codec_table(entries); }
};

}}  // namespace zarrpoint::v0
