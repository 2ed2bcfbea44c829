// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The matrices, vectors and tensors of Eigen, known by their members: no header of Eigen is
// included here.
//
// The stored array has the logical shape, [rows, columns] or [n], and its elements in row-major
// order, whatever the storage order in memory is.

#include <zarrpoint/handler/base/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

namespace eigen {

/// A dense object of Eigen whose elements lie in memory. It is a `Matrix`, `Array`, `Vector`, a
/// `Map` or `Ref` of one, or what is a part of one by strides: `Block`, `Transpose`, `Diagonal`. A
/// lazy expression is not: evaluate it first (`.eval()`).
template <class M>
concept dense = detail::storable_element<std::remove_cv_t<typename M::Scalar>> &&
    requires(const M& matrix) {
  M::RowsAtCompileTime;
  M::ColsAtCompileTime;
  M::IsRowMajor;
  { matrix.rows() } -> std::convertible_to<index_t>;
  { matrix.cols() } -> std::convertible_to<index_t>;
  { matrix.innerStride() } -> std::convertible_to<index_t>;
  { matrix.outerStride() } -> std::convertible_to<index_t>;
  { matrix.data() } -> std::convertible_to<const typename M::Scalar*>;
};

/// A `Tensor`, `TensorFixedSize` or `TensorMap`. Operations on them are lazy and are not.
template <class M>
concept dense_tensor = detail::storable_element<std::remove_cv_t<typename M::Scalar>> &&
    requires(const M& tensor) {
  M::Layout;
  M::Dimensions::count;
  { tensor.dimension(0) } -> std::convertible_to<index_t>;
  { tensor.data() } -> std::convertible_to<const typename M::Scalar*>;
} &&(static_cast<std::size_t>(M::Dimensions::count) <= max_rank);

}  // namespace eigen

namespace detail {

template <class M>
concept eigen_owner = std::default_initializable<M> && requires(M& matrix) {
  matrix.conservativeResize(matrix.rows(), matrix.cols());
};

template <class M>
concept eigen_writable = requires(M& target, std::remove_cv_t<typename M::Scalar>*& pointer) {
  pointer = target.data();
};

/// Whether an extent of `at_compile_time`, which is negative where it is known at run time only,
/// may be `wanted`.
constexpr bool eigen_extent_fits(index_t at_compile_time, index_t wanted) {
  return at_compile_time < 0 || at_compile_time == wanted;
}

/// An index as whatever integer a class of Eigen counts by.
struct eigen_index {
  std::size_t value;
  template <std::integral I>
  operator I() const noexcept {  // NOLINT(google-explicit-constructor): it stands for an argument
    return static_cast<I>(value);
  }
};

}  // namespace detail

/// A matrix is an array [rows, columns], a vector one of rank 1, which as a target takes any shape
/// of as many elements. `make`: `shape_mismatch` for a rank or extents that the C++ type does not
/// have.
template <eigen::dense M>
struct type_handler<M> {
  using value_type = std::remove_cv_t<typename M::Scalar>;
  static constexpr bool is_vector = static_cast<index_t>(M::RowsAtCompileTime) == 1 ||
                                    static_cast<index_t>(M::ColsAtCompileTime) == 1;
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  using space = host_space;
  static constexpr dtype type = detail::element_dtype<value_type>();
  static constexpr std::size_t rank = is_vector ? 1 : 2;
  static constexpr bool is_view = !detail::eigen_owner<M>;
  static constexpr bool is_flat = is_vector;

  static tensor_spec spec(const M& value) {
    if constexpr (is_vector) {
      return {type, {static_cast<index_t>(value.rows()) * static_cast<index_t>(value.cols())}};
    } else {
      return {type, {static_cast<index_t>(value.rows()), static_cast<index_t>(value.cols())}};
    }
  }
  static host_view view(const M& value) {
    return {reinterpret_cast<const std::byte*>(value.data()),
            type,
            spec(value).shape,
            strides(value),
            {},
            {}};
  }
  static mutable_host_view writable(M& target) requires detail::eigen_writable<M> {
    value_type* const first = target.data();
    return {reinterpret_cast<std::byte*>(first), type, spec(target).shape, strides(target), {}, {}};
  }
  static result<M> make(const tensor_spec& stored,
                        const place<space>&) requires detail::eigen_owner<M> {
    ZARRPOINT_CHECK(detail::expect_dtype(stored, type));
    if (stored.shape.rank() != rank)
      return detail::wrong_shape(stored, is_vector
                                             ? "[n]: a vector of Eigen has one dimension"
                                             : "[rows, columns]: a matrix has two dimensions");
    constexpr bool is_row = is_vector && static_cast<index_t>(M::RowsAtCompileTime) == 1;
    const index_t rows = is_row ? 1 : stored.shape[0];
    const index_t columns = is_row ? stored.shape[0] : is_vector ? 1 : stored.shape[1];
    if (!fits(rows, columns)) return detail::wrong_shape(stored, extents_of_type());
    M made;
    using extent = decltype(made.rows());
    ZARRPOINT_CHECK(detail::allocate_guarded(
        stored, [&] { made.resize(static_cast<extent>(rows), static_cast<extent>(columns)); }));
    return made;
  }

