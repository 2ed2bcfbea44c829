// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The shape and the elements of `T[N]`, `std::array<T, N>` and what nests them.
template <class T>
struct fixed_extents {
  using element_type = T;
  static constexpr std::size_t rank = 0;
  static constexpr void append(dims&) {}
};
template <class T, std::size_t N>
struct nested_extents {
  using element_type = typename fixed_extents<T>::element_type;
  static constexpr std::size_t rank = 1 + fixed_extents<T>::rank;
  static constexpr void append(dims& shape) {
    shape.push_back(static_cast<index_t>(N));
    fixed_extents<T>::append(shape);
  }
};
template <class T, std::size_t N>
struct fixed_extents<std::array<T, N>> : nested_extents<T, N> {
  // Elements of nested arrays follow each other only if no array is padded.
  static_assert(N == 0 || sizeof(std::array<T, N>) == N * sizeof(T));
};
template <class T, std::size_t N>
struct fixed_extents<T[N]> : nested_extents<T, N> {};

/// An array whose shape is part of its type: what is stored must have that very shape, and as a
/// target it takes any shape of as many elements.
template <class A>
struct fixed_array_handler {
  using extents = fixed_extents<A>;
  static constexpr std::string_view typestr = array_kind;
  static constexpr auto aliases = array_aliases;
  using space = host_space;
  static constexpr dtype type = element_dtype<typename extents::element_type>();
  static constexpr std::size_t rank = extents::rank;
  static constexpr bool is_flat = true;

  static tensor_spec spec(const A&) { return {type, shape()}; }
  static host_view view(const A& value) {
    return dense_view(reinterpret_cast<const std::byte*>(&value), {type, shape()});
  }
  static mutable_host_view writable(A& target) {
    return dense_view(reinterpret_cast<std::byte*>(&target), {type, shape()});
  }
  static constexpr dims shape() {
    dims out;
    extents::append(out);
    return out;
  }
};

template <class T>
concept fixed_array_element =
    storable_element<typename fixed_extents<T>::element_type> && fixed_extents<T>::rank < max_rank;

template <fixed_array_element T, std::size_t N>
struct builtin_handler<std::array<T, N>> : fixed_array_handler<std::array<T, N>> {
  static result<std::array<T, N>> make(const tensor_spec& stored, const place<host_space>&) {
    using base = fixed_array_handler<std::array<T, N>>;
    ZARRPOINT_CHECK(expect_dtype(stored, base::type));
    if (stored.shape != base::shape()) return wrong_shape(stored, to_string(base::shape()));
    return std::array<T, N>{};
  }
};

template <fixed_array_element T, std::size_t N>
struct builtin_handler<T[N]> : fixed_array_handler<T[N]> {};

/// A span is an array of rank 1 that others own; as a target it takes any shape of as many
/// elements.
template <class T, std::size_t Extent>
  requires storable_element<std::remove_cv_t<T>>
struct builtin_handler<std::span<T, Extent>> {
  using span = std::span<T, Extent>;
  static constexpr std::string_view typestr = array_kind;
  using space = host_space;
  static constexpr dtype type = element_dtype<std::remove_cv_t<T>>();
  static constexpr std::size_t rank = 1;
  static constexpr bool is_view = true;
  static constexpr bool is_flat = true;

  static tensor_spec spec(const span& value) {
    return {type, {static_cast<index_t>(value.size())}};
  }
  static host_view view(const span& value) {
    return dense_view(reinterpret_cast<const std::byte*>(value.data()), spec(value));
  }
  static mutable_host_view writable(const span& target) requires(!std::is_const_v<T>) {
    return dense_view(reinterpret_cast<std::byte*>(target.data()), spec(target));
  }
};

/// A vector is an array of rank 1; as a target of `load_into` it keeps its size and takes any shape
/// of as many elements. `std::vector<bool>` packs its bits and is refused: no view of it exists.
template <storable_element T, class Allocator>
  requires(!std::same_as<T, bool>)
struct builtin_handler<std::vector<T, Allocator>> {
  using vector = std::vector<T, Allocator>;
  static constexpr std::string_view typestr = array_kind;
  static constexpr auto aliases = array_aliases;
  using space = host_space;
  static constexpr dtype type = element_dtype<T>();
  static constexpr std::size_t rank = 1;
  static constexpr bool is_flat = true;

  static tensor_spec spec(const vector& value) {
    return {type, {static_cast<index_t>(value.size())}};
  }
  static host_view view(const vector& value) {
    return dense_view(reinterpret_cast<const std::byte*>(value.data()), spec(value));
  }
  static result<vector> make(const tensor_spec& stored, const place<space>&) {
    ZARRPOINT_CHECK(expect_dtype(stored, type));
    if (stored.shape.rank() != 1)
      return wrong_shape(stored, "[n]: a std::vector has one dimension");
    vector made;
    ZARRPOINT_CHECK(
        allocate_guarded(stored, [&] { made.resize(static_cast<std::size_t>(stored.shape[0])); }));
    return made;
  }
  static mutable_host_view writable(vector& target) {
    return dense_view(reinterpret_cast<std::byte*>(target.data()), spec(target));
  }
};

}}}  // namespace zarrpoint::v0::detail
