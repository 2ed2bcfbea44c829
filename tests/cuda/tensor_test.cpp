// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include "cuda/fixture.hpp"

namespace tensor_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using device_tensor = zarrpoint::cuda::tensor<float>;
using handler = handler_of<device_tensor>;

static_assert(savable<device_tensor> && loadable<device_tensor> && fillable<device_tensor&>);
static_assert(!fillable<const device_tensor&>);
static_assert(detail::handler_dtype<handler>() == dtype_kind::float32);
static_assert(!std::is_copy_constructible_v<device_tensor>);

TEST_CASE("a tensor on a device has the elements of the host") {
  const zarrpoint_test::fresh_devices devices;
  const auto values = zarrpoint_test::counted_from(0.5F, 12);
  device_tensor t = device_tensor::from_host(values, {3, 4}, cuda_space(1)).value();
  CHECK(t.shape() == dims{3, 4});
  CHECK(t.rank() == 2);
  CHECK(t.size() == 12);
  CHECK(t.download().value() == values);
  CHECK(t.upload(std::vector<float>(11)).failure().code == errc::invalid_argument);
  REQUIRE(t.upload(std::vector<float>(12, 3.0F)));
  device_tensor moved = std::move(t);
  CHECK(moved.download().value() == std::vector<float>(12, 3.0F));
  CHECK(device_tensor().shape() == dims{0});
  CHECK(device_tensor().download().value().empty());
  CHECK(device_tensor::make({}).value().size() == 1);
}

TEST_CASE("its handler checks the dtype and keeps the mark of a load") {
  const zarrpoint_test::fresh_devices devices;
  device_tensor made =
      handler::make({dtype_kind::float32, {2, 2}}, {nullptr, cuda_space(1)}).value();
  CHECK(handler::spec(made) == tensor_spec{dtype_kind::float32, {2, 2}});
  CHECK(handler::view(made).space.device() == 1);
  CHECK(handler::make({dtype_kind::float64, {2}}, {}).failure().code == errc::dtype_mismatch);
  CHECK(!made.loaded());
  handler::mark_loaded(made, true);
  CHECK(made.loaded());
  handler::mark_loaded(made, false);
  CHECK(!made.loaded());
}

TEST_CASE("an upload or download that fails leaves no copy under way") {
  for (const auto fault :
       {zarrpoint_test::device_fault::copy, zarrpoint_test::device_fault::late_copy,
        zarrpoint_test::device_fault::lost}) {
    for (std::uint64_t after = 0; after < 3; ++after) {
      const zarrpoint_test::fresh_devices devices({.seed = after});
      device_tensor t = device_tensor::make({100}).value();
      zarrpoint_test::fake_cuda_device().arm(fault, after);
      const auto up = t.upload(std::vector<float>(100));
      const auto down = t.download();
      if (zarrpoint_test::fake_cuda_device().fired()) {
        const bool failed = !up || !down;
        CHECK(failed);
      }
      CHECK(zarrpoint_test::fake_runtime_alive().operations == 0);
    }
  }
}

}  // namespace tensor_test
