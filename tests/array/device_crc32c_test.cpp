// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/device/device_crc32c.hpp>

#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace device_crc32c_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("device_crc32c: that of the elements in row-major order, by the device or the host") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device device(seed);
    device.set_kernels(seed % 2 == 0);
    context how;
    how.limit.memory = std::size_t{1} << 19;  // slots of 64 KiB
    const dims shape = seed % 5 == 0 ? dims{300, 200} : random_shape(random, 4, 12);
    const bool dense = seed % 3 == 0;
    const strided_device tensor(
        {&device}, dtype_kind::float32, shape,
        dense ? dense_layout(shape, 4) : random_layout(random, shape, 4, true), random);
    const std::uint32_t wanted = crc32c(dense_bytes_of(tensor.on_host()));
    CHECK(detail::device_crc32c(tensor.view(device.new_stream()), how).value() == wanted);
    if (dense && seed % 2 == 0 && !box::whole(shape).empty())
      CHECK(device.count().kernels.crc32c == 1);
    CHECK(device.live_allocations() == 1);
    CHECK(device.pinned_ranges() == 0);
    tensor.wait();
  }
}

TEST_CASE("device_crc32c: faults are errors") {
  random_source random(1);
  for (const device_fault fault :
       {device_fault::copy, device_fault::late_copy, device_fault::record, device_fault::lost}) {
    for (const bool kernels : {true, false}) {
      fake_device device(2);
      device.set_kernels(kernels);
      const strided_device tensor({&device}, dtype_kind::uint8, {100}, dense_layout({100}, 1),
                                  random);
      device.arm(fault, 0);
      const auto refused = detail::device_crc32c(tensor.view());
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == errc::device);
      device.recover();
      CHECK(device.live_allocations() == 1);
      CHECK(device.pinned_ranges() == 0);
    }
  }
  fake_device device(3);
  fake_device other(4);
  const strided_device tensor({&device}, dtype_kind::uint8, {9}, dense_layout({9}, 1), random);
  tensor_view<fake_space> foreign = tensor.view();
  foreign.space = {&other};
  CHECK(detail::device_crc32c(foreign).failure().code == errc::invalid_argument);
}

}}  // namespace device_crc32c_test
