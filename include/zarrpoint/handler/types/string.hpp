// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/handler/types/impl/string_impl.hpp>
#endif
