// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/structural.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

// xtensor moved its headers in 0.26.
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xfixed.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/generators/xbuilder.hpp>
#include <xtensor/misc/xmanipulation.hpp>
#include <xtensor/views/xdynamic_view.hpp>
#include <xtensor/views/xstrided_view.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xdynamic_view.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

#include <numeric>
#include <string>
#include <vector>

namespace structural_test {

using namespace zarrpoint;

namespace {

using column_major = xt::xarray<float, xt::layout_type::column_major>;
using fixed = xt::xtensor_fixed<float, xt::xshape<2, 3>>;

/// The elements that a view shows, in row-major order.
template <class T>
std::vector<T> elements(const host_view& view) {
  std::vector<T> out(static_cast<std::size_t>(element_count(view.shape).value()));
  copy_elements(dense_view(reinterpret_cast<std::byte*>(out.data()), view.spec()), view);
  return out;
}

/// What xtensor itself says the elements are.
template <class E>
std::vector<typename E::value_type> expected(const E& expression) {
  const xt::xarray<typename E::value_type, xt::layout_type::row_major> dense = expression;
  return {dense.storage().begin(), dense.storage().end()};
}

template <class E>
void check_saved(const E& array) {
  using handler = handler_of<E>;
  using value_type = typename E::value_type;
  const tensor_spec spec = handler::spec(array).value();
  CHECK(spec.type == dtype_of<value_type>);
  CHECK(spec.shape == dims::from_range(array.shape().begin(), array.shape().end()));
  const host_view view = handler::view(array);
  CHECK(view.spec() == spec);
  CHECK(elements<value_type>(view) == expected(array));
}

template <class E>
void check_filled(E&& target) {
  using value_type = typename std::remove_cvref_t<E>::value_type;
  const tensor_spec stored{dtype_of<value_type>,
                           dims::from_range(target.shape().begin(), target.shape().end())};
  std::vector<value_type> values(static_cast<std::size_t>(element_count(stored.shape).value()));
  std::iota(values.begin(), values.end(), value_type{100});
  const auto view = detail::target_view(std::forward<E>(target), stored);
  REQUIRE(view);
  copy_elements(*view, dense_view(reinterpret_cast<const std::byte*>(values.data()), stored));
  CHECK(expected(target) == values);
}

xt::xarray<float> counted(std::vector<std::size_t> shape) {
  xt::xarray<float> out = xt::xarray<float>::from_shape(shape);
  std::iota(out.storage().begin(), out.storage().end(), 1.0f);
  return out;
}

/// The least that is array-like: row-major, since it says nothing of strides.
struct plain {
  using value_type = std::int32_t;
  std::vector<int> extents;
  std::vector<value_type> values;
  const std::vector<int>& shape() const { return extents; }
  const value_type* data() const { return values.data(); }
};
static_assert(savable<plain> && !fillable<plain&> && !loadable<plain>);

/// Bytes without a shape, as `std::string` and device vectors have, are not an array.
struct only_contiguous {
  using value_type = float;
  const float* data() const { return nullptr; }
  const float* begin() const { return nullptr; }
  const float* end() const { return nullptr; }
  std::size_t size() const { return 0; }
};
static_assert(!savable<only_contiguous>);

static_assert(loadable<xt::xarray<float>> && loadable<xt::xtensor<double, 3>>);
static_assert(loadable<fixed> && loadable<column_major>);
static_assert(!savable<xt::xarray<char>>);

using zarrpoint_test::device_tensor;
using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;
static_assert(loadable<device_tensor<float>> && fillable<device_tensor<float>&>);
static_assert(std::same_as<space_of_t<device_tensor<float>>, fake_space>);

}  // namespace

TEST_CASE("xtensor's containers are saved as they lie") {
  check_saved(counted({2, 3, 4}));
  check_saved(counted({}));
  check_saved(counted({0, 3}));
  check_saved(counted({1, 5, 1}));
  check_saved(xt::xtensor<double, 2>{{1, 2, 3}, {4, 5, 6}});
  check_saved(fixed{{1, 2, 3}, {4, 5, 6}});
  const xt::xarray<float> array = counted({2, 3});
  CHECK(is_dense(handler_of<decltype(array)>::view(array)));
  CHECK(handler_of<decltype(array)>::view(array).data ==
        reinterpret_cast<const std::byte*>(array.data()));
}

TEST_CASE("column-major arrays are not saved transposed") {
  const column_major array = counted({2, 3, 4});
  check_saved(array);
  CHECK(handler_of<column_major>::view(array).strides[0] == 4);
  check_saved(xt::xtensor<int, 2, xt::layout_type::column_major>{{1, 2, 3}, {4, 5, 6}});
}

TEST_CASE("views honour their offset and strides") {
  xt::xarray<float> array = counted({4, 5, 6});
  check_saved(xt::view(array, 2));
  check_saved(xt::view(array, xt::range(1, 3), xt::all(), 4));
  check_saved(xt::view(array, xt::range(0, 4, 2), xt::range(1, 5, 3)));
  check_saved(xt::view(array, 3, 4, 5));
  check_saved(xt::view(array, xt::all(), xt::newaxis(), 1));
  check_saved(xt::strided_view(array, {xt::all(), 2, xt::range(1, 4)}));
  check_saved(xt::strided_view(array, {xt::range(3, xt::placeholders::_, -1), xt::ellipsis()}));
  check_saved(xt::transpose(array));
  const column_major columns = array;
  check_saved(xt::view(columns, xt::all(), 2));
  const xt::xarray<float>& constant = array;
  auto part = xt::view(constant, 1);
  check_saved(part);
  static_assert(!fillable<decltype(part)&>);
  auto of_view = xt::view(xt::view(array, xt::range(1, 4)), xt::all(), 3);
  check_saved(of_view);
}

TEST_CASE("adapted memory is saved and filled in place") {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  auto adapted =
      xt::adapt(memory.data(), memory.size(), xt::no_ownership(), std::vector<std::size_t>{2, 3});
  check_saved(adapted);
  check_filled(adapted);
  CHECK(memory == std::vector<float>{100, 101, 102, 103, 104, 105});
  std::array<std::size_t, 2> shape{3, 2};
  auto columns = xt::adapt<xt::layout_type::column_major>(memory, shape);
  check_saved(columns);
}

TEST_CASE("expressions without strided elements are not arrays") {
  xt::xarray<float> array = counted({4, 5});
  static_assert(!savable<decltype(array + 1.0f)>);
  static_assert(!savable<decltype(xt::view(array, xt::keep(0, 3)))>);
  static_assert(!savable<decltype(xt::dynamic_view(array, {xt::keep(0, 3)}))>);
  static_assert(!savable<decltype(xt::view(array + 1.0f, 1))>);
  static_assert(!savable<decltype(xt::ones<float>({2, 3}))>);
}

TEST_CASE("arrays are targets of their own shape, views of others included") {
  xt::xarray<float> array = counted({4, 5, 6});
  check_filled(array);
  check_filled(xt::view(array, 1));
  check_filled(xt::view(array, xt::all(), xt::range(1, 5, 2), 3));
  check_filled(xt::transpose(array));
  column_major columns = array;
  check_filled(columns);
  const auto refused = detail::target_view(array, {dtype_kind::float32, {120}});
  CHECK(refused.failure().code == errc::shape_mismatch);
  CHECK(refused.failure().message == "stored shape is [120], wanted the target's [4, 5, 6]");
}

TEST_CASE("a target whose elements share an address is refused") {
  std::vector<float> memory(3);
  auto repeated = xt::strided_view(xt::adapt(memory, std::vector<std::size_t>{3}),
                                   std::vector<std::size_t>{2, 3},
                                   std::vector<std::ptrdiff_t>{0, 1}, 0, xt::layout_type::dynamic);
  const auto refused = detail::target_view(repeated, {dtype_kind::float32, {2, 3}});
  CHECK(refused.failure().code == errc::invalid_argument);
  CHECK(refused.failure().message == "the target's elements overlap in dimension 0 (stride 0)");
}

TEST_CASE("arrays are made of the stored shape") {
  for (const dims& shape : {dims{}, dims{0}, dims{7}, dims{2, 3}, dims{3, 0, 2}, dims{1, 1, 4}}) {
    const tensor_spec stored{dtype_kind::float32, shape};
    auto array = handler_of<xt::xarray<float>>::make(stored, {});
    REQUIRE(array);
    CHECK(handler_of<xt::xarray<float>>::spec(*array).value() == stored);
    auto columns = handler_of<column_major>::make(stored, {});
    REQUIRE(columns);
    CHECK(handler_of<column_major>::writable(*columns).shape == shape);
    if (shape.rank() == 2) check_filled(*columns);
  }
  const auto typed = handler_of<xt::xarray<float>>::make({dtype_kind::float64, {2}}, {});
  CHECK(typed.failure().code == errc::dtype_mismatch);
}

TEST_CASE("a rank or a shape that the type fixes is checked") {
  using matrix = xt::xtensor<float, 2>;
  CHECK(handler_of<matrix>::make({dtype_kind::float32, {4, 5}}, {}).value().shape()[1] == 5);
  CHECK(detail::handler_rank<handler_of<matrix>>() == 2);
  const auto ranked = handler_of<matrix>::make({dtype_kind::float32, {4, 5, 6}}, {});
  CHECK(ranked.failure().code == errc::shape_mismatch);
  CHECK(ranked.failure().message == "stored shape is [4, 5, 6], wanted an array of rank 2");
  CHECK(handler_of<fixed>::make({dtype_kind::float32, {2, 3}}, {}));
  CHECK(!handler_of<fixed>::make({dtype_kind::float32, {2, 3, 1}}, {}));
}

TEST_CASE("a type with no more than it needs is row-major") {
  const plain array{{2, 3}, {1, 2, 3, 4, 5, 6}};
  const host_view view = handler_of<plain>::view(array);
  CHECK(view.strides == dims{12, 4});
  CHECK(elements<std::int32_t>(view) == array.values);
}

TEST_CASE("extents that make no sense are errors before a view is taken") {
  CHECK(handler_of<plain>::spec({std::vector<int>(33, 1), {1}}).failure().code ==
        errc::invalid_argument);
  CHECK(handler_of<plain>::spec({{2, -3}, {}}).failure().code == errc::out_of_range);
  CHECK(handler_of<plain>::spec({std::vector<int>(4, 1 << 30), {}}).failure().code ==
        errc::out_of_range);
}

TEST_CASE("an array outside the host brings its space and its event along") {
  fake_device device(1);
  const place<fake_space> there{.space = {&device}};
  auto made = handler_of<device_tensor<float>>::make({dtype_kind::float32, {2, 3}}, there);
  REQUIRE(made);
  CHECK(device.live_allocations() == 1);
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  made->upload(values);
  const auto view = handler_of<device_tensor<float>>::view(*made);
  CHECK(view.space.owner == &device);
  CHECK(view.ready.id == made->ready().id);
  CHECK(view.strides == dims{12, 4});
  CHECK(made->download() == values);
}

}  // namespace structural_test
