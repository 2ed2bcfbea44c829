// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/current_device.hpp>
#include <zarrpoint/cuda/runtime/device_space.hpp>

#include "cuda/fixture.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <thread>

namespace current_device_test {

using namespace zarrpoint;
using zarrpoint::cuda::device_scope;
using zarrpoint_test::fake_context;
using zarrpoint_test::fake_runtime_asked;

TEST_CASE("a device is the current one for a while") {
  const zarrpoint_test::fresh_devices devices({.devices = 3});
  int now = -1;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  {
    const device_scope scope(2);
    CHECK(scope.status() == cudaSuccess);
    REQUIRE(cudaGetDevice(&now) == cudaSuccess);
    CHECK(now == 2);
    const device_scope same(2);
    CHECK(same.status() == cudaSuccess);
  }
  REQUIRE(cudaGetDevice(&now) == cudaSuccess);
  CHECK(now == 1);
  {
    const device_scope none(3);
    CHECK(none.status() == cudaErrorInvalidDevice);
  }
  REQUIRE(cudaGetDevice(&now) == cudaSuccess);
  CHECK(now == 1);
  CHECK(zarrpoint::cuda::device_count().value() == 3);
  const auto refused = zarrpoint::cuda::detail::on_device({7, "fill"}, [] { return cudaSuccess; });
  CHECK(zarrpoint_test::contains(refused.failure().message, "cuda:7: fill: no such CUDA device"));
}

TEST_CASE("no context is made where nothing is done, by a scope or by what ends on a thread") {
  for (const bool tells : {true, false}) {
    CAPTURE(tells);
    const zarrpoint_test::fresh_devices devices({.tells_contexts = tells});
    int now = -1;
    { const device_scope scope(1); }
    CHECK(fake_context(0) == !tells);  // when it cannot be told, the thread has its device again
    REQUIRE(cudaGetDevice(&now) == cudaSuccess);
    CHECK(now == (tells ? 1 : 0));
    CHECK(fake_runtime_asked().set_device == (tells ? 1 : 2));
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    { const device_scope scope(1); }
    REQUIRE(cudaGetDevice(&now) == cudaSuccess);
    CHECK(now == 0);
  }
  const zarrpoint_test::fresh_devices devices;
  std::optional<zarrpoint::cuda::stream> stream;
  zarrpoint::cuda::device_space space;
  std::byte* memory = nullptr;
  std::optional<zarrpoint::cuda::event> event;
  std::shared_ptr<void> reserve;
  const auto on_a_thread = [](const std::function<void()>& f) { std::thread(f).join(); };
  on_a_thread([&] {
    stream = zarrpoint::cuda::stream::make(1).value();
    space = stream->space();
    reserve = space.reserve();
  });
  on_a_thread([&] { memory = space.allocate_scratch(64).value(); });
  on_a_thread([&] { CHECK(space.fill(memory, std::byte{1}, 64)); });
  on_a_thread([&] { event = space.record().value(); });
  on_a_thread([&] { CHECK(space.happened(*event)); });
  on_a_thread([&] { CHECK(space.wait(*event)); });
  on_a_thread([&] { CHECK(space.check(memory, 64)); });
  on_a_thread([&] { space.deallocate(memory, 64); });
  on_a_thread([&] { CHECK(space.synchronize()); });
  on_a_thread([&] { reserve.reset(); });
  on_a_thread([&] { event.reset(); });
  on_a_thread([&] { stream.reset(); });
  CHECK(fake_context(1));
  CHECK(!fake_context(0));
}

TEST_CASE("without a device the count says so") {
  zarrpoint_test::restart_fake_runtime({.absent = cudaErrorInsufficientDriver});
  const auto refused = zarrpoint::cuda::device_count();
  CHECK(refused.failure().code == errc::device);
  CHECK(zarrpoint_test::contains(refused.failure().message,
                                 "no CUDA device: cudaErrorInsufficientDriver"));
  CHECK(device_scope(0).status() == cudaErrorInsufficientDriver);
  zarrpoint_test::restart_fake_runtime({.devices = 0});
  CHECK(zarrpoint_test::contains(zarrpoint::cuda::device_count().failure().message,
                                 "no CUDA device: cudaErrorNoDevice"));
  zarrpoint_test::restart_fake_runtime();
}

}  // namespace current_device_test
