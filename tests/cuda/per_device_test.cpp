// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/cuda/runtime/current_device.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace per_device_test {

namespace {

struct counted {
  static inline std::atomic<int> alive{0};
  int device;
  explicit counted(int number) : device(number) { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
};
using shared = zarrpoint::cuda::detail::per_device<counted>;

}  // namespace

TEST_CASE("the users of a device share one object, which ends with the last of them") {
  CHECK(shared::find(1) == nullptr);
  auto first = shared::share(1);
  CHECK(first->device == 1);
  auto second = shared::share(1);
  CHECK(second == first);
  CHECK(shared::find(1) == first);
  CHECK(shared::share(0) != first);
  CHECK(shared::find(0) == nullptr);
  first = nullptr;
  CHECK(counted::alive == 1);
  second = nullptr;
  CHECK(counted::alive == 0);
  CHECK(shared::find(1) == nullptr);
}

TEST_CASE("users come and go on any threads") {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int turn = 0; turn < 500; ++turn) {
        const auto mine = shared::share(turn % 2);
        if (mine->device != turn % 2 || shared::find(turn % 2) != mine) std::abort();
      }
    });
  }
  for (std::thread& one : threads) one.join();
  CHECK(counted::alive == 0);
}

}  // namespace per_device_test
