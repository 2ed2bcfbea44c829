// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The containers of RMM, known by their members: no header of RMM is included here.

#include <zarrpoint/cuda/runtime/current_device.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace cuda {

namespace detail {

/// A container in the order of a stream, which it keeps.
template <class V>
concept stream_ordered = requires(const V& container) {
  { container.stream().value() } -> std::convertible_to<cudaStream_t>;
  { container.size() } -> std::convertible_to<std::size_t>;
};

}  // namespace detail

/// `rmm::device_uvector<T>`.
template <class V>
concept rmm_vector = detail::stream_ordered<V> && element<typename V::value_type> &&
    requires(const V& container) {
  { container.data() } -> std::convertible_to<const typename V::value_type*>;
  { container.element_ptr(std::size_t{}) } -> std::convertible_to<const typename V::value_type*>;
};

/// `rmm::device_buffer`: bytes.
template <class V>
concept rmm_buffer = detail::stream_ordered<V> && requires(const V& container, V& target) {
  { container.data() } -> std::same_as<const void*>;
  { target.data() } -> std::same_as<void*>;
  { container.capacity() } -> std::convertible_to<std::size_t>;
};

}  // namespace cuda

/// An array of rank 1, of uint8 for a buffer, on the container's stream and the device that has its
/// memory. As a target it takes any shape of as many elements.
template <class V>
  requires(cuda::rmm_vector<V> || cuda::rmm_buffer<V>)
struct type_handler<V> {
  using space = cuda::device_space;
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  static constexpr dtype type = [] {
    if constexpr (cuda::rmm_vector<V>) {
      return dtype_of<typename V::value_type>;
    } else {
      return dtype(dtype_kind::uint8);
    }
  }();
  static constexpr std::size_t rank = 1;
  static constexpr bool is_flat = true;

  static tensor_spec spec(const V& value) { return {type, {static_cast<index_t>(value.size())}}; }
  static tensor_view<space> view(const V& value) {
    const void* const first = value.data();
    return view_of<tensor_view<space>>(value, static_cast<const std::byte*>(first));
  }
  static mutable_tensor_view<space> writable(V& target) {
    void* const first = target.data();
    return view_of<mutable_tensor_view<space>>(target, static_cast<std::byte*>(first));
  }
  /// On the device and stream that the place names, from what is RMM's resource of that device.
  /// Errors: `resource_limit` when RMM throws.
  static result<V> make(const tensor_spec& stored, const place<space>& where) {
    ZARRPOINT_CHECK(detail::expect_dtype(stored, type));
    if (stored.shape.rank() != rank) return detail::wrong_shape(stored, "a vector");
    using stream_view = std::remove_cvref_t<decltype(std::declval<const V&>().stream())>;
    const cuda::device_scope scope(where.space.device());
    std::optional<V> made;
    ZARRPOINT_CHECK(detail::allocate_guarded(stored, [&] {
      made.emplace(static_cast<std::size_t>(stored.shape[0]), stream_view(where.space.stream()));
    }));
    return *std::move(made);
  }

 private:
  template <class View>
  static View view_of(const V& value, typename View::pointer first) {
    return {first,
            type,
            spec(value).shape,
            {static_cast<index_t>(type.size())},
            space(cuda::device_of(first), value.stream().value()),
            {}};
  }
};

}}  // namespace zarrpoint::v0
