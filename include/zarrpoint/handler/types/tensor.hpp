// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The library's own tensor: any dtype, any rank, from the memory resource of the place.
template <>
struct builtin_handler<tensor> {
  static constexpr std::string_view typestr = array_kind;
  static constexpr auto aliases = array_aliases;
  using space = host_space;

  /// Errors: `invalid_argument` for an empty tensor.
  static result<tensor_spec> spec(const tensor& value) {
    if (!value.type().valid())
      return error{errc::invalid_argument, "the tensor is empty: it has no memory"};
    return value.spec();
  }
  static host_view view(const tensor& value) { return value.view(); }
  static result<tensor> make(const tensor_spec& stored, const place<space>& where) {
    return tensor::make(stored, where.resource != nullptr ? *where.resource : default_resource());
  }
  static mutable_host_view writable(tensor& target) { return target.mutable_view(); }
};

/// A view in any memory space, of a dtype known only at run time: what a file of another format
/// lends is saved as it is. Its `data` must be valid for its spec and strides.
template <memory_space Space, bool Writable>
struct builtin_handler<basic_tensor_view<Space, Writable>> {
  static constexpr std::string_view typestr = array_kind;
  using space = Space;
  static constexpr bool is_view = true;

  static result<tensor_spec> spec(const basic_tensor_view<Space, Writable>& value) {
    if (!value.type.valid()) return error{errc::invalid_argument, "the view has an invalid dtype"};
    ZARRPOINT_CHECK(byte_count(value.shape, memory_size(value.type)));
    return value.spec();
  }
  static tensor_view<Space> view(const basic_tensor_view<Space, Writable>& value) {
    if constexpr (Writable) {
      return as_const(value);
    } else {
      return value;
    }
  }
  static mutable_tensor_view<Space> writable(
      const basic_tensor_view<Space, Writable>& target) requires Writable {
    return target;
  }
};

}}}  // namespace zarrpoint::v0::detail
