// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Why a type is not a leaf, said where the user reads it. Each function is called after the concept
// has failed, so that its message is the first one.

#include <zarrpoint/handler/types/foreign_types.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class T>
inline constexpr bool is_packed_bools = false;
template <class Allocator>
inline constexpr bool is_packed_bools<std::vector<bool, Allocator>> = true;

/// Whether a value becomes a `std::string` leaf: literals, `const char*`, `std::string_view`.
template <class T>
concept text_like = !savable<T> && !std::same_as<T, std::nullptr_t> && !blob_leaf<T> &&
                    !leaf_group<T> && std::convertible_to<const T&, std::string_view>;

/// A function `zarrpoint_members` takes `T`, but is not `T`'s own: a template, or one of a base.
template <class T>
concept has_foreign_members = std::is_class_v<T> && !leaf_group<T> && requires(T & value) {
  zarrpoint_members(value);
};

/// For a type with such a function that is nothing else that can be saved.
template <class T>
consteval void explain_members() {
  static_assert(!has_foreign_members<T>,
                "zarrpoint: zarrpoint_members takes this type as a function template, or for its "
                "base, and either could leave out members of a derived type: write a function for "
                "the type itself; a class template has it as a friend that is defined in it");
}

/// Passes when `T` can be a leaf of `save`; otherwise says how to mend it.
template <class T>
consteval void require_leaf() {
  constexpr bool ok = savable<T> || blob_leaf<T> || leaf_group<T> || text_like<T>;
  if constexpr (!ok && is_packed_bools<T>) {
    static_assert(ok,
                  "zarrpoint: std::vector<bool> packs its bits and has no elements to view; use "
                  "std::vector<std::uint8_t>, std::array<bool, N> or zarrpoint::tensor");
  } else if constexpr (!ok && std::is_pointer_v<T>) {
    static_assert(ok,
                  "zarrpoint: a pointer does not say how many elements there are; wrap it in a "
                  "std::span, an mdspan or xt::adapt");
  } else if constexpr (!ok && (std::same_as<T, char> || std::same_as<T, wchar_t> ||
                               std::same_as<T, char8_t> || std::same_as<T, char16_t> ||
                               std::same_as<T, char32_t>)) {
    static_assert(ok,
                  "zarrpoint: a character is text, not a number; save a std::string, or cast it "
                  "to std::int8_t or another integer");
  } else if constexpr (!ok && has_foreign_members<T>) {
    explain_members<T>();
  } else if constexpr (!ok && is_explained<T>) {
    explain_foreign<T>();
  } else {
    static_assert(ok,
                  "zarrpoint: this type cannot be saved. Three ways out: (1) specialise "
                  "zarrpoint::type_handler<T> (copy examples/handlers/my_tensor_handler.hpp); "
                  "(2) give T a nested type zarrpoint_handler; (3) make T array-like (value_type, "
                  "shape(), data()) or save a std::span of its elements. Structs, optionals, "
                  "variants, maps and enumerations: include <zarrpoint/members.hpp>. A lazy "
                  "expression must be evaluated first. Element types of your own need "
                  "zarrpoint::dtype_of<T>");
  }
}

/// Passes when `T` has elements to write to a part of an array; otherwise says how to mend it.
template <class T>
consteval void require_savable() {
  if constexpr (!savable<T>) require_leaf<T>();
  static_assert(savable<T> || !(blob_leaf<T> || leaf_group<T> || text_like<T>),
                "zarrpoint: this type is stored as bytes, text or a group and has no elements to "
                "write to a part of an array; pass a tensor, a std::span, or a std::string");
}

/// Passes when `load<T>` can make a `T`; otherwise says how to mend it.
template <class T>
consteval void require_loadable() {
  constexpr bool ok = loadable<T> || blob_leaf<T>;
  if constexpr (!ok && is_packed_bools<T>) {
    static_assert(ok,
                  "zarrpoint: std::vector<bool> packs its bits and has no elements to fill; use "
                  "std::vector<std::uint8_t>, std::array<bool, N> or zarrpoint::tensor");
  } else if constexpr (!ok && savable<T>) {
    static_assert(ok,
                  "zarrpoint: this type can be saved but not made: it borrows its elements or its "
                  "handler lacks make(spec, place) or writable(target). Load an owning type, or "
                  "use load_into with memory of your own");
  } else if constexpr (!ok && leaf_group<T>) {
    static_assert(ok,
                  "zarrpoint: a value of several leaves is loaded as a whole, by load<T>(name); "
                  "for parts, and for a place of your own, load its members one by one");
  } else if constexpr (!ok && has_foreign_members<T>) {
    explain_members<T>();
  } else if constexpr (!ok && is_explained<T>) {
    explain_foreign<T>();
  } else {
    static_assert(ok,
                  "zarrpoint: this type cannot be loaded. Three ways out: (1) specialise "
                  "zarrpoint::type_handler<T> (copy examples/handlers/my_tensor_handler.hpp); "
                  "(2) give T a nested type zarrpoint_handler; (3) make T array-like (value_type, "
                  "shape(), data(), resize(shape)), or use load_into with a std::span");
  }
}

/// Passes when a target bound as `T&&` can be loaded into; otherwise says how to mend it.
template <class T>
consteval void require_fillable() {
  constexpr bool ok = fillable<T>;
  if constexpr (!ok && (savable<T> || loadable<T>)) {
    static_assert(ok,
                  "zarrpoint: the target is read-only: it is const, views const "
                  "elements, or its handler lacks writable(target)");
  } else if constexpr (!ok && leaf_group<T>) {
    static_assert(ok,
                  "zarrpoint: a value of several leaves is not a target; assign what load<T>(name) "
                  "gives, or use load_into with each of its members");
  } else if constexpr (!ok && is_explained<std::remove_cvref_t<T>>) {
    explain_foreign<std::remove_cvref_t<T>>();
  } else {
    static_assert(ok,
                  "zarrpoint: this type cannot be loaded or read into; pass a std::span, an "
                  "mdspan, an array-like type, or one with a zarrpoint::type_handler<T>");
  }
}

}}}  // namespace zarrpoint::v0::detail
