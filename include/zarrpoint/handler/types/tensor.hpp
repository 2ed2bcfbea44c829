// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/memory/tensor.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The library's own tensor: any dtype, any rank, from the memory resource of the place.
template <>
struct builtin_handler<tensor> {
  static constexpr std::string_view typestr = array_kind;
  static constexpr auto aliases = array_aliases;
  using space = host_space;

  /// Errors: `invalid_argument` for an empty tensor.
  static result<tensor_spec> spec(const tensor& value) {
    if (!value.type().valid()) return error{errc::invalid_argument, "an empty tensor"};
    return value.spec();
  }
  static host_view view(const tensor& value) { return value.view(); }
  static result<tensor> make(const tensor_spec& stored, const place<space>& where) {
    return tensor::make(stored, where.resource != nullptr ? *where.resource : default_resource());
  }
  static mutable_host_view writable(tensor& target) { return target.mutable_view(); }
};

}}}  // namespace zarrpoint::v0::detail
