// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/error.hpp>

#include "cuda/fixture.hpp"

namespace error_test {

using namespace zarrpoint;

TEST_CASE("an error has the device, what was asked, and the runtime's words") {
  const zarrpoint_test::fresh_devices devices;
  const auto said = [](cudaError_t status, std::size_t bytes = 0) {
    return zarrpoint::cuda::detail::failure_of(status, {3, "fill", bytes});
  };
  CHECK(said(cudaErrorIllegalAddress, 40).code == errc::device);
  CHECK(said(cudaErrorIllegalAddress, 40).message ==
        "cuda:3: fill of 40 bytes: cudaErrorIllegalAddress (as the fake runtime says)");
  CHECK(said(cudaErrorMemoryAllocation).code == errc::resource_limit);
  CHECK(said(cudaErrorMemoryAllocation).message ==
        "cuda:3: fill: cudaErrorMemoryAllocation (out of memory)");
  for (const auto status : {cudaErrorNoDevice, cudaErrorInsufficientDriver}) {
    CHECK(zarrpoint_test::contains(said(status).message, "cuda:3: fill: no CUDA device: cuda"));
  }
  CHECK(zarrpoint_test::contains(said(cudaErrorInvalidDevice).message, "no such CUDA device: "));
  CHECK(zarrpoint_test::contains(said(cudaErrorInvalidResourceHandle).message, "is destroyed"));
  CHECK(zarrpoint::cuda::detail::checked(cudaSuccess, {0, "fill"}));
}

TEST_CASE("the runtime forgets an error that was reported") {
  const zarrpoint_test::fresh_devices devices;
  const cudaError_t status = cudaSetDevice(77);
  CHECK(cudaPeekAtLastError() == status);
  CHECK(!zarrpoint::cuda::detail::checked(status, {77, "choice of the device"}));
  CHECK(cudaPeekAtLastError() == cudaSuccess);
}

}  // namespace error_test
