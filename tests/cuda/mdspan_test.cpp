// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/mdspan.hpp>
#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include "cuda/fixture.hpp"

#include <array>

namespace mdspan_test {

using namespace zarrpoint;
using zarrpoint::cuda::device_mdspan;
using cuda_space = zarrpoint::cuda::device_space;

namespace {

/// What makes an mdspan, and no more; tests/handler/mdspan_libraries.cpp takes that of the toolkit.
template <class T>
struct matrix {
  using element_type = T;
  using reference = T&;
  T* first = nullptr;
  std::array<int, 2> extents{};
  std::array<int, 2> steps{};
  bool strided = true;

  static constexpr std::size_t rank() { return 2; }
  int extent(std::size_t i) const { return extents[i]; }
  int stride(std::size_t i) const { return steps[i]; }
  bool is_strided() const { return strided; }
  T* data_handle() const { return first; }
};

static_assert(savable<device_mdspan<matrix<const float>>>);
static_assert(!fillable<device_mdspan<matrix<const float>>>);
static_assert(fillable<const device_mdspan<matrix<float>>&>);

}  // namespace

TEST_CASE("an mdspan over a device's addresses keeps its strides, space and event") {
  const zarrpoint_test::fresh_devices devices;
  using handler = handler_of<device_mdspan<matrix<float>>>;
  auto t = zarrpoint::cuda::tensor<float>::make({3, 4}, cuda_space(1)).value();
  const auto event = t.get_space().record().value();
  const auto columns =
      zarrpoint::cuda::on_device(matrix<float>{t.data() + 1, {2, 3}, {1, 4}}, t.get_space(), event);
  CHECK(handler::spec(columns).value() == tensor_spec{dtype_kind::float32, {2, 3}});
  const auto view = handler::view(columns);
  CHECK(view.data == reinterpret_cast<const std::byte*>(t.data() + 1));
  CHECK(view.strides == dims{4, 16});
  CHECK(view.space == t.get_space());
  CHECK(view.ready.get() == event.get());
  CHECK(detail::target_view(columns, {dtype_kind::float32, {2, 3}}).value().strides == dims{4, 16});
  const auto tiled =
      zarrpoint::cuda::on_device(matrix<float>{t.data(), {2, 2}, {0, 0}, false}, t.get_space());
  CHECK(handler::spec(tiled).failure().code == errc::invalid_argument);
}

}  // namespace mdspan_test
