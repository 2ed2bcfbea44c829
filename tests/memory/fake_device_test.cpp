// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("fake_device: the host cannot touch its memory") {
  fake_device device(1);
  std::byte* const memory = device.allocate(100);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  // The kernel says what a touch would have come to, without the fault.
  CHECK(::write(ends[1], memory, 1) == -1);
  CHECK(errno == EFAULT);
  ::close(ends[0]);
  ::close(ends[1]);
  device.free(memory);
  CHECK(device.live_allocations() == 0);
}

TEST_CASE("fake_device: copies arrive when they are waited for, and hold poison until then") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    device_tensor<std::int32_t> tensor(fake_space{&device}, {2, 3});
    const std::vector<std::int32_t> values = {1, 2, 3, 4, 5, 6};
    tensor.upload(values);
    CHECK(device.due_copies() == 1);
    CHECK(tensor.download() == values);

    std::vector<std::int32_t> host(6, 9);
    const fake_space space = tensor.get_space();
    const auto to = std::as_writable_bytes(std::span(host));
    const auto event =
        space.copy_to_host(to, reinterpret_cast<const std::byte*>(tensor.data())).value();
    CHECK(std::all_of(to.begin(), to.end(), [](std::byte b) { return b == fake_device::poison; }));
    space.wait(event).value();
    CHECK(host == values);
    space.wait(event).value();
  }
}

TEST_CASE("fake_device: a reader that does not wait for the event sees poison for some seed") {
  bool saw_poison = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    device_tensor<std::uint8_t> tensor(fake_space{&device}, {1});
    const std::vector<std::uint8_t> value = {1};
    tensor.upload(value);
    std::byte host{};
    const fake_space space = tensor.get_space();
    const auto event =
        space.copy_to_host({&host, 1}, reinterpret_cast<const std::byte*>(tensor.data())).value();
    space.wait(event).value();
    saw_poison = saw_poison || host == fake_device::poison;
  }
  CHECK(saw_poison);
}

TEST_CASE("fake_device: copies outside of an allocation are refused, also when it went away") {
  fake_device device(3);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(10);
  std::vector<std::byte> host(11);
  CHECK(space.copy_to_host(host, memory).failure().code == zp::errc::device);
  CHECK(space.copy_from_host(memory + 1, {host.data(), 10}).failure().code == zp::errc::device);
  CHECK(space.copy_to_host(host, host.data()).failure().code == zp::errc::device);
  const auto late = space.copy_to_host({host.data(), 10}, memory).value();
  device.free(memory);
  CHECK(space.wait(late).failure().code == zp::errc::device);
}

TEST_CASE("fake_device: fails the copy it was told to fail, and counts pins") {
  fake_device device(4);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(4);
  std::vector<std::byte> host(4);
  device.fail_after(1);
  const auto first = space.copy_to_host(host, memory).value();
  const auto second = space.copy_to_host(host, memory).value();
  CHECK(space.wait(first));
  CHECK(space.wait(second).failure().code == zp::errc::device);
  CHECK(device.copies() == 2);
  space.pin(host).value();
  CHECK(device.pinned_ranges() == 1);
  space.unpin(host);
  CHECK(device.pinned_ranges() == 0);
  device.free(memory);
}
