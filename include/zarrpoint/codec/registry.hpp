// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/any_codec.hpp>
#include <zarrpoint/codec/known_codecs.hpp>
#include <zarrpoint/codec/spec.hpp>
#include <zarrpoint/core/printable.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint::inline v0 {

/// One codec of a table.
struct codec_entry {
  std::string_view name;
  std::span<const std::string_view> aliases;
  codec_kind kind;
  result<any_codec> (*make)(const node& configuration);

  constexpr bool answers_to(std::string_view wanted) const noexcept {
    if (wanted == name) return true;
    for (const std::string_view alias : aliases) {
      if (wanted == alias) return true;
    }
    return false;
  }
};

/// The codecs that are known at run time: a handle to the constant table of a `codec_registry`.
class codec_table {
 public:
  /// No codecs at all.
  constexpr codec_table() = default;
  constexpr explicit codec_table(std::span<const codec_entry> entries) : entries_(entries) {}

  constexpr std::span<const codec_entry> entries() const noexcept { return entries_; }
  const codec_entry* find(std::string_view name) const noexcept {
    for (const codec_entry& entry : entries_) {
      if (entry.answers_to(name)) return &entry;
    }
    return nullptr;
  }

  /// The codec that `spec` names. Errors: `unsupported`, with the header to include when the
  /// library has one, or why it has none; `invalid_argument` for a configuration that makes no
  /// sense.
  result<any_codec> make(const codec_spec& spec) const {
    const codec_entry* const entry = find(spec.name);
    if (entry == nullptr)
      return error{errc::unsupported, "unknown codec " + detail::in_quotes(spec.name) +
                                          detail::about_codec(spec.name)};
    return entry->make(spec.configuration).at("codec " + detail::in_quotes(spec.name));
  }

 private:
  std::span<const codec_entry> entries_;
};

namespace detail {

template <class C>
constexpr std::span<const std::string_view> aliases_of() {
  if constexpr (requires { C::aliases; }) {
    return C::aliases;
  } else {
    return {};
  }
}

template <class C>
constexpr codec_entry entry_of() {
  return {C::name, aliases_of<C>(), kind_of<C>(),
          [](const node& configuration) -> result<any_codec> {
            ZARRPOINT_TRY(made, C::from_configuration(configuration));
            return any_codec(std::move(made));
          }};
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
 private:
  template <class... Ts>
  struct list {};

  template <class Kept, class... Rest>
  struct joined;
  template <class... Kept>
  struct joined<list<Kept...>> {
    using type = codec_registry<Kept...>;
  };
  template <class... Kept, class C, class... Rest>
  struct joined<list<Kept...>, list<C>, Rest...> : joined<list<Kept..., C>, Rest...> {};
  template <class... Kept, class... Rest>
  struct joined<list<Kept...>, list<>, Rest...> : joined<list<Kept...>, Rest...> {};

  template <class C, class... Added>
  using unless_replaced = std::conditional_t<((C::name == Added::name) || ...), list<>, list<C>>;

 public:
  /// These codecs and those of `Added`; one of the same name is replaced.
  template <class... Added>
  using with = typename joined<list<Added...>, unless_replaced<Cs, Added...>...>::type;

  static constexpr std::array<codec_entry, sizeof...(Cs)> entries{detail::entry_of<Cs>()...};
  static_assert(detail::names_differ(entries),
                "zarrpoint: two codecs of the registry answer to one name");

  static constexpr codec_table table() { return codec_table(entries); }
};

}  // namespace zarrpoint::inline v0
