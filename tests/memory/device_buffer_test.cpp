// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device/device_buffer.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

namespace device_buffer_test {

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

namespace {

/// A device with a reserve, of which it is counted what comes from there.
struct reserving : fake_space {
  int* scratch = nullptr;
  std::shared_ptr<void> reserve() const { return std::make_shared<int>(1); }
  result<std::byte*> allocate_scratch(std::size_t bytes) const {
    ++*scratch;
    return allocate(bytes);
  }
};
static_assert(reserving_space<reserving> && !reserving_space<fake_space>);

}  // namespace

TEST_CASE("device_buffer: what lasts is not of the reserve") {
  fake_device device(3);
  int scratch = 0;
  const reserving space{{&device}, &scratch};
  CHECK(detail::reserve_of(space) != nullptr);
  CHECK(detail::reserve_of(fake_space{&device}) == nullptr);
  {
    const auto lasting = device_buffer<reserving>::lasting(space, 8).value();
    CHECK(scratch == 0);
    const auto step = device_buffer<reserving>::allocate(space, 8).value();
    CHECK(scratch == 1);
    CHECK(device.live_allocations() == 2);
  }
  CHECK(device.live_allocations() == 0);
}

TEST_CASE("device_buffer: nothing is not an allocation") {
  fake_device device(2);
  const auto none = device_buffer<fake_space>::allocate(fake_space{&device}, 0).value();
  CHECK(none.data() == nullptr);
  CHECK(device.count().calls == 0);
}

}  // namespace device_buffer_test
