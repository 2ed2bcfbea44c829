// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/current_device.hpp>

#include "cuda/fixture.hpp"

using namespace zarrpoint;
using zarrpoint::cuda::device_scope;

TEST_CASE("a device is the current one for a while") {
  const zarrpoint_test::fresh_devices devices({.devices = 3});
  int now = -1;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  {
    const device_scope scope(2);
    CHECK(scope.status() == cudaSuccess);
    REQUIRE(cudaGetDevice(&now) == cudaSuccess);
    CHECK(now == 2);
    const device_scope same(2);
    CHECK(same.status() == cudaSuccess);
  }
  REQUIRE(cudaGetDevice(&now) == cudaSuccess);
  CHECK(now == 1);
  {
    const device_scope none(3);
    CHECK(none.status() == cudaErrorInvalidDevice);
  }
  REQUIRE(cudaGetDevice(&now) == cudaSuccess);
  CHECK(now == 1);
  CHECK(zarrpoint::cuda::device_count().value() == 3);
  const auto refused = zarrpoint::cuda::detail::on_device({7, "fill"}, [] { return cudaSuccess; });
  CHECK(zarrpoint_test::contains(refused.failure().message, "cuda:7: fill: no such CUDA device"));
}

TEST_CASE("without a device the count says so") {
  zarrpoint_test::restart_fake_runtime({.absent = cudaErrorInsufficientDriver});
  const auto refused = zarrpoint::cuda::device_count();
  CHECK(refused.failure().code == errc::device);
  CHECK(zarrpoint_test::contains(refused.failure().message,
                                 "no CUDA device: cudaErrorInsufficientDriver"));
  CHECK(device_scope(0).status() == cudaErrorInsufficientDriver);
  zarrpoint_test::restart_fake_runtime({.devices = 0});
  CHECK(zarrpoint_test::contains(zarrpoint::cuda::device_count().failure().message,
                                 "no CUDA device: cudaErrorNoDevice"));
  zarrpoint_test::restart_fake_runtime();
}
