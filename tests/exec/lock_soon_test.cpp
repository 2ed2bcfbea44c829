// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/lock_soon.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace lock_soon_test {

using namespace zarrpoint;

TEST_CASE("lock_soon: one at a time") {
  std::mutex mutex;
  int count = 0;
  std::vector<std::thread> crew;
  for (int t = 0; t < 4; ++t) {
    crew.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const auto lock = detail::lock_soon(mutex);
        ++count;
      }
    });
  }
  for (std::thread& one : crew) one.join();
  CHECK(count == 20'000);
}

TEST_CASE("lock_soon: it waits for one that takes long") {
  std::mutex mutex;
  std::unique_lock held(mutex);
  bool is_free = false;
  std::thread other([&] {
    const auto lock = detail::lock_soon(mutex);
    CHECK(lock.owns_lock());
    CHECK(is_free);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  is_free = true;
  held.unlock();
  other.join();
}

}  // namespace lock_soon_test
