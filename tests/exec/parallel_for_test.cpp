// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/byte_limiter.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace parallel_for_test {

namespace zp = zarrpoint;

namespace {

zp::error failed(std::size_t i) { return {zp::errc::corrupt, "item " + std::to_string(i)}; }

/// Accepts a few tasks, then throws.
struct moody_executor {
  zp::any_executor inner;
  std::shared_ptr<std::atomic<int>> left = std::make_shared<std::atomic<int>>(1);
  void execute(zp::task work) const {
#if ZARRPOINT_EXCEPTIONS
    if (left->fetch_sub(1) <= 0) throw std::runtime_error("no more");
#endif
    inner.execute(std::move(work));
  }
  unsigned concurrency() const { return 4; }
};

/// Counts how often it is asked.
struct asked_executor {
  int* asked;
  void execute(zp::task work) const { work(); }
  unsigned concurrency() const {
    ++*asked;
    return 2;
  }
};

}  // namespace

TEST_CASE("parallel_for: loops within a loop leave the caller's processor to the caller") {
  zp::thread_pool pool(3);
  const zp::any_executor executor = pool.executor();
  for (int round = 0; round < 20; ++round) {
    std::latch three(3);  // the caller and two that help it
    std::atomic<int> active{0};
    std::atomic<int> most{0};
    const auto inner = [&](std::size_t i) -> zp::result<void> {
      if (i == 0) three.arrive_and_wait();
      const int now = ++active;
      for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      --active;
      return {};
    };
    const auto outer = [&](std::size_t) { return zp::parallel_for(executor, 4, inner); };
    zp::parallel_for(executor, 3, outer).value();
    CHECK(most <= 3);
  }
}

TEST_CASE("parallel_for: a loop within another has helpers when its caller's caller waits") {
  zp::thread_pool pool(2);
  const zp::any_executor executor = pool.executor();
  for (int round = 0; round < 20; ++round) {
    // The thread that takes the short item has nothing to do then, and is to help with the long
    // one.
    std::latch both(2);
    const auto half = [&](std::size_t) -> zp::result<void> {
      both.arrive_and_wait();
      return {};
    };
    const auto inner = [&](std::size_t i) -> zp::result<void> {
      return i == 0 ? zp::result<void>() : zp::parallel_for(executor, 2, half);
    };
    zp::parallel_for(executor, 2, inner).value();
  }
}

TEST_CASE("parallel_for: helpers come late, and still to the loop that has most to do") {
  zp::thread_pool pool(3);
  const zp::any_executor executor = pool.executor();
  // A long leaf, and many short ones whose callers ask for help, too, while all threads are busy.
  std::latch three(3);
  std::atomic<int> shorts{0};
  const auto leaf = [&](std::size_t i) -> zp::result<void> {
    if (i != 0)
      return zp::parallel_for(executor, 3, [&](std::size_t) -> zp::result<void> {
        ++shorts;
        return {};
      });
    return zp::parallel_for(executor, 300, [&](std::size_t at) -> zp::result<void> {
      while (at == 0 && shorts < 600) std::this_thread::yield();
      if (at > 0 && at <= 3) three.arrive_and_wait();  // each by a thread of its own
      return {};
    });
  };
  zp::parallel_for(executor, 201, leaf).value();
  CHECK(shorts == 600);
}

TEST_CASE("parallel_for: each item once, on every kind of executor") {
  zp::thread_pool pool(3);
  const zp::testing::manual_executor manual{4};
  const zp::any_executor executors[] = {zp::any_executor(), pool.executor(), manual,
                                        zp::testing::dropping_executor{},
                                        moody_executor{pool.executor()}};
  for (const zp::any_executor& executor : executors) {
    for (const std::size_t n : {0u, 1u, 2u, 3u, 10u, 1000u}) {
      for (const std::size_t grain : {std::size_t{1}, std::size_t{3}, SIZE_MAX}) {
        std::vector<std::atomic<int>> calls(n);
        const auto body = [&calls](std::size_t i) -> zp::result<void> {
          ++calls[i];
          return {};
        };
        CHECK(zp::parallel_for(executor, n, body, {.grain = grain}));
        for (std::size_t i = 0; i < n; ++i) CHECK(calls[i] == 1);
      }
    }
  }
  manual.run_all();  // helpers that come after the call find nothing to do
}

