// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The vectors of Thrust, known by their members: no header of Thrust is included here.

#include <zarrpoint/cuda/runtime/current_device.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/handler/base/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <optional>

namespace zarrpoint { inline namespace v0 {

namespace cuda {

/// `thrust::device_vector<T>` and `thrust::universal_vector<T>`: a vector whose `data()` is not
/// a pointer but has one, as `get()`.
template <class V>
concept thrust_vector = element<typename V::value_type> && requires(const V& vector) {
  typename V::pointer::raw_pointer;
  { vector.data().get() } -> std::convertible_to<const typename V::value_type*>;
  { vector.size() } -> std::convertible_to<std::size_t>;
};

}  // namespace cuda

/// An array of rank 1 on the device that has the memory; as a target it takes any shape of as many
/// elements. All work goes on the legacy default stream, as that of Thrust does unless it is told
/// otherwise. To make one takes nvcc, since Thrust fills it by a kernel.
template <cuda::thrust_vector V>
struct type_handler<V> {
  using value_type = typename V::value_type;
  using space = cuda::device_space;
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  static constexpr dtype type = dtype_of<value_type>;
  static constexpr std::size_t rank = 1;
  static constexpr bool is_flat = true;

  static tensor_spec spec(const V& value) { return {type, {static_cast<index_t>(value.size())}}; }
  static tensor_view<space> view(const V& value) {
    const value_type* const first = value.data().get();
    return view_of<tensor_view<space>>(value, reinterpret_cast<const std::byte*>(first));
  }
  static mutable_tensor_view<space> writable(V& target) {
    value_type* const first = target.data().get();
    return view_of<mutable_tensor_view<space>>(target, reinterpret_cast<std::byte*>(first));
  }
  /// On the device that the place names; waits for the stream of the kernel that fills it. Errors:
  /// `resource_limit` when Thrust throws; those of the device.
  static result<V> make(const tensor_spec& stored, const place<space>& where) {
    ZARRPOINT_CHECK(detail::expect_dtype(stored, type));
    if (stored.shape.rank() != rank) return detail::wrong_shape(stored, "a vector");
    const cuda::device_scope scope(where.space.device());
    std::optional<V> made;
    ZARRPOINT_CHECK(detail::allocate_guarded(
        stored, [&] { made.emplace(static_cast<std::size_t>(stored.shape[0])); }));
    ZARRPOINT_CHECK(space(where.space.device()).synchronize());
    return *std::move(made);
  }

 private:
  template <class View>
  static View view_of(const V& value, typename View::pointer first) {
    return {first,
            type,
            spec(value).shape,
            {static_cast<index_t>(sizeof(value_type))},
            space(cuda::device_of(first)),
            {}};
  }
};

}}  // namespace zarrpoint::v0
