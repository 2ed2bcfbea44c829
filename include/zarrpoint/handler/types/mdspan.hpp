// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>

#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace detail {

template <class M>
concept tells_strides = requires(const M& mapping, std::size_t i) {
  { mapping.stride(i) } -> std::convertible_to<index_t>;
};

/// Whether `stride(i)` can be called, which an mdspan declares even where its mapping has none.
template <class M>
concept strided_mdspan = tells_strides<M> &&
    (!requires { typename M::mapping_type; } || tells_strides<typename M::mapping_type>);

/// A multidimensional span by its members, `std::`, Kokkos' or `cuda::std::mdspan`: `rank()`,
/// `extent(i)`, `stride(i)`, `is_strided()` and a `data_handle()` that is a plain pointer. One
/// whose accessor computes its elements is not.
template <class M>
concept mdspan_like = detail::storable_element<std::remove_cv_t<typename M::element_type>> &&
    std::same_as<typename M::reference, typename M::element_type&> &&
    requires(const M& span, std::size_t i) {
  { M::rank() } -> std::convertible_to<std::size_t>;
  { span.extent(i) } -> std::convertible_to<index_t>;
  { span.is_strided() } -> std::convertible_to<bool>;
  { span.data_handle() } -> std::convertible_to<typename M::element_type*>;
} &&(M::rank() <= max_rank) && (M::rank() == 0 || detail::strided_mdspan<M>);

template <mdspan_like M>
struct mdspan_handler {
  using element_type = typename M::element_type;
  static constexpr std::string_view typestr = array_kind;
  using space = host_space;
  static constexpr dtype type = element_dtype<std::remove_cv_t<element_type>>();
  static constexpr std::size_t rank = M::rank();
  static constexpr bool is_view = true;

  /// Errors: `invalid_argument` for a mapping that is not strided.
  static result<tensor_spec> spec(const M& value) {
    if (!value.is_strided())
      return error{errc::invalid_argument,
                   "the mdspan has a layout without strides: copy it to a strided one"};
    return tensor_spec{type, shape(value)};
  }
  static host_view view(const M& value) {
    return {reinterpret_cast<const std::byte*>(value.data_handle()),
            type,
            shape(value),
            strides(value),
            {},
            {}};
  }
  static mutable_host_view writable(const M& target) requires(!std::is_const_v<element_type>) {
    return {reinterpret_cast<std::byte*>(target.data_handle()),
            type,
            shape(target),
            strides(target),
            {},
            {}};
  }

 private:
  static dims shape(const M& span) {
    dims out(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) out[i] = static_cast<index_t>(span.extent(i));
    return out;
  }
  static dims strides(const M& span) {
    dims out(rank, 0);
    if constexpr (rank > 0) {
      for (std::size_t i = 0; i < rank; ++i)
        out[i] = static_cast<index_t>(span.stride(i)) * static_cast<index_t>(sizeof(element_type));
    }
    return out;
  }
};

}}}  // namespace zarrpoint::v0::detail
