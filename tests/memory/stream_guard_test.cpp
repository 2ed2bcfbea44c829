// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device/device_space.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <array>

namespace stream_guard_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("stream_guard: copies are done when it ends, or when it is told to finish") {
  fake_device device(1);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(4);
  std::array<std::byte, 4> host{};
  {
    const detail::stream_guard<fake_space> guard(space);
    space.copy_from_host(memory, host.data(), {.width = 4}).value();
    CHECK(device.due_operations() == 1);
  }
  CHECK(device.due_operations() == 0);
  {
    detail::stream_guard<fake_space> guard(space);
    space.copy_to_host(host.data(), memory, {.width = 4}).value();
    CHECK(guard.finish());
    CHECK(device.due_operations() == 0);
    CHECK(host == std::array<std::byte, 4>{});
    const auto events = device.count().events;
    CHECK(events == 2);
  }
  CHECK(device.count().events == 2);  // nothing was left to wait for
  device.free(memory);
}

TEST_CASE("stream_guard: what fails is told by finish, and nothing is under way") {
  for (const device_fault fault : {device_fault::late_copy, device_fault::record,
                                   device_fault::stream_gone, device_fault::lost}) {
    CAPTURE(to_string(fault));
    fake_device device(2);
    const fake_space space{&device};
    std::byte* const memory = device.allocate(4);
    std::array<std::byte, 4> host{};
    detail::stream_guard<fake_space> guard(space);
    const bool later = fault == device_fault::lost || fault == device_fault::stream_gone;
    device.arm(fault, later ? 1 : 0);
    space.copy_to_host(host.data(), memory, {.width = 4}).value();
    CHECK(guard.finish().failure().code == errc::device);
    CHECK(device.due_operations() == 0);
    device.free(memory);
  }
}

}  // namespace stream_guard_test
