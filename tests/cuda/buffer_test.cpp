// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/tensor.hpp>

#include "cuda/fixture.hpp"

namespace buffer_test {

using namespace zarrpoint;
using cuda_buffer = zarrpoint::cuda::buffer;
using cuda_space = zarrpoint::cuda::device_space;

TEST_CASE("a buffer gives its bytes back once, where they came from") {
  const zarrpoint_test::fresh_devices devices({.capacity = 1000});
  cuda_buffer first = cuda_buffer::allocate(600, cuda_space(1)).value();
  CHECK(first.size() == 600);
  CHECK(first.space().device() == 1);
  CHECK(first.space().check(first.data(), 600));
  CHECK(cuda_buffer::allocate(600, cuda_space(1)).failure().code == errc::resource_limit);
  cuda_buffer second = std::move(first);
  CHECK(first.data() == nullptr);  // NOLINT(bugprone-use-after-move)
  second = cuda_buffer();
  REQUIRE(cuda_space(1).synchronize());
  CHECK(zarrpoint_test::fake_runtime_alive().allocations == 0);
  CHECK(cuda_buffer::allocate(0, cuda_space(1)).value().data() == nullptr);
  CHECK(cuda_buffer().size() == 0);
}

}  // namespace buffer_test
