// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/span.hpp>
#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include "cuda/fixture.hpp"

namespace span_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using zarrpoint::cuda::device_span;

static_assert(savable<device_span<const int>> && !fillable<device_span<const int>>);
static_assert(fillable<const device_span<int>&> && !loadable<device_span<int>>);

TEST_CASE("a span on a device is a flat view with its space and event") {
  const zarrpoint_test::fresh_devices devices;
  using handler = handler_of<device_span<int>>;
  auto t = zarrpoint::cuda::tensor<int>::make({2, 3}, cuda_space(1)).value();
  const device_span<int> span{t.data(), t.size(), t.get_space(), t.get_space().record().value()};
  CHECK(handler::spec(span) == tensor_spec{dtype_kind::int32, {6}});
  const auto view = handler::view(span);
  CHECK(view.data == reinterpret_cast<const std::byte*>(t.data()));
  CHECK(view.strides == dims{4});
  CHECK(view.space == t.get_space());
  CHECK(view.ready.get() == span.ready.get());
  const auto target = detail::target_view(span, {dtype_kind::int32, {3, 2}}).value();
  CHECK(target.shape == dims{3, 2});
  CHECK(target.space == t.get_space());
  CHECK(!detail::target_view(span, {dtype_kind::int32, {7}}));
  CHECK(detail::handler_is_view<handler>());
}

}  // namespace span_test
