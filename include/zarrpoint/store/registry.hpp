// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/url.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace zarrpoint::inline v0 {

/// What opens the URLs of one scheme: a type with `name`, the scheme in lower case, and `open`.
template <class S>
concept store_scheme = requires(const url& at, const place_use& use) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::open(at, use) } -> std::same_as<result<stored_place>>;
};

/// `file://`: a directory, or a zip file if the path means one.
struct file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use) {
    ZARRPOINT_TRY(path, at.path());
    return directory_place(path, use);
  }
};

/// `zip://`: a zip file of stored members. That of <zarrpoint/store/zip_inflate.hpp> reads deflated
/// ones, too.
struct zip_scheme {
  static constexpr std::string_view name = "zip";
  static result<stored_place> open(const url& at, const place_use& use) {
    ZARRPOINT_TRY(path, at.path());
    return zip_place(path, use);
  }
};

/// One scheme of a table.
struct store_entry {
  std::string_view scheme;
  result<stored_place> (*open)(const url& at, const place_use& use);
};

/// The schemes that are known at run time: a handle to the constant table of a `store_registry`.
class store_table {
 public:
  /// No schemes at all.
  constexpr store_table() = default;
  constexpr explicit store_table(std::span<const store_entry> entries) : entries_(entries) {}

  constexpr std::span<const store_entry> entries() const noexcept { return entries_; }

  /// What `path_or_url` names. A string without `://` is a path, and stands for `zip://` if it
  /// names a zip file, else for `file://`. Errors: `unsupported` for a scheme that is not in the
  /// table, and those of the scheme.
  template <class = void>
  result<stored_place> open(const std::string& path_or_url, const place_use& use) const {
    const std::optional<url> parsed = url::parse(path_or_url);
    if (!parsed) return open_path(path_or_url, use);
    if (parsed->scheme == file_scheme::name) {
      ZARRPOINT_TRY(path, parsed->path());
      return open_path(path, use);
    }
    ZARRPOINT_TRY(entry, find(parsed->scheme));
    return entry->open(*parsed, use);
  }

 private:
  template <class = void>
  result<const store_entry*> find(std::string_view scheme) const {
    for (const store_entry& entry : entries_)
      if (entry.scheme == scheme) return &entry;
    std::string text = "no store for " + detail::in_quotes(std::string(scheme) + "://") +
                       "; the table of the context has";
    for (const store_entry& entry : entries_) text.append(" ").append(entry.scheme).append("://");
    text += " (context::stores = default_stores::with<...>::table() adds one)";
    return error{errc::unsupported, std::move(text)};
  }

  template <class = void>
  result<stored_place> open_path(const std::string& path, const place_use& use) const {
    const bool is_zip = detail::is_zip_path(path);
    ZARRPOINT_TRY(entry, find(is_zip ? zip_scheme::name : file_scheme::name));
    return entry->open(url::of_path(entry->scheme, path), use);
  }

  std::span<const store_entry> entries_;
};

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

}  // namespace zarrpoint::inline v0
