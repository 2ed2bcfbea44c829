// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/handler/base/concepts.hpp>

#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
