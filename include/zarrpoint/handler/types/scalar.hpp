// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Numbers, `bool`, `std::byte` and every other C++ type that stands for a dtype: arrays of rank 0.
template <element T>
struct builtin_handler<T> {
  static constexpr std::string_view typestr = scalar_kind;
  using space = host_space;
  static constexpr dtype type = dtype_of<T>;
  static constexpr std::size_t rank = 0;

  static tensor_spec spec(const T&) { return {type, {}}; }
  static host_view view(const T& value) {
    return {reinterpret_cast<const std::byte*>(&value), type, {}, {}, {}, {}};
  }
  static result<T> make(const tensor_spec& stored, const place<space>&) {
    ZARRPOINT_CHECK(expect_dtype(stored, type));
    if (stored.shape.rank() != 0) return wrong_shape(stored, "a scalar, []");
    return T{};
  }
  static mutable_host_view writable(T& target) {
    return {reinterpret_cast<std::byte*>(&target), type, {}, {}, {}, {}};
  }
};

/// A string is an array of rank 0 with one UTF-8 element.
template <>
struct builtin_handler<std::string> {
  static constexpr std::string_view typestr = string_kind;
  using space = host_space;
  static constexpr dtype type = dtype_kind::string;
  static constexpr std::size_t rank = 0;

  static tensor_spec spec(const std::string&) { return {type, {}}; }
  static host_view view(const std::string& value);
  static result<std::string> make(const tensor_spec& stored, const place<space>&);
  static mutable_host_view writable(std::string& target);
};

}}}  // namespace zarrpoint::v0::detail
