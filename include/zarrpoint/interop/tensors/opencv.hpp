// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// `cv::Mat` and `cv::Mat_`, known by their members: no header of OpenCV is included here.
//
// Channels are the last dimension of the array, as in OpenCV's own Python module. A Mat of 480
// rows, 640 columns and type CV_8UC3 is uint8[480, 640, 3]. One channel adds no dimension.

#include <zarrpoint/handler/base/concepts.hpp>

#include <array>
#include <climits>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

namespace opencv {

/// A matrix of OpenCV in host memory, of any number of dimensions and channels, continuous or a
/// part of another.
template <class M>
concept matrix = requires(const M& mat, int i) {
  { mat.dims } -> std::convertible_to<int>;
  { mat.size[i] } -> std::convertible_to<int>;
  { mat.step[i] } -> std::convertible_to<std::size_t>;
  { mat.depth() } -> std::same_as<int>;
  { mat.channels() } -> std::same_as<int>;
  { mat.elemSize1() } -> std::convertible_to<std::size_t>;
  { mat.data } -> std::convertible_to<const unsigned char*>;
  mat.isSubmatrix();
};

}  // namespace opencv

namespace detail {

/// By the codes CV_8U to CV_16F, which are the same in every version.
inline constexpr std::array opencv_depths{
    dtype_kind::uint8, dtype_kind::int8,    dtype_kind::uint16,  dtype_kind::int16,
    dtype_kind::int32, dtype_kind::float32, dtype_kind::float64, dtype_kind::float16};
inline constexpr int opencv_max_channels = 512;     // CV_CN_MAX
inline constexpr std::size_t opencv_max_rank = 32;  // CV_MAX_DIM

/// The dtype of a `cv::Mat_`, where its elements have one channel.
template <class M>
struct opencv_element {};
template <class M>
  requires element<typename M::value_type>
struct opencv_element<M> {
  static constexpr dtype type = dtype_of<typename M::value_type>;
};

}  // namespace detail

/// An empty Mat without dimensions is [0, 0]. `make` gives a Mat that owns its memory. An array of
/// rank 3 whose last extent is 2 to 512 becomes rows, columns and channels, as OpenCV's Python
/// module takes it; any other has one channel. Errors: `unsupported` for elements that OpenCV 4
/// does not have (int64, bool, complex); `shape_mismatch` below rank 2, or for other channels than
/// those of a `cv::Mat_`; `out_of_range` for an extent beyond `int`.
template <opencv::matrix M>
struct type_handler<M> : detail::opencv_element<M> {
  static constexpr std::string_view typestr = detail::array_kind;
  static constexpr auto aliases = detail::array_aliases;
  using space = host_space;
  static constexpr bool is_view =
      true;  // a handle: a leaf keeps its copy, which shares the elements

  static result<tensor_spec> spec(const M& value) {
    const auto depth = static_cast<std::size_t>(value.depth());
    if (depth >= detail::opencv_depths.size())
      return error{errc::unsupported,
                   "elements of OpenCV's depth " + std::to_string(depth) + " have no dtype here"};
    const dims extents = shape(value);
    if (extents.rank() > max_rank) return detail::wrong_rank(extents.rank());
    return tensor_spec{detail::opencv_depths[depth], extents};
  }
  static host_view view(const M& value) {
    const auto* const first = reinterpret_cast<const std::byte*>(value.data);
    return {first, type_of(value), shape(value), strides(value), {}, {}};
  }
  static mutable_host_view writable(M& target) {
    auto* const first = reinterpret_cast<std::byte*>(target.data);
    return {first, type_of(target), shape(target), strides(target), {}, {}};
  }
  static result<M> make(const tensor_spec& stored, const place<space>&) {
    ZARRPOINT_TRY(depth, depth_of(stored.type));
    const dims& extents = stored.shape;
    if (extents.rank() < 2)
      return detail::wrong_shape(stored, "[rows, columns]: a cv::Mat has two dimensions or more");
    std::array<int, detail::opencv_max_rank> sizes{};
    static_assert(max_rank <= detail::opencv_max_rank);
    for (std::size_t i = 0; i < extents.rank(); ++i) {
      if (extents[i] > INT_MAX)
        return error{errc::out_of_range, to_string(stored) + ": an extent of a cv::Mat is an int"};
      sizes[i] = static_cast<int>(extents[i]);
    }
    const auto rank = static_cast<int>(extents.rank());
    M made;
    if constexpr (requires { made.create(rank, sizes.data(), depth); }) {
      const int last = sizes[extents.rank() - 1];
      const bool has_channels = rank == 3 && last > 1 && last <= detail::opencv_max_channels;
      ZARRPOINT_CHECK(detail::allocate_guarded(stored, [&] {
        made.create(rank, sizes.data(), depth);
        if (has_channels) made = made.reshape(last, 2, sizes.data());
      }));
    } else {  // a cv::Mat_, which knows its depth and channels
      const int channels = made.channels();
      const bool has_channels = channels > 1;
      if (made.depth() != depth)
        return error{errc::dtype_mismatch, "stored dtype is " +
                                               std::string(to_string(stored.type)) + ", wanted " +
                                               std::string(to_string(type_of(made)))};
      if (has_channels && sizes[extents.rank() - 1] != channels)
        return detail::wrong_shape(stored, std::to_string(channels) + " channels at the end");
      if (has_channels && rank < 3) return detail::wrong_shape(stored, "[rows, columns, channels]");
      ZARRPOINT_CHECK(detail::allocate_guarded(
          stored, [&] { made.create(has_channels ? rank - 1 : rank, sizes.data()); }));
    }
    return made;
  }

 private:
  static result<int> depth_of(dtype wanted) {
    for (std::size_t i = 0; i < detail::opencv_depths.size(); ++i) {
      if (wanted == detail::opencv_depths[i]) return static_cast<int>(i);
    }
    return error{errc::unsupported, "a cv::Mat has no elements of " +
                                        std::string(to_string(wanted)) +
                                        "; load another type, or cast"};
  }
  static dtype type_of(const M& value) {
    return detail::opencv_depths[static_cast<std::size_t>(value.depth())];
  }
  static dims shape(const M& value) {
    dims out;
    for (int i = 0; i < value.dims; ++i) out.push_back(value.size[i]);
    if (value.dims == 0) out = {0, 0};
    if (value.channels() > 1) out.push_back(value.channels());
    return out;
  }
  static dims strides(const M& value) {
    dims out;
    for (int i = 0; i < value.dims; ++i) out.push_back(static_cast<index_t>(value.step[i]));
    if (value.dims == 0) out = {0, 0};
    if (value.channels() > 1) out.push_back(static_cast<index_t>(value.elemSize1()));
    return out;
  }
};

}}  // namespace zarrpoint::v0
