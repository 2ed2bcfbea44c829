// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device_buffer.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("device_buffer: its memory ends with it, after the work that was asked for before") {
  fake_device device(1, 100);
  const fake_space space{&device};
  {
    auto one = device_buffer<fake_space>::allocate(space, 60).value();
    CHECK(one.size() == 60);
    CHECK(space.check(one.data(), 60));
    CHECK(device_buffer<fake_space>::allocate(space, 60).failure().code == errc::resource_limit);
    CHECK(space.fill(one.data(), std::byte{1}, 60));
    device_buffer<fake_space> other = std::move(one);
    CHECK(one.data() == nullptr);
    CHECK(device.live_allocations() == 1);
    other = {};
    CHECK(device.live_allocations() == 0);
    CHECK(device_buffer<fake_space>::allocate(space, 60).value().size() == 60);
  }
  CHECK(device.live_allocations() == 0);
  CHECK(space.wait(space.record().value()));  // the fill ran before the memory was freed
}

TEST_CASE("device_buffer: nothing is no allocation") {
  fake_device device(2);
  const auto none = device_buffer<fake_space>::allocate(fake_space{&device}, 0).value();
  CHECK(none.data() == nullptr);
  CHECK(device.count().calls == 0);
}