TEST_CASE("parallel_for: a worker takes items in a row, and leaves work to the others") {
  zp::thread_pool pool(3);
  const zp::any_executor executor = pool.executor();
  for (const std::size_t n : {2u, 9u, 100u}) {
    for (const std::size_t grain : {std::size_t{1}, std::size_t{4}, SIZE_MAX}) {
      const std::size_t workers = zp::parallel_workers(executor, n);
      std::latch all(static_cast<std::ptrdiff_t>(workers));
      std::vector<std::uint8_t> begun(workers, 0);  // each worker has a row before one has two
      std::vector<unsigned> by(n);
      zp::parallel_for(executor, n,
                       [&](std::size_t i, unsigned worker) -> zp::result<void> {
                         by[i] = worker;
                         if (std::exchange(begun[worker], std::uint8_t{1}) == 0)
                           all.arrive_and_wait();
                         return {};
                       },
                       {.grain = grain})
          .value();
      std::vector<unsigned> first_rows;
      for (std::size_t first = 0; first < n;) {
        const std::size_t row = std::clamp<std::size_t>((n - first) / workers, 1, grain);
        for (std::size_t i = first; i < first + row; ++i) CHECK(by[i] == by[first]);
        if (first_rows.size() < workers) first_rows.push_back(by[first]);
        first += row;
      }
      std::sort(first_rows.begin(), first_rows.end());
      for (std::size_t worker = 0; worker < workers; ++worker) CHECK(first_rows[worker] == worker);
    }
  }
}

TEST_CASE("parallel_for: a failure in a row leaves those of the rows below to be done") {
  zp::thread_pool pool(2);
  std::latch both(2);
  std::vector<std::atomic<int>> calls(8);
  const auto status = zp::parallel_for(pool.executor(), 8,
                                       [&](std::size_t i) -> zp::result<void> {
                                         ++calls[i];
                                         if (i == 0 || i == 4) both.arrive_and_wait();
                                         if (i == 5 || i == 3) return failed(i);
                                         return {};
                                       },
                                       {.grain = 4});
  REQUIRE(!status);
  CHECK(status.failure().message == "item 3");
  for (std::size_t i = 0; i < 8; ++i) CHECK(calls[i] <= (i < 6 ? 1 : 0));
  for (std::size_t i = 0; i < 4; ++i) CHECK(calls[i] == 1);
}

TEST_CASE("parallel_for: helpers take part") {
  zp::thread_pool pool(3);
  std::latch together(3);
  std::vector<std::thread::id> where(3);
  CHECK(
      zp::parallel_for(pool.executor(), 3, [&](std::size_t i, unsigned worker) -> zp::result<void> {
        where[worker] = std::this_thread::get_id();
        together.arrive_and_wait();  // passes only when three threads are in here
        static_cast<void>(i);
        return {};
      }));
  CHECK(where[0] == std::this_thread::get_id());
  CHECK(where[1] != where[0]);
  CHECK(where[2] != where[1]);
}

TEST_CASE("parallel_for: the number of workers") {
  const zp::any_executor eight = zp::testing::manual_executor{8};
  CHECK(zp::parallel_workers(eight, 100) == 8);
  CHECK(zp::parallel_workers(eight, 5) == 5);
  CHECK(zp::parallel_workers(eight, 0) == 1);
  CHECK(zp::parallel_workers(eight, 100, {.max_workers = 3}) == 3);
  CHECK(zp::parallel_workers(eight, 2, {.max_workers = 3}) == 2);
  CHECK(zp::parallel_workers(zp::any_executor(), 100) == 1);
  CHECK(zp::parallel_workers(zp::any_executor(), 100, {.max_workers = 7}) == 1);
  // What one does alone asks no executor.
  int asked = 0;
  const zp::any_executor counts = asked_executor{&asked};
  CHECK(zp::parallel_workers(counts, 1) == 1);
  CHECK(zp::parallel_workers(counts, 100, {.max_workers = 1}) == 1);
  CHECK(zp::parallel_for(counts, 1, [](std::size_t) { return zp::result<void>(); }));
  CHECK(asked == 0);
  CHECK(zp::parallel_workers(counts, 2) == 2);
  CHECK(asked == 1);
}

