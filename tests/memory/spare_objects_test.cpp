// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device/spare_objects.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace spare_objects_test {

using namespace zarrpoint;

TEST_CASE("spare_objects: one object for each type and number, made once") {
  detail::spare_objects kept;
  int made = 0;
  const auto make = [&] { return ++made, std::make_shared<int>(made); };
  const std::shared_ptr<int> first = kept.get<int>(0, make);
  CHECK(kept.get<int>(0, make) == first);
  CHECK(*kept.get<int>(1, make) == 2);
  const auto other = kept.get<unsigned>(0, [] { return std::make_shared<unsigned>(7u); });
  CHECK(*other == 7);
  CHECK(*kept.get<int>(0, make) == 1);
  CHECK(made == 2);
}

TEST_CASE("spare_objects: nothing is not kept, and what is kept ends with it") {
  std::weak_ptr<int> watched;
  {
    detail::spare_objects kept;
    CHECK(kept.get<int>(3, [] { return std::shared_ptr<int>(); }) == nullptr);
    watched = kept.get<int>(3, [] { return std::make_shared<int>(1); });
    CHECK_FALSE(watched.expired());
  }
  CHECK(watched.expired());
}

TEST_CASE("spare_objects: many threads get the same object") {
  detail::spare_objects kept;
  std::atomic<int> made{0};
  std::vector<std::shared_ptr<int>> got(8);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&kept, &made, &mine] {
      mine = kept.get<int>(0, [&] { return ++made, std::make_shared<int>(5); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made == 1);
  for (const auto& one : got) CHECK(one == got[0]);
}

}  // namespace spare_objects_test
