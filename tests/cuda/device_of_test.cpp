// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/current_device.hpp>
#include <zarrpoint/cuda/tensor.hpp>

#include "cuda/fixture.hpp"

namespace device_of_test {

using namespace zarrpoint;

TEST_CASE("device_of: a pointer says whose memory it is") {
  const zarrpoint_test::fresh_devices devices;
  using space = zarrpoint::cuda::device_space;
  const auto first = zarrpoint::cuda::tensor<float>::make({3}, space(0)).value();
  const auto second = zarrpoint::cuda::tensor<float>::make({3}, space(1)).value();
  CHECK(zarrpoint::cuda::device_of(first.data()) == 0);
  CHECK(zarrpoint::cuda::device_of(second.data()) == 1);
  const zarrpoint::cuda::device_scope scope(1);
  const int host = 0;
  CHECK(zarrpoint::cuda::device_of(&host) == 1);
  CHECK(zarrpoint::cuda::device_of(nullptr) == 1);
  CHECK(zarrpoint::cuda::device_of(first.data()) == 0);
}

TEST_CASE("device_of: without a device it is the first, and leaves no error behind") {
  zarrpoint_test::restart_fake_runtime({.absent = cudaErrorNoDevice});
  const int host = 0;
  CHECK(zarrpoint::cuda::device_of(&host) == 0);
  CHECK(cudaGetLastError() == cudaSuccess);
  zarrpoint_test::restart_fake_runtime();
}

}  // namespace device_of_test
