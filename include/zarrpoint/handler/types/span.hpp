// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

}}}  // namespace zarrpoint::v0::detail
