// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The structural default: array-like types by what they have, xtensor's included, without their
// headers.

#include <zarrpoint/handler/base/concepts.hpp>

#include <array>
#include <string>
#include <type_traits>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A shape or strides: a sequence of integers.
template <class S>
concept extents_like = requires(const S& sequence) {
  { *sequence.begin() } -> std::convertible_to<index_t>;
  sequence.end();
  { sequence.size() } -> std::convertible_to<std::size_t>;
};

/// A dense or strided array by its members: `value_type`, `shape()` (a sequence of extents) and
/// `data()`. Also honoured: `data_offset()` and `strides()`, both counted in elements (without
/// strides the order is row-major). A nested `space`, with members `get_space()` and `ready()`, is
/// for arrays outside the host. A default constructor and `resize(shape)` are for loading. A member
/// `mark_loaded(bool)` is called with false before a load and with true after one that succeeded.
template <class A>
concept array_like = detail::storable_element<std::remove_cv_t<typename A::value_type>> &&
    detail::extents_like<std::remove_cvref_t<decltype(std::declval<const A&>().shape())>> &&
    std::convertible_to<decltype(std::declval<const A&>().data()), const typename A::value_type*>;

template <class A>
struct space_of {
  using type = host_space;
};
template <class A>
  requires memory_space<typename A::space>
struct space_of<A> {
  using type = typename A::space;
};

template <class A>
using shape_type_of = std::remove_cvref_t<decltype(std::declval<const A&>().shape())>;

/// The rank of a type whose shape is an array of a fixed number of extents.
template <class Shape>
consteval std::size_t static_rank() {
  if constexpr (requires { std::tuple_size<Shape>::value; }) {
    return std::tuple_size<Shape>::value;
  } else {
    return any_rank;
  }
}

template <class Range>
dims to_dims(const Range& range) {
  return dims::from_range(range.begin(), range.end());
}

/// The extents of `shape` in a container of the array's own kind, which `resize` knows best.
template <class Shape>
auto from_dims(const dims& shape) {
  if constexpr (static_rank<Shape>() != any_rank) {
    std::array<std::size_t, static_rank<Shape>()> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::size_t>(shape[i]);
    return out;
  } else {
    return std::vector<std::size_t>(shape.begin(), shape.end());
  }
}

template <class A>
using value_type_of = std::remove_cv_t<typename A::value_type>;

template <class A>
concept has_writable_data = requires(A& array, value_type_of<A>*& pointer) {
  pointer = array.data();
};

template <class A>
concept has_resize = requires(A& made, const dims& shape) {
  made.resize(from_dims<shape_type_of<A>>(shape));
};
template <class A>
concept resizable = std::default_initializable<A> && std::movable<A> && has_resize<A>;

template <class A>
concept has_loaded_mark = requires(A& target) {
  target.mark_loaded(true);
};

template <class A, class Space>
concept tells_space = std::convertible_to<decltype(std::declval<const A&>().get_space()), Space>;

template <class A, class Space>
concept tells_event =
    std::convertible_to<decltype(std::declval<const A&>().ready()), typename Space::event>;

template <array_like A>
struct structural_handler {
  using value_type = value_type_of<A>;
  using space = typename space_of<A>::type;
  static constexpr std::string_view typestr = array_kind;
  static constexpr auto aliases = array_aliases;
  static constexpr dtype type = element_dtype<value_type>();
  static constexpr std::size_t rank = static_rank<shape_type_of<A>>();

  static_assert(space::host_accessible || !std::same_as<value_type, std::string>,
                "zarrpoint: strings live in host memory only");

  /// Errors: `invalid_argument` above `max_rank`, `out_of_range` for extents that make no sense.
  static result<tensor_spec> spec(const A& value) {
    const auto& shape = value.shape();
    if (static_cast<std::size_t>(shape.size()) > max_rank)
      return wrong_rank(static_cast<std::size_t>(shape.size()));
    const tensor_spec out{type, to_dims(shape)};
    ZARRPOINT_CHECK(byte_count(out.shape, memory_size(type)));
    return out;
  }
  static tensor_view<space> view(const A& value) {
    const typename A::value_type* first = value.data();
    return make_view<tensor_view<space>>(value, reinterpret_cast<const std::byte*>(first));
  }
  static mutable_tensor_view<space> writable(A& target) requires has_writable_data<A> {
    value_type* first = target.data();
    return make_view<mutable_tensor_view<space>>(target, reinterpret_cast<std::byte*>(first));
  }

  static void mark_loaded(A& target, bool loaded) requires has_loaded_mark<A> {
    target.mark_loaded(loaded);
  }

  static result<A> make(const tensor_spec& stored,
                        const place<space>& where) requires resizable<A> {
    ZARRPOINT_CHECK(expect_dtype(stored, type));
    if (rank != any_rank && stored.shape.rank() != rank)
      return wrong_shape(stored, "an array of rank " + std::to_string(rank));
    A made = construct(where);
    if (to_dims(made.shape()) == stored.shape) return made;
    ZARRPOINT_CHECK(
        allocate_guarded(stored, [&] { made.resize(from_dims<shape_type_of<A>>(stored.shape)); }));
    // An array of a fixed shape ignores the call or takes it for a promise.
    if (to_dims(made.shape()) != stored.shape)
      return wrong_shape(stored, to_string(to_dims(made.shape())));
    return made;
  }

 private:
  /// A device's container is told which device and which stream, where it can be.
  static A construct(const place<space>& where) {
    if constexpr (!std::same_as<space, host_space> && std::constructible_from<A, const space&>) {
      return A(where.space);
    } else {
      return A();
    }
  }

  template <class View, class Array>
  static View make_view(const Array& array, typename View::pointer first) {
    constexpr auto size = static_cast<index_t>(sizeof(value_type));
    View out;
    out.type = type;
    out.shape = to_dims(array.shape());
    out.data = first;
    if constexpr (requires { array.strides().begin(); }) {
      out.strides = to_dims(array.strides());
      for (index_t& stride : out.strides) stride *= size;
    } else {
      out.strides = row_major_strides(out.shape, sizeof(value_type));
    }
    if constexpr (requires { array.data_offset(); }) {
      if (first != nullptr) out.data += static_cast<index_t>(array.data_offset()) * size;
    }
    if constexpr (tells_space<Array, space>) out.space = array.get_space();
    if constexpr (tells_event<Array, space>) out.ready = array.ready();
    return out;
  }
};

}}}  // namespace zarrpoint::v0::detail