 private:
  static dims strides(const M& value) {
    constexpr auto size = static_cast<index_t>(sizeof(value_type));
    const index_t inner = static_cast<index_t>(value.innerStride()) * size;
    const index_t outer = static_cast<index_t>(value.outerStride()) * size;
    if constexpr (is_vector) {
      return {inner};
    } else if constexpr (static_cast<bool>(M::IsRowMajor)) {
      return {outer, inner};
    } else {
      return {inner, outer};
    }
  }

  static bool fits(index_t rows, index_t columns) {
    constexpr auto most_rows = static_cast<index_t>(M::MaxRowsAtCompileTime);
    constexpr auto most_columns = static_cast<index_t>(M::MaxColsAtCompileTime);
    return detail::eigen_extent_fits(M::RowsAtCompileTime, rows) &&
           detail::eigen_extent_fits(M::ColsAtCompileTime, columns) &&
           (most_rows < 0 || rows <= most_rows) && (most_columns < 0 || columns <= most_columns);
  }
  static std::string extents_of_type() {
    const auto text = [](index_t fixed, index_t most) {
      if (fixed >= 0) return std::to_string(fixed);
      return most >= 0 ? "at most " + std::to_string(most) : std::string("any number of");
    };
    return "what the C++ type holds, " + text(M::RowsAtCompileTime, M::MaxRowsAtCompileTime) +
           " rows by " + text(M::ColsAtCompileTime, M::MaxColsAtCompileTime) + " columns";
  }
};

/// An array of the tensor's rank and dimensions. `make`: `shape_mismatch` for another rank, or for
/// other dimensions than those of a `TensorFixedSize`.
template <eigen::dense_tensor M>
struct type_handler<M> {
  using value_type = std::remove_cv_t<typename M::Scalar>;
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  using space = host_space;
  static constexpr dtype type = detail::element_dtype<value_type>();
  static constexpr auto rank = static_cast<std::size_t>(M::Dimensions::count);
  static constexpr bool is_view = !std::default_initializable<M>;

  static tensor_spec spec(const M& value) { return {type, shape(value)}; }
  static host_view view(const M& value) {
    const auto* const first = reinterpret_cast<const std::byte*>(value.data());
    return {first, type, shape(value), strides(value), {}, {}};
  }
  static mutable_host_view writable(M& target) requires detail::eigen_writable<M> {
    value_type* const first = target.data();
    return {reinterpret_cast<std::byte*>(first), type, shape(target), strides(target), {}, {}};
  }
  static result<M> make(const tensor_spec& stored,
                        const place<space>&) requires std::default_initializable<M> {
    ZARRPOINT_CHECK(detail::expect_dtype(stored, type));
    if (stored.shape.rank() != rank)
      return detail::wrong_shape(stored, "a tensor of rank " + std::to_string(rank));
    M made;
    if constexpr (requires(typename M::Dimensions extents) { made.resize(extents); }) {
      typename M::Dimensions extents{};
      for (std::size_t i = 0; i < rank; ++i) extents[i] = stored.shape[i];
      ZARRPOINT_CHECK(detail::allocate_guarded(stored, [&] { made.resize(extents); }));
    }
    if (shape(made) != stored.shape) return detail::wrong_shape(stored, to_string(shape(made)));
    return made;
  }

 private:
  static dims shape(const M& value) {
    dims out(rank, 0);
    for (std::size_t i = 0; i < rank; ++i) {
      out[i] = static_cast<index_t>(value.dimension(detail::eigen_index{i}));
    }
    return out;
  }
  static dims strides(const M& value) {
    constexpr int row_major = 1;  // Eigen::RowMajor
    const dims extents = shape(value);
    if constexpr (static_cast<int>(M::Layout) == row_major) {
      return row_major_strides(extents, sizeof(value_type));
    } else {
      dims out(rank, 0);
      auto stride = static_cast<index_t>(sizeof(value_type));
      for (std::size_t i = 0; i < rank; ++i) {
        out[i] = stride;
        stride *= extents[i];
      }
      return out;
    }
  }
};

}}  // namespace zarrpoint::v0
