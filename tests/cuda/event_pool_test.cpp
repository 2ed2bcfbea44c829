// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/device_space.hpp>
#include <zarrpoint/cuda/runtime/event.hpp>

#include "cuda/fixture.hpp"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace event_pool_test {

using namespace zarrpoint;
using zarrpoint::cuda::event;
using zarrpoint::cuda::detail::event_pool;
using zarrpoint_test::device_fault;
using zarrpoint_test::fake_cuda_device;
using zarrpoint_test::fake_runtime_alive;
using zarrpoint_test::fake_runtime_asked;
using zarrpoint_test::fresh_devices;

namespace {

event record(int device) { return event::record(device, cudaStreamLegacy).value(); }

}  // namespace

TEST_CASE("events are recorded again while somebody has one, on their own device") {
  const fresh_devices devices;
  {
    const event kept = record(0);
    cudaEvent_t used = nullptr;
    for (int i = 0; i < 100; ++i) {
      const event one = record(0);
      CHECK((used == nullptr || one.get() == used));
      used = one.get();
    }
    CHECK(used != kept.get());
    CHECK(fake_runtime_asked().events == 2);
    const event other = record(1);
    CHECK(other.get() != used);
    CHECK(fake_runtime_asked().events == 3);
  }
  CHECK(fake_runtime_alive().events == 0);
}

TEST_CASE("an event that is recorded again stands for the later point") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const fresh_devices devices({.seed = seed});
    const auto stream = zarrpoint::cuda::stream::make(0).value();
    const auto space = stream.space();
    std::byte* const data = space.allocate(64).value();
    const event kept = space.record().value();
    std::vector<std::byte> host(64);
    for (int i = 0; i < 6; ++i) {
      REQUIRE(space.fill(data, static_cast<std::byte>(i), 64));
      REQUIRE(space.copy_to_host(host.data(), data, {.width = 64}));
      REQUIRE(space.wait(space.record().value()));
      CHECK(host == std::vector<std::byte>(64, static_cast<std::byte>(i)));
    }
    CHECK(fake_runtime_asked().events == 2);
    space.deallocate(data, 64);
  }
}

TEST_CASE("no more are kept than it says, and all go with the last event") {
  const fresh_devices devices;
  {
    const event kept = record(0);
    std::vector<event> many;
    for (std::size_t i = 0; i < event_pool::most + 10; ++i) many.push_back(record(0));
    many.clear();
    CHECK(fake_runtime_alive().events == event_pool::most + 1);
  }
  CHECK(fake_runtime_alive().events == 0);
}

TEST_CASE("after an error of the device none of its events is used again") {
  for (const device_fault fault :
       {device_fault::copy, device_fault::late_copy, device_fault::record, device_fault::lost}) {
    CAPTURE(to_string(fault));
    const fresh_devices devices;
    const zarrpoint::cuda::device_space space(0);
    std::byte* const data = space.allocate(64).value();
    std::optional<event> kept = space.record().value();
    std::optional<event> late = space.record().value();
    { const event idle = space.record().value(); }
    CHECK(fake_runtime_asked().events == 3);
    fake_cuda_device().arm(fault, 0);
    const auto asked = space.fill(data, std::byte{1}, 64);
    const auto marked = space.record();
    const auto waited = marked ? space.wait(*marked) : result<void>(marked.failure());
    CHECK(!(asked && waited));
    fake_cuda_device().recover();
    const std::size_t before = fake_runtime_asked().events;
    late.reset();  // of before the error: it does not come back
    const event next = space.record().value();
    CHECK(fake_runtime_asked().events == before + 1);
    space.deallocate(data, 64);
    kept.reset();
  }
}

TEST_CASE("events that a reset of the device took are thrown away") {
  const fresh_devices devices;
  const event kept = record(0);
  { const event idle[] = {record(0), record(0)}; }
  zarrpoint_test::forget_fake_events(0);
  const event one = record(0);
  CHECK(cudaPeekAtLastError() == cudaSuccess);  // though one could not be recorded
  CHECK(fake_runtime_asked().events == 4);
  CHECK(fake_runtime_alive().events == 1);
  CHECK(cudaEventSynchronize(one.get()) == cudaSuccess);
}

TEST_CASE("many threads record and wait") {
  const fresh_devices devices;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const zarrpoint::cuda::device_space space(i % 2);
      for (int turn = 0; turn < 300; ++turn) {
        const auto mine = space.record();
        if (!mine || !space.wait(*mine)) ++failed;
      }
    });
  }
  for (std::thread& one : threads) one.join();
  CHECK(failed == 0);
}

}  // namespace event_pool_test