TEST_CASE("parallel_for: a worker's state is its own") {
  zp::thread_pool pool(4);
  const zp::any_executor executor = pool.executor();
  for (int round = 0; round < 50; ++round) {
    const unsigned workers = zp::parallel_workers(executor, 500);
    std::vector<std::uint64_t> sums(workers, 0);  // not atomic: TSan would see two at a time
    CHECK(zp::parallel_for(executor, 500, [&](std::size_t i, unsigned worker) -> zp::result<void> {
      sums.at(worker) += i;
      return {};
    }));
    std::uint64_t total = 0;
    for (const std::uint64_t sum : sums) total += sum;
    CHECK(total == 500 * 499 / 2);
  }
}

TEST_CASE("parallel_for: the error is that of the lowest failing item, in every run") {
  zp::thread_pool pool(4);
  const zp::any_executor executor = pool.executor();
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const std::size_t n = 1 + random() % 200;
    std::vector<std::uint8_t> fails(n, 0);
    std::vector<std::uint8_t> delay(n, 0);
    std::optional<std::size_t> lowest;
    for (std::size_t i = 0; i < n; ++i) {
      fails[i] = random() % 16 == 0;
      delay[i] = static_cast<std::uint8_t>(random() % 4);
      if (fails[i] != 0 && !lowest) lowest = i;
    }
    std::vector<std::atomic<int>> calls(n);
    const auto body = [&](std::size_t i) -> zp::result<void> {
      ++calls[i];
      for (unsigned d = 0; d < delay[i]; ++d) std::this_thread::yield();
      if (fails[i] != 0) return failed(i);
      return {};
    };
    const auto status = zp::parallel_for(executor, n, body, {.grain = 1 + random() % 8});
    CHECK(status.has_value() == !lowest.has_value());
    if (lowest) {
      CHECK(status.failure().message == failed(*lowest).message);
      CHECK(status.failure().code == zp::errc::corrupt);
    }
    for (std::size_t i = 0; i < lowest.value_or(n); ++i) CHECK(calls[i] == 1);
    for (std::size_t i = 0; i < n; ++i) CHECK(calls[i] <= 1);
  }
}

TEST_CASE("parallel_for: alone, nothing is begun after the failure") {
  std::vector<std::size_t> seen;
  const auto status =
      zp::parallel_for(zp::any_executor(), 10, [&](std::size_t i) -> zp::result<void> {
        seen.push_back(i);
        if (i == 3) return failed(i);
        return {};
      });
  REQUIRE(!status);
  CHECK(status.failure().message == "item 3");
  CHECK(seen == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("parallel_for: stop") {
  zp::thread_pool pool(3);
  for (const zp::any_executor& executor : {zp::any_executor(), zp::any_executor(pool.executor())}) {
    for (const std::size_t at : {0u, 1u, 57u, 400u}) {
      const zp::stop_source source;
      std::atomic<std::size_t> calls{0};
      const auto status = zp::parallel_for(executor, 100000,
                                           [&](std::size_t) -> zp::result<void> {
                                             if (calls++ == at) source.request_stop();
                                             return {};
                                           },
                                           {.stop = source.token()});
      REQUIRE(!status);
      CHECK(status.failure().code == zp::errc::cancelled);
      CHECK(calls > at);
    }
    const zp::stop_source early;
    early.request_stop();
    bool called = false;
    const auto body = [&called](std::size_t) -> zp::result<void> {
      called = true;
      return {};
    };
    const auto status = zp::parallel_for(executor, 5, body, {.stop = early.token()});
    REQUIRE(!status);
    CHECK(status.failure().code == zp::errc::cancelled);
    CHECK(!called);
  }
}

TEST_CASE("parallel_for: stop within a row of items") {
  for (const std::size_t at : {0u, 2u, 4u}) {
    const zp::stop_source source;
    std::size_t calls = 0;
    const auto status = zp::parallel_for(zp::any_executor(), 5,
                                         [&](std::size_t i) -> zp::result<void> {
                                           ++calls;
                                           if (i == at) source.request_stop();
                                           return {};
                                         },
                                         {.stop = source.token(), .grain = 5});
    CHECK(calls == at + 1);
    CHECK(status.has_value() == (at == 4));  // with the last one all was done
    if (!status) CHECK(status.failure().code == zp::errc::cancelled);
  }
}

TEST_CASE("parallel_for: stop after the last item was begun is success") {
  const zp::stop_source source;
  CHECK(zp::parallel_for(zp::any_executor(), 5,
                         [&source](std::size_t i) -> zp::result<void> {
                           if (i == 4) source.request_stop();
                           return {};
                         },
                         {.stop = source.token()}));
}

TEST_CASE("parallel_for: a failure beats a stop") {
  zp::thread_pool pool(3);
  const zp::stop_source source;
  const auto status = zp::parallel_for(pool.executor(), 1000,
                                       [&source](std::size_t i) -> zp::result<void> {
                                         if (i == 0) {
                                           source.request_stop();
                                           return failed(0);
                                         }
                                         return {};
                                       },
                                       {.stop = source.token()});
  REQUIRE(!status);
  CHECK(status.failure().message == "item 0");
}

TEST_CASE("parallel_for: nested on one pool") {
  for (const unsigned threads : {1u, 2u, 4u}) {
    zp::thread_pool pool(threads);
    const zp::any_executor executor = pool.executor();
    std::atomic<int> calls{0};
    CHECK(zp::parallel_for(executor, 8, [&](std::size_t) {
      return zp::parallel_for(executor, 8, [&](std::size_t) {
        return zp::parallel_for(executor, 8, [&](std::size_t) -> zp::result<void> {
          ++calls;
          return {};
        });
      });
    }));
    CHECK(calls == 512);
  }
}

TEST_CASE("parallel_for: from within every task of the pool at once") {
  constexpr int n = 6;
  std::latch done(n);
  std::atomic<int> calls{0};
  zp::thread_pool pool(3);
  const zp::any_executor executor = pool.executor();
  for (int t = 0; t < n; ++t) {
    executor.execute([&] {
      const auto status = zp::parallel_for(executor, 100, [&](std::size_t) -> zp::result<void> {
        ++calls;
        return {};
      });
      if (!status) calls = -100000;
      done.count_down();
    });
  }
  done.wait();
  CHECK(calls == n * 100);
}

TEST_CASE("parallel_for: many callers share one pool") {
  zp::thread_pool pool(2);
  const zp::any_executor executor = pool.executor();
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (std::size_t round = 0; round < 50; ++round) {
        const std::size_t bad = (c * 31 + round) % 60;
        const auto status = zp::parallel_for(executor, 60, [&](std::size_t i) -> zp::result<void> {
          if (i >= bad) return failed(i);
          return {};
        });
        if (status || status.failure().message != failed(bad).message) ++wrong;
      }
    });
  }
  for (std::thread& each : callers) each.join();
  CHECK(wrong == 0);
}

