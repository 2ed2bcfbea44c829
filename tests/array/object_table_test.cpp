// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/read/object_table.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace object_table_test { namespace {

using namespace zarrpoint;

detail::plan_item item_of(std::size_t object_first, std::size_t items) {
  detail::plan_item out{};
  out.object_first = object_first;
  out.object_items = items;
  return out;
}

TEST_CASE("an object is made by the first item and dropped by the last") {
  detail::object_table<int> table;
  int made = 0;
  const auto make = [&]() -> result<std::shared_ptr<int>> { return std::make_shared<int>(++made); };
  const detail::plan_item first = item_of(0, 2);
  const detail::plan_item other = item_of(2, 1);
  CHECK(*table.get(first, make).value() == 1);
  CHECK(*table.get(other, make).value() == 2);
  CHECK_FALSE(table.finish(first));
  const std::weak_ptr<int> held = table.get(first, make).value();
  CHECK(*held.lock() == 1);
  CHECK(table.finish(first));
  CHECK(held.expired());
  CHECK(table.finish(other));
  CHECK(made == 2);
}

TEST_CASE("a failure is that of all items of the object, and of no other") {
  detail::object_table<int> table;
  bool fail = true;
  const auto make = [&]() -> result<std::shared_ptr<int>> {
    if (fail) return error{errc::io, "no"};
    return std::make_shared<int>(5);
  };
  CHECK_FALSE(table.get(item_of(0, 2), make));
  fail = false;
  const auto again = table.get(item_of(0, 2), make);
  REQUIRE_FALSE(again);
  CHECK(again.failure().message == "no");
  CHECK(*table.get(item_of(2, 1), make).value() == 5);
}

TEST_CASE("many workers share one object") {
  detail::object_table<int> table;
  std::atomic<int> made{0};
  std::atomic<int> lasts{0};
  constexpr std::size_t items = 64;
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      for (std::size_t i = 0; i < items / 4; ++i) {
        const auto object = table.get(item_of(7, items), [&]() -> result<std::shared_ptr<int>> {
          return std::make_shared<int>(++made);
        });
        if (object.has_value() && **object == 1 && table.finish(item_of(7, items))) ++lasts;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(made == 1);
  CHECK(lasts == 1);
}

}}  // namespace object_table_test
