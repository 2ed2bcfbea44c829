// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/byte_limiter.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace byte_limiter_test {

namespace zp = zarrpoint;

namespace {

void spin_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

}  // namespace

TEST_CASE("byte_limiter: counts what is in flight") {
  zp::byte_limiter limiter(100);
  CHECK(limiter.limit() == 100);
  {
    auto a = limiter.acquire(60).value();
    auto b = limiter.acquire(40).value();
    CHECK(limiter.in_flight() == 100);
    a.release();
    a.release();
    CHECK(a.bytes() == 0);
    CHECK(limiter.in_flight() == 40);
    auto c = std::move(b);
    CHECK(b.bytes() == 0);  // NOLINT(bugprone-use-after-move): moved-from holds nothing
    CHECK(c.bytes() == 40);
    c = limiter.acquire(10).value();
    CHECK(limiter.in_flight() == 10);
    auto& self = c;
    c = std::move(self);
    CHECK(limiter.in_flight() == 10);
    CHECK(limiter.acquire(0).value().bytes() == 0);
  }
  CHECK(limiter.in_flight() == 0);
  CHECK(limiter.peak() == 100);
}

TEST_CASE("byte_limiter: no limit") {
  zp::byte_limiter limiter(0);
  const auto a = limiter.acquire(SIZE_MAX / 2).value();
  const auto b = limiter.acquire(SIZE_MAX / 2).value();
  CHECK(limiter.in_flight() == SIZE_MAX - 1);
}

TEST_CASE("byte_limiter: a request above the limit is granted alone") {
  zp::byte_limiter limiter(100);
  std::optional small = limiter.acquire(1).value();
  std::atomic<bool> asked{false};
  std::atomic<std::size_t> seen{0};
  std::thread large([&] {
    asked = true;
    const auto room = limiter.acquire(1000).value();
    seen = limiter.in_flight();
  });
  spin_until(asked);
  CHECK(limiter.peak() == 1);
  small.reset();
  large.join();
  CHECK(seen == 1000);
  CHECK(limiter.in_flight() == 0);
}

TEST_CASE("byte_limiter: without waiting") {
  zp::byte_limiter limiter(100);
  {
    const auto a = limiter.try_acquire(60);
    REQUIRE(a);
    CHECK(a->bytes() == 60);
    CHECK(!limiter.try_acquire(41));
    CHECK(limiter.try_acquire(40));
    CHECK(!limiter.try_acquire(SIZE_MAX));
    CHECK(limiter.in_flight() == 60);
  }
  CHECK(limiter.in_flight() == 0);
  CHECK(limiter.try_acquire(1000));
  CHECK(limiter.peak() == 1000);
}

TEST_CASE("byte_limiter: requests are granted in order, so that a large one is not starved") {
  zp::byte_limiter limiter(100);
  std::optional first = limiter.acquire(50).value();
  std::atomic<bool> granted{false};
  std::thread large([&] { granted = limiter.acquire(100).has_value(); });
  // As soon as the large one is in the line, a small one that would fit no longer passes it.
  while (limiter.try_acquire(1)) std::this_thread::yield();
  CHECK(limiter.in_flight() == 50);
  CHECK(!granted);
  const zp::stop_source stopped;
  stopped.request_stop();
  CHECK(limiter.acquire(1, stopped.token()).failure().code == zp::errc::cancelled);
  first.reset();
  large.join();
  CHECK(granted);
  CHECK(limiter.peak() == 100);
  CHECK(limiter.acquire(1, stopped.token()));  // what fits is granted, even when stopped
}

TEST_CASE("byte_limiter: stop ends the wait and leaves the line in order") {
  zp::byte_limiter limiter(10);
  std::optional held = limiter.acquire(10).value();
  const zp::stop_source stop;
  const zp::stop_source other;
  std::atomic<int> cancelled{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      const auto room = limiter.acquire(5, stop.token());
      if (!room && room.failure().code == zp::errc::cancelled) ++cancelled;
    });
  }
  std::atomic<bool> got{false};
  std::thread survivor([&] { got = limiter.acquire(7, other.token()).has_value(); });
  stop.request_stop();
  for (std::thread& each : waiters) each.join();
  CHECK(cancelled == 3);
  held.reset();
  survivor.join();
  CHECK(got);
  CHECK(limiter.in_flight() == 0);
}

TEST_CASE("byte_limiter: never above the limit under random load") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    zp::byte_limiter limiter(1000);
    std::atomic<std::size_t> held{0};
    std::atomic<bool> exceeded{false};
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(seed * 100 + t);
        for (int i = 0; i < 200; ++i) {
          const std::size_t bytes = random() % 16 == 0 ? 1000 + random() % 100 : 1 + random() % 600;
          const auto room = limiter.acquire(bytes).value();
          const std::size_t now = held += bytes;
          if (now > 1000 && now != bytes) exceeded = true;
          if (random() % 4 == 0) std::this_thread::yield();
          held -= bytes;
        }
      });
    }
    for (std::thread& each : threads) each.join();
    CHECK(!exceeded);
    CHECK(limiter.in_flight() == 0);
    CHECK(limiter.peak() < 1100);
  }
}

}  // namespace byte_limiter_test
