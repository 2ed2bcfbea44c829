// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/device_space.hpp>

#include "cuda/fixture.hpp"

namespace stream_test {

using namespace zarrpoint;
using zarrpoint::cuda::stream;

TEST_CASE("a stream is destroyed once, and a space of it is the device's") {
  const zarrpoint_test::fresh_devices devices;
  {
    stream first = stream::make(1).value();
    const cudaStream_t handle = first.get();
    CHECK(first.device() == 1);
    CHECK(first.space().stream() == handle);
    CHECK(first.space() == zarrpoint::cuda::device_space(1, handle));
    stream second = std::move(first);
    CHECK(second.get() == handle);
    CHECK(zarrpoint_test::fake_runtime_alive().streams == 1);
    second = stream();
    CHECK(zarrpoint_test::fake_runtime_alive().streams == 0);
    CHECK(second.get() == nullptr);
  }
  const auto refused = stream::make(4);
  CHECK(
      zarrpoint_test::contains(refused.failure().message, "cuda:4: creation of a stream: no such"));
}

}  // namespace stream_test
