// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/handler/types/tensor.hpp>

#include <doctest/doctest.h>

#include <array>

namespace tensor_view_test {

using namespace zarrpoint;

static_assert(savable<host_view> && savable<mutable_host_view>);
static_assert(fillable<mutable_host_view> && fillable<const mutable_host_view&>);
static_assert(!fillable<host_view> && !loadable<host_view> && !loadable<mutable_host_view>);

TEST_CASE("a view of any dtype is a leaf that borrows and keeps its strides") {
  std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  mutable_host_view columns{
      reinterpret_cast<std::byte*>(values.data()), dtype_kind::float32, {3, 2}, {4, 12}, {}, {}};
  const leaf saved("w", columns);
  columns = {};  // the leaf has its own copy of the view
  CHECK(saved.spec().value() == tensor_spec{dtype_kind::float32, {3, 2}});
  const host_view seen = saved.view().value();
  CHECK(seen.data == reinterpret_cast<const std::byte*>(values.data()));
  CHECK(seen.strides == dims{4, 12});
  CHECK(saved.typestr() == "array");
}

TEST_CASE("a view is a target of its own shape only") {
  std::array<float, 6> values{};
  const mutable_host_view view = dense_view(reinterpret_cast<std::byte*>(values.data()),
                                            tensor_spec{dtype_kind::float32, {2, 3}});
  CHECK(detail::target_view(view, {dtype_kind::float32, {2, 3}}).value().data == view.data);
  CHECK(detail::target_view(view, {dtype_kind::float32, {3, 2}}).failure().code ==
        errc::shape_mismatch);
}

TEST_CASE("a view that describes nothing that can be stored is refused") {
  CHECK(leaf("w", host_view{}).spec().failure().code == errc::invalid_argument);
  host_view huge;
  huge.type = dtype_kind::float64;
  huge.shape = {index_t{1} << 40, index_t{1} << 40};
  CHECK(leaf("w", huge).spec().failure().code == errc::out_of_range);
}

}  // namespace tensor_view_test
