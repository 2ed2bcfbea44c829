// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which C++ type a stored kind becomes when the file decides at run time: loading a whole tree; and
// by which handlers `save<Registry>` and `load<T, Registry>` go. Without one they go by each
// type's own.

#include <zarrpoint/core/type_list.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace zarrpoint { inline namespace v0 {

/// An entry of a registry: `T`, saved and restored by `Handler`. It restores the kinds that the
/// handler names, of the dtype and the rank that the handler fixes. A value of several leaves has
/// no kind, and is loaded by its type alone.
template <class T, class Handler = handler_of<T>>
struct bind {
  using type = T;
  using handler = Handler;
};

/// An entry for every type of which the trait `Predicate<T>::value` holds, with the handler
/// `Handler<T>`. It serves look-up by type; it restores nothing, since a file cannot name `T`.
template <template <class> class Predicate, template <class> class Handler>
struct bind_if {};

namespace detail {

/// A string as a template argument.
template <std::size_t N>
struct fixed_string {
  char text[N]{};
  consteval fixed_string(const char (&from)[N]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
  constexpr std::string_view view() const noexcept { return {text, N - 1}; }
};

}  // namespace detail

/// An entry that names the C++ type that the stored kind `Kind` is restored as:
/// `registry<...>::with<restore_type<"np.ndarray", xt::xarray<float>>>`. Numbers of another dtype
/// are cast to those of `T`. Look-up by type ignores it.
template <detail::fixed_string Kind, class T, class Handler = handler_of<T>>
struct restore_type {
  using type = T;
  using handler = Handler;
};

namespace detail {

template <class H>
constexpr auto handler_kinds() {
  if constexpr (!requires { H::typestr; }) {  // a group of leaves has no kind
    return std::array<std::string_view, 0>{};
  } else if constexpr (requires { H::aliases; }) {
    std::array<std::string_view, 1 + std::size(H::aliases)> kinds{std::string_view(H::typestr)};
    for (std::size_t i = 1; i < kinds.size(); ++i) kinds[i] = H::aliases[i - 1];
    return kinds;
  } else {
    return std::array<std::string_view, 1>{std::string_view(H::typestr)};
  }
}

/// What each sort of entry says. `kinds` are the stored kinds that it restores.
template <class Entry>
struct entry_traits;

template <class T, class H>
struct entry_traits<bind<T, H>> {
  static_assert(saving_handler<H, T> || blob_handler<H, T> || group_handler<H, T>,
                "zarrpoint: an entry of a registry whose handler does not fit its type; see "
                "handler/base/concepts.hpp for what a handler holds");
  template <class U>
  static constexpr bool is_for = std::is_same_v<T, U>;
  template <class U>
  using handler_for = H;
  static constexpr bool restores = loading_handler<H, T> || blob_handler<H, T>;
  static constexpr bool casts = false;
  static constexpr bool is_blob = blob_handler<H, T>;
  static constexpr auto kinds = handler_kinds<H>();
  static constexpr dtype type = handler_dtype<H>();
  static constexpr std::size_t rank = handler_rank<H>();
};
template <fixed_string Kind, class T, class H>
struct entry_traits<restore_type<Kind, T, H>> : entry_traits<bind<T, H>> {
  static_assert(loading_handler<H, T> || blob_handler<H, T>,
                "zarrpoint: restore_type of a type that its handler cannot make");
  template <class U>
  static constexpr bool is_for = false;
  static constexpr std::array<std::string_view, 1> kinds{Kind.view()};
  static constexpr bool casts = true;
};
template <template <class> class Predicate, template <class> class Handler>
struct entry_traits<bind_if<Predicate, Handler>> {
  template <class U>
  static constexpr bool is_for = Predicate<U>::value;
  template <class U>
  using handler_for = Handler<U>;
  static constexpr bool restores = false;
};

template <class Entry>
constexpr bool entry_has_kind(std::string_view kind) {
  for (const std::string_view own : entry_traits<Entry>::kinds) {
    if (own == kind) return true;
  }
  return false;
}

/// Whether an array of kind `kind` is this entry's; without a kind the dtype decides, and blobs,
/// which are not arrays, do not count.
template <class Entry>
constexpr bool entry_matches(std::string_view kind, const tensor_spec& stored) {
  using traits = entry_traits<Entry>;
  if constexpr (!traits::restores) {
    return false;
  } else {
    // Without a kind only entries that do not cast: the dtype must tell.
    const bool right_kind =
        kind.empty() ? !traits::is_blob && !traits::casts : entry_has_kind<Entry>(kind);
    const bool right_type = !traits::type.valid() || traits::type == stored.type ||
                            (traits::casts && stored.type.castable_to(traits::type));
    return right_kind && right_type &&
           (traits::rank == any_rank || traits::rank == stored.shape.rank());
  }
}

/// Whether `First` is chosen for everything that `Second` restores.
template <class First, class Second>
consteval bool entry_covers() {
  using first = entry_traits<First>;
  using second = entry_traits<Second>;
  if constexpr (!first::restores || !second::restores) {
    return false;
  } else {
    for (const std::string_view kind : second::kinds) {
      if (!entry_has_kind<First>(kind)) return false;
    }
    return (!first::type.valid() || first::type == second::type) &&
           (first::rank == any_rank || first::rank == second::rank);
  }
}

template <class First, class Second>
inline constexpr bool same_bound_type = false;
template <class T, class H1, class H2>
inline constexpr bool same_bound_type<bind<T, H1>, bind<T, H2>> = true;

/// Whether `Newer` takes the place of `Older` in an override.
template <class Newer, class Older>
struct replaces
    : std::bool_constant<same_bound_type<Newer, Older> || entry_covers<Newer, Older>()> {};

/// The first entry for `T`; its handler, or `no_handler`.
template <class T, class... Entries>
struct entry_handler {
  using type = no_handler;
};
template <class T, class Head, class... Tail>
struct entry_handler<T, Head, Tail...> : entry_handler<T, Tail...> {};
template <class T, class Head, class... Tail>
  requires(entry_traits<Head>::template is_for<T>)
struct entry_handler<T, Head, Tail...> {
  using type = typename entry_traits<Head>::template handler_for<T>;
};

/// `std::variant<std::monostate, ...>` of the types that can be restored, each once.
template <class Variant, class... Entries>
struct value_of {
  using type = Variant;
};
template <class... Ts, class Head, class... Tail>
struct value_of<std::variant<Ts...>, Head, Tail...> : value_of<std::variant<Ts...>, Tail...> {};
template <class... Ts, class Head, class... Tail>
  requires(entry_traits<Head>::restores)
struct value_of<std::variant<Ts...>, Head, Tail...> {
  using added = std::conditional_t<(std::is_same_v<Ts, typename Head::type> || ...),
                                   std::variant<Ts...>, std::variant<Ts..., typename Head::type>>;
  using type = typename value_of<added, Tail...>::type;
};

template <class... Entries>
struct first_restored {
  static_assert(sizeof...(Entries) > 0, "zarrpoint: no entry of this registry restores a type");
};
template <class Head, class... Tail>
struct first_restored<Head, Tail...> : first_restored<Tail...> {};
template <class Head, class... Tail>
  requires(entry_traits<Head>::restores)
struct first_restored<Head, Tail...> {
  using type = Head;
};

/// Fails on an entry that makes no sense, or that an earlier one of the same list hides.
template <class... Entries>
struct check_entries {};
template <class Head, class... Tail>
struct check_entries<Head, Tail...> : check_entries<Tail...> {
  static_assert(sizeof(entry_traits<Head>) != 0);
  static_assert(!(same_bound_type<Head, Tail> || ...),
                "zarrpoint: a registry with two entries for one type; use registry::with<...> to "
                "override an entry");
  static_assert(
      !(entry_covers<Head, Tail>() || ...),
      "zarrpoint: a registry in which an earlier entry restores the same (typestr, dtype, "
      "rank), so that a later one is never chosen; use registry::with<...> to override "
      "an entry");
};

inline error unknown_kind(std::string_view typestr, const tensor_spec& stored) {
  std::string text = "no entry of the registry restores ";
  text.append(to_string(stored));
  if (!typestr.empty()) text.append(" of kind \"").append(typestr).append("\"");
  text.append("; add bind<T, Handler>, or restore_type<\"kind\", T>");
  return {errc::unsupported, std::move(text)};
}

}  // namespace detail

/// A list of types with their handlers: `bind`, `bind_if` and `restore_type` entries in the order
/// of their precedence; the first match wins. A type, not an object: nothing is registered at run
/// time.
template <class... Entries>
struct registry : private detail::check_entries<Entries...> {
  /// A registry with these entries first; they replace those for the same types, and those that
  /// would never be chosen behind them.
  template <class... Newer>
  using with = typename detail::replaced_by<registry, detail::replaces, detail::type_list<Newer...>,
                                            detail::type_list<Entries...>>::type;

