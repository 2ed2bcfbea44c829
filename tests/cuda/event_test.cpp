// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/event.hpp>

#include "cuda/fixture.hpp"

#include <array>
#include <cstring>
#include <optional>

namespace event_test {

using namespace zarrpoint;
using zarrpoint::cuda::event;
using zarrpoint_test::fake_runtime_alive;

TEST_CASE("an event is destroyed with its last copy") {
  const zarrpoint_test::fresh_devices devices;
  CHECK(event().get() == nullptr);
  std::optional<event> first = event::record(1, cudaStreamLegacy).value();
  {
    const event second = *first;
    CHECK(second.get() == first->get());
    first.reset();
    CHECK(fake_runtime_alive().events == 1);
    CHECK(cudaEventSynchronize(second.get()) == cudaSuccess);
  }
  CHECK(fake_runtime_alive().events == 0);
}

TEST_CASE("an event of the caller's stays the caller's") {
  const zarrpoint_test::fresh_devices devices;
  cudaEvent_t mine = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&mine, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(cudaEventRecord(mine, nullptr) == cudaSuccess);
  { CHECK(event::borrow(mine).get() == mine); }
  CHECK(fake_runtime_alive().events == 1);
  CHECK(cudaEventDestroy(mine) == cudaSuccess);
}

TEST_CASE("an event that cannot be recorded is none") {
  const zarrpoint_test::fresh_devices devices;
  zarrpoint_test::fake_cuda_device().arm(zarrpoint_test::device_fault::record, 0);
  const auto refused = event::record(0, cudaStreamLegacy);
  CHECK(refused.failure().code == errc::device);
  CHECK(zarrpoint_test::contains(refused.failure().message, "cuda:0: record of an event: cuda"));
  CHECK(fake_runtime_alive().events == 0);
  CHECK(event::record(9, cudaStreamLegacy).failure().code == errc::device);
}

}  // namespace event_test