TEST_CASE("parallel_for: takes an lvalue, a const and a mutable body") {
  struct body {
    std::atomic<int>* calls;
    zp::result<void> operator()(std::size_t) const {
      ++*calls;
      return {};
    }
  };
  std::atomic<int> calls{0};
  const body constant{&calls};
  body lvalue{&calls};
  CHECK(zp::parallel_for(zp::any_executor(), 3, constant));
  CHECK(zp::parallel_for(zp::any_executor(), 3, lvalue));
  int count = 0;
  CHECK(zp::parallel_for(zp::any_executor(), 3, [count](std::size_t) mutable -> zp::result<void> {
    ++count;
    return {};
  }));
  CHECK(calls == 6);
}

TEST_CASE("parallel_for: with a byte limiter, as a save uses it") {
  zp::thread_pool pool(4);
  for (const zp::any_executor& executor : {zp::any_executor(), zp::any_executor(pool.executor())}) {
    zp::byte_limiter limiter(100);
    std::atomic<std::size_t> held{0};
    std::atomic<bool> exceeded{false};
    CHECK(zp::parallel_for(executor, 300, [&](std::size_t i) -> zp::result<void> {
      ZARRPOINT_TRY(room, limiter.acquire(1 + i % 60));
      const std::size_t now = held += room.bytes();
      if (now > 100) exceeded = true;
      std::this_thread::yield();
      held -= room.bytes();
      return {};
    }));
    CHECK(!exceeded);
    CHECK(limiter.peak() <= 100);
    CHECK(limiter.in_flight() == 0);
  }
}

#if ZARRPOINT_EXCEPTIONS
TEST_CASE("parallel_for: exceptions are failures like others") {
  zp::thread_pool pool(3);
  for (const zp::any_executor& executor : {zp::any_executor(), zp::any_executor(pool.executor())}) {
    const auto status = zp::parallel_for(executor, 50, [](std::size_t i) -> zp::result<void> {
      if (i >= 20) throw std::runtime_error("thrown by " + std::to_string(i));
      return {};
    });
    REQUIRE(!status);
    CHECK(status.failure().message == "exception: thrown by 20");
  }
}
#endif

}  // namespace parallel_for_test