  /// The handler of `T`, or one that satisfies no concept.
  template <class T>
  using handler_for = typename detail::entry_handler<std::remove_cvref_t<T>, Entries...>::type;

  /// Whether some entry is for `T`.
  template <class T>
  static constexpr bool contains = !std::is_same_v<handler_for<T>, detail::no_handler>;

  /// What `load_all` gives per leaf: one of the types that the entries restore.
  using value = typename detail::value_of<std::variant<std::monostate>, Entries...>::type;

  /// `f(entry)` for the first entry that restores arrays of that kind; `entry` has the members
  /// `type` and `handler`. An array without a kind (others wrote it) goes by its dtype. `f` returns
  /// one type of `result`. Errors: `unsupported` when there is none, else those of `f`.
  template <class F>
  static auto dispatch(std::string_view typestr, const tensor_spec& stored, F&& f) {
    using first = typename detail::first_restored<Entries...>::type;
    using returned = std::invoke_result_t<F&, first>;
    return step<returned, F, Entries...>(typestr, stored, f);
  }

 private:
  template <class R, class F>
  static R step(std::string_view typestr, const tensor_spec& stored, F&) {
    return detail::unknown_kind(typestr, stored);
  }
  template <class R, class F, class Head, class... Tail>
  static R step(std::string_view typestr, const tensor_spec& stored, F& f) {
    if constexpr (detail::entry_traits<Head>::restores) {
      if (detail::entry_matches<Head>(typestr, stored)) return f(Head{});
    }
    return step<R, F, Tail...>(typestr, stored, f);
  }
};

/// A registry of types with their own handlers.
template <class... Ts>
using registry_of = registry<bind<Ts>...>;

}}  // namespace zarrpoint::v0
