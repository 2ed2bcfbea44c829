// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace memory_bound_for_test {

using namespace zarrpoint;

namespace {

const auto same = [](std::size_t refused) { return refused; };

/// Each item takes one byte of so many while it runs.
struct budget {
  explicit budget(int bytes) : left(bytes) {}
  result<void> operator()() {
    if (left.fetch_sub(1) <= 0) {
      ++left;
      return error{errc::resource_limit, "no room"};
    }
    for (int i = 0; i < 1000; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    ++left;
    return {};
  }
  std::atomic<int> left;
};

}  // namespace

TEST_CASE("memory_bound_for: goes on with fewer workers until all items are done") {
  thread_pool pool(8);
  const any_executor executor = pool.executor();
  for (int bytes = 1; bytes <= 8; ++bytes) {
    budget memory(bytes);
    std::vector<std::atomic<int>> done(500);
    detail::memory_bound_for items(executor, done.size(), {});
    CHECK(items.run(
        [&](std::size_t i) -> result<void> {
          ZARRPOINT_CHECK(memory());
          ++done[i];
          return {};
        },
        same));
    CHECK(items.workers() >= 1);
    for (const auto& one : done) CHECK(one.load() >= 1);
  }
}

TEST_CASE("memory_bound_for: what is refused twice to one worker alone is refused") {
  const any_executor alone;
  for (const int refusals : {1, 2}) {
    int left = refusals;
    int again = 0;
    detail::memory_bound_for items(alone, 10, {});
    const result<void> done = items.run(
        [&](std::size_t i) -> result<void> {
          if (i == 4 && left-- > 0) return error{errc::resource_limit, "no room"};
          return {};
        },
        [&](std::size_t refused) {
          ++again;
          CHECK(refused == 4);
          return refused - 1;
        });
    CHECK(done.has_value() == (refusals == 1));
    CHECK(again == 1);
  }
}

#if ZARRPOINT_EXCEPTIONS
TEST_CASE("memory_bound_for: an item that throws for want of memory is done again, as well") {
  thread_pool pool(2);
  const any_executor executor = pool.executor();
  std::latch both(2);
  std::atomic<int> refusals{0};
  std::vector<std::atomic<int>> done(4);
  detail::memory_bound_for items(executor, done.size(), {});
  CHECK(items.run(
      [&](std::size_t i) -> result<void> {
        if ((i == 1 || i == 2) && refusals.load() < 2) {
          both.arrive_and_wait();
          ++refusals;
          if (i == 1) throw std::bad_alloc();
          return error{errc::resource_limit, "no room"};
        }
        ++done[i];
        return {};
      },
      same));
  for (const auto& one : done) CHECK(one.load() >= 1);
}
#endif

TEST_CASE("memory_bound_for: other errors, and those that cannot be tried again, are returned") {
  const any_executor alone;
  int calls = 0;
  detail::memory_bound_for items(alone, 3, {});
  const result<void> corrupt = items.run(
      [&](std::size_t) -> result<void> {
        ++calls;
        return error{errc::corrupt, "damaged"};
      },
      same);
  CHECK(corrupt.failure().code == errc::corrupt);
  detail::memory_bound_for others(alone, 3, {});
  const result<void> refused = others.run(
      [&](std::size_t) -> result<void> {
        ++calls;
        return error{errc::resource_limit, "no room"};
      },
      [](std::size_t) { return std::optional<std::size_t>(); });
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(calls == 2);
}

}  // namespace memory_bound_for_test
