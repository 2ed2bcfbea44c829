// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/pending.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pending_test {

namespace zp = zarrpoint;

TEST_CASE("pending: with the inline executor it is done on return") {
  auto pending = zp::run_async(zp::any_executor(), [] { return zp::result<int>(5); });
  static_assert(std::is_same_v<decltype(pending), zp::pending<int>>);
  CHECK(pending.ready());
  CHECK(pending.valid());
  CHECK(pending.get().value() == 5);
  CHECK(!pending.valid());
  CHECK(pending.ready());
  CHECK(pending.get().failure().code == zp::errc::invalid_argument);
}

TEST_CASE("pending: what nobody took is gone with it, for as long as an executor keeps the task") {
  const zp::testing::manual_executor manual;
  const zp::any_executor executor(manual);
  const auto one = std::make_shared<int>(1);
  const auto work = [&one] { return zp::result<std::shared_ptr<int>>(one); };
  {
    const auto dropped = zp::run_async(executor, work);
    dropped.wait();
    CHECK(one.use_count() == 2);
  }
  CHECK(one.use_count() == 1);
  auto assigned = zp::run_async(executor, work);
  assigned = zp::run_async(executor, work);
  assigned.wait();
  CHECK(one.use_count() == 2);
  assigned = {};
  CHECK(one.use_count() == 1);
  auto taken = zp::run_async(executor, work);
  CHECK(*taken.get().value() == 1);
  CHECK(one.use_count() == 1);
  manual.run_all();
  CHECK(one.use_count() == 1);
}

TEST_CASE("pending: on a pool, with values, errors and nothing") {
  zp::thread_pool pool(2);
  auto text = zp::run_async(pool.executor(), [] { return zp::result<std::string>("done"); });
  auto none = zp::run_async(pool.executor(), []() -> zp::result<void> { return {}; });
  auto fails = zp::run_async(pool.executor(), []() -> zp::result<int> {
    return zp::error{zp::errc::io, "disk full"};
  });
  auto owner = zp::run_async(pool.executor(), [p = std::make_unique<int>(3)]() mutable {
    return zp::result<std::unique_ptr<int>>(std::move(p));
  });
  CHECK(text.get().value() == "done");
  CHECK(none.get());
  CHECK(fails.get().failure().message == "disk full");
  CHECK(*owner.get().value() == 3);
}

TEST_CASE("pending: a value that is there, and nothing at all") {
  zp::pending<int> there(zp::result<int>(9));
  CHECK(there.ready());
  CHECK(there.get().value() == 9);
  zp::pending<void> failed(zp::result<void>(zp::error{zp::errc::io, "no"}));
  CHECK(failed.get().failure().message == "no");
  zp::pending<int> nothing;
  CHECK(!nothing.valid());
  CHECK(nothing.ready());
  nothing.wait();
  CHECK(!nothing.get());
}

TEST_CASE("pending: the destructor waits") {
  zp::thread_pool pool(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> borrowed(10, 0);
    {
      const auto pending = zp::run_async(pool.executor(), [&borrowed]() -> zp::result<void> {
        std::this_thread::yield();
        for (int& each : borrowed) each = 1;
        return {};
      });
    }
    for (const int each : borrowed) CHECK(each == 1);
  }
}

TEST_CASE("pending: moves, and an assignment waits for what was there") {
  zp::thread_pool pool(2);
  int first = 0;
  int second = 0;
  auto a = zp::run_async(pool.executor(), [&first]() -> zp::result<int> { return first = 1; });
  auto b = zp::run_async(pool.executor(), [&second]() -> zp::result<int> { return second = 2; });
  a = std::move(b);
  CHECK(first == 1);
  CHECK(!b.valid());  // NOLINT(bugprone-use-after-move): moved-from holds nothing
  auto& self = a;
  a = std::move(self);
  zp::pending<int> c = std::move(a);
  CHECK(c.get().value() == 2);
}

TEST_CASE("pending: ready turns true once and the work's own things are gone by then") {
  zp::thread_pool pool(1);
  const auto held = std::make_shared<int>(0);
  std::latch gate(1);
  auto pending = zp::run_async(pool.executor(), [held, &gate]() -> zp::result<void> {
    gate.wait();
    return {};
  });
  CHECK(!pending.ready());
  gate.count_down();
  while (!pending.ready()) std::this_thread::yield();
  CHECK(held.use_count() == 1);
}

TEST_CASE("pending: the one that waits does the work that no thread has begun") {
  const zp::testing::manual_executor manual;
  std::thread::id where;
  int runs = 0;
  auto late = zp::run_async(manual, [&]() -> zp::result<int> {
    where = std::this_thread::get_id();
    return ++runs;
  });
  CHECK(!late.ready());
  CHECK(late.get().value() == 1);
  CHECK(where == std::this_thread::get_id());
  manual.run_all();  // the task that comes too late does nothing
  CHECK(runs == 1);

  auto dropped = zp::run_async(zp::testing::dropping_executor{}, [] { return zp::result<int>(8); });
  CHECK(dropped.get().value() == 8);
  {
    const auto never_read = zp::run_async(zp::testing::dropping_executor{},
                                          [&]() -> zp::result<int> { return ++runs; });
  }
  CHECK(runs == 2);
}

TEST_CASE("pending: waiting from within the pool's own tasks") {
  zp::thread_pool pool(1);
  const zp::any_executor executor = pool.executor();
  auto outer = zp::run_async(executor, [&executor]() -> zp::result<int> {
    auto inner = zp::run_async(executor, [&executor]() -> zp::result<int> {
      std::atomic<int> sum{0};
      ZARRPOINT_CHECK(zp::parallel_for(executor, 10, [&sum](std::size_t i) -> zp::result<void> {
        sum += static_cast<int>(i);
        return {};
      }));
      return sum.load();
    });
    return inner.get();
  });
  CHECK(outer.get().value() == 45);
}

TEST_CASE("pending: outlives the pool") {
  std::optional<zp::thread_pool> pool(std::in_place, 1u);
  std::latch gate(1);
  auto slow = zp::run_async(pool->executor(), [&gate]() -> zp::result<int> {
    gate.wait();
    return 1;
  });
  auto queued = zp::run_async(pool->executor(), [] { return zp::result<int>(2); });
  gate.count_down();
  pool.reset();
  CHECK(slow.ready());
  CHECK(queued.ready());
  CHECK(slow.get().value() == 1);
  CHECK(queued.get().value() == 2);
}

TEST_CASE("pending: the waiter and the pool race for the work, which runs once") {
  zp::thread_pool pool(2);
  for (int round = 0; round < 2000; ++round) {
    int runs = 0;  // not atomic: TSan would see two at a time
    auto pending = zp::run_async(pool.executor(), [&runs]() -> zp::result<int> { return ++runs; });
    if (round % 2 == 0) std::this_thread::yield();
    CHECK(pending.get().value() == 1);
    CHECK(runs == 1);
  }
}

#if ZARRPOINT_EXCEPTIONS
TEST_CASE("pending: exceptions become errors") {
  zp::thread_pool pool(1);
  auto thrown =
      zp::run_async(pool.executor(), []() -> zp::result<int> { throw std::runtime_error("oops"); });
  CHECK(thrown.get().failure().message == "exception: oops");

  struct refusing_executor {
    void execute(const zp::task&) const { throw std::runtime_error("closed"); }
  };
  auto refused = zp::run_async(refusing_executor{}, [] { return zp::result<int>(6); });
  CHECK(refused.get().value() == 6);
}
#endif

}  // namespace pending_test
