// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels/launch.cuh>

#include <doctest/doctest.h>

#include <vector>

namespace launch_test {

namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

namespace {

void count_visits(int* visits, std::uint64_t count) {
  const kernels::thread_place place = kernels::this_place();
  for (std::uint64_t i = place.first(); i < count; i += place.step()) ++visits[i];
}

}  // namespace

TEST_CASE("launch: every thread once, whatever the grid") {
  simulated = {};
  for (const std::uint32_t blocks : {1U, 2U, 9U}) {
    std::vector<int> visits(3000);
    CHECK(kernels::launch(count_visits, blocks, nullptr, visits.data(), std::uint64_t{3000}) ==
          cudaSuccess);
    CHECK(visits == std::vector<int>(3000, 1));
  }
  CHECK(simulated.launches == 3);
}

TEST_CASE("launch, copy_bytes: errors are told once and not remembered") {
  simulated = {};
  int visit = 0;
  int* const visits = &visit;
  CHECK(kernels::launch(count_visits, 0, nullptr, visits, std::uint64_t{1}) ==
        cudaErrorInvalidConfiguration);
  simulated.next_error = cudaErrorNoDevice;
  CHECK(kernels::launch(count_visits, 1, nullptr, visits, std::uint64_t{1}) == cudaErrorNoDevice);
  std::byte to[2]{};
  CHECK(kernels::copy_bytes(nullptr, to, to + 1, 1) == cudaErrorNoDevice);
  CHECK(simulated.remembered == cudaSuccess);
  CHECK(visit == 0);
}

}  // namespace launch_test
