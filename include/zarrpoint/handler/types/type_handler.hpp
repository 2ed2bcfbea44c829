// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The customisation point: which C++ types can be saved and loaded, and how.
//
// The order of choice for T, made here and not by overloads, so that nothing is ambiguous:
// 1. a specialisation `zarrpoint::type_handler<T>`, which may be partial and constrained;
// 2. a nested `T::zarrpoint_handler`, a struct or an alias;
// 3. the library's own handlers of standard types;
// 4. the structural defaults: array-likes and mdspans.
// handler/base/concepts.hpp says what a handler holds.

#include <zarrpoint/handler/types/mdspan.hpp>
#include <zarrpoint/handler/types/scalar.hpp>
#include <zarrpoint/handler/types/sequences.hpp>
#include <zarrpoint/handler/types/structural.hpp>
#include <zarrpoint/handler/types/tensor.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Stands for "no handler"; satisfies no concept.
struct no_handler {};

/// Binds to a `T&` or `const T&`, not to a reference to a base of `T`.
template <class T>
struct exactly {
  template <class U>
    requires std::same_as<std::remove_const_t<U>, T>
  operator U&() const;  // NOLINT(google-explicit-constructor)
};

/// By a function `zarrpoint_members(T&)` of the type's namespace.
template <class T>
struct members_function_handler {
  static auto members(T& value) { return zarrpoint_members(value); }
};

template <class T>
consteval auto choose_handler() {
  if constexpr (requires { sizeof(type_handler<T>); }) {
    return std::type_identity<type_handler<T>>{};
  } else if constexpr (std::is_class_v<T> && !requires { sizeof(T); }) {
    static_assert(sizeof(T*) == 0,
                  "zarrpoint: this type is only declared here: include the header that defines it, "
                  "such as <xtensor/xtensor.hpp>, before its first use");
    return std::type_identity<no_handler>{};
  } else if constexpr (requires { typename T::zarrpoint_handler; }) {
    return std::type_identity<typename T::zarrpoint_handler>{};
  } else if constexpr (requires { sizeof(builtin_handler<T>); }) {
    return std::type_identity<builtin_handler<T>>{};
  } else if constexpr (requires(const exactly<T>& value) { zarrpoint_members(value); }) {
    return std::type_identity<members_function_handler<T>>{};
  } else if constexpr (array_like<T>) {
    return std::type_identity<structural_handler<T>>{};
  } else if constexpr (mdspan_like<T>) {
    return std::type_identity<mdspan_handler<T>>{};
  } else {
    return std::type_identity<no_handler>{};
  }
}

}  // namespace detail

/// The handler of `T`, whose cv-qualifiers and reference do not count. A type that has none gives
/// one that satisfies no concept.
template <class T>
using handler_of = typename decltype(detail::choose_handler<std::remove_cvref_t<T>>())::type;

namespace detail {

/// Stands for a registry that has a handler of its own for nothing.
struct own_handlers {
  template <class T>
  using handler_for = no_handler;
};

template <class T, class Registry>
consteval auto choose_handler_in() {
  using bound = typename Registry::template handler_for<T>;
  if constexpr (saving_handler<bound, T> || blob_handler<bound, T> || group_handler<bound, T>) {
    return std::type_identity<bound>{};
  } else {
    return std::type_identity<handler_of<T>>{};
  }
}

/// The handler that `Registry` has for `T`, or the type's own if it has none.
template <class T, class Registry>
using handler_in =
    typename decltype(detail::choose_handler_in<std::remove_cvref_t<T>, Registry>())::type;

}  // namespace detail

/// `R` is a `registry`, which has handlers of its own for some types.
template <class R>
concept type_registry = requires {
  typename R::template handler_for<int>;
};

/// `T` can be saved: its handler tells its spec and lends a view of its elements.
template <class T>
concept savable = saving_handler<handler_of<T>, std::remove_cvref_t<T>>;

/// `T` can be made from a spec, and filled: `load<T>` returns one.
template <class T>
concept loadable = loading_handler<handler_of<T>, std::remove_cvref_t<T>>;

/// A target bound as `T&&` can be loaded into.
template <class T>
concept fillable = filling_handler<handler_of<T>, std::remove_reference_t<T>>;

namespace detail {

/// `T` is a leaf that is not a tensor: it is saved as bytes of its own making.
template <class T>
concept blob_leaf = blob_handler<handler_of<T>, std::remove_cvref_t<T>>;

/// `T` is several leaves: a group of its members.
template <class T>
concept leaf_group = group_handler<handler_of<T>, std::remove_cvref_t<T>>;

}  // namespace detail

/// Where a handler's elements live.
template <class T>
using space_of_t = typename handler_of<T>::space;

namespace detail {

/// To be asked before `writable`: it is where a handler refuses what has no view.
template <class Handler, class T>
result<void> check_target([[maybe_unused]] T& target) {
  if constexpr (requires { Handler::spec(target); })
    ZARRPOINT_CHECK(result<tensor_spec>(Handler::spec(target)));
  if constexpr (requires { Handler::check_target(target); })
    ZARRPOINT_CHECK(Handler::check_target(target));
  return {};
}

/// The view of a target into which an array of spec `stored` goes: its own shape must be the stored
/// one, or, for a flat target, have as many elements. The dtypes may differ; whether that is a cast
/// or an error is the caller's to say. Errors: `shape_mismatch` naming both shapes,
/// `invalid_argument` for a target in which elements share an address.
template <class Handler, class T>
result<mutable_tensor_view<typename Handler::space>> target_view(T& target,
                                                                 const tensor_spec& stored) {
  ZARRPOINT_CHECK(detail::check_target<Handler>(target));
  mutable_tensor_view<typename Handler::space> view = Handler::writable(target);
  if (view.shape != stored.shape) {
    const bool fits =
        handler_is_flat<Handler>() && is_dense(view) &&
        element_count(view.shape).value_or(-1) == element_count(stored.shape).value_or(-2);
    if (!fits) return detail::wrong_shape(stored, "the target's " + to_string(view.shape));
    view.shape = stored.shape;
    view.strides = row_major_strides(view.shape, memory_size(view.type));
  }
  if (element_count(view.shape).value_or(-1) == 0) return view;
  for (std::size_t i = 0; i < view.rank(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] == 0)
      return error{errc::invalid_argument, "the target's elements overlap in dimension " +
                                               std::to_string(i) + " (stride 0)"};
  }
  return view;
}

/// Tells a target whether its elements are those of a load, if its handler wants to know.
template <class Handler, class T>
void mark_loaded([[maybe_unused]] T& target, [[maybe_unused]] bool loaded) {
  if constexpr (requires { Handler::mark_loaded(target, loaded); })
    Handler::mark_loaded(target, loaded);
}

/// The same by the target's own handler.
template <fillable T>
auto target_view(T&& target, const tensor_spec& stored) {
  return target_view<handler_of<T>, std::remove_reference_t<T>>(target, stored);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
