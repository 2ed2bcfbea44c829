// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/thread_pool.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace thread_pool_test {

namespace zp = zarrpoint;

TEST_CASE("thread_pool: as many threads as asked for, all at work") {
  // Each task waits for the three others: fewer threads would never get past.
  std::latch together(4);
  std::latch done(4);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  zp::thread_pool pool(4);
  const auto executor = pool.executor();
  CHECK(executor.concurrency() == 4);
  for (int i = 0; i < 4; ++i) {
    executor.execute([&] {
      together.arrive_and_wait();
      {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      done.count_down();
    });
  }
  done.wait();
  const std::lock_guard lock(mutex);
  CHECK(threads.size() == 4);
  CHECK(threads.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("thread_pool: one per processor by default") {
  const zp::thread_pool pool;
  CHECK(pool.executor().concurrency() == zp::hardware_concurrency());
}

TEST_CASE("thread_pool: one thread runs tasks in order") {
  std::vector<int> order;
  {
    zp::thread_pool pool(1);
    for (int i = 0; i < 100; ++i) pool.executor().execute([&order, i] { order.push_back(i); });
  }
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("thread_pool: the destructor runs what is queued, and what that queues") {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> runs{0};
    std::latch gate(1);  // outlives the threads that wait at it
    {
      zp::thread_pool pool(2);
      const zp::any_executor executor = pool.executor();
      for (int i = 0; i < 2; ++i) executor.execute([&gate] { gate.wait(); });
      for (int i = 0; i < 20; ++i) {
        executor.execute([&runs, executor] {
          ++runs;
          executor.execute([&runs] { ++runs; });
        });
      }
      gate.count_down();
    }
    CHECK(runs == 40);
  }
}

TEST_CASE("thread_pool: a chain of tasks that outlives the owner's scope does not recurse") {
  struct chain {
    zp::thread_pool::executor_type executor;
    std::atomic<int>* runs;
    void operator()() const {
      if (++*runs < 100000) executor.execute(*this);
    }
  };
  std::atomic<int> runs{0};
  {
    zp::thread_pool pool(2);
    pool.executor().execute(chain{pool.executor(), &runs});
  }
  CHECK(runs == 100000);
}

TEST_CASE("thread_pool: an executor without its pool runs tasks on the calling thread") {
  std::optional<zp::thread_pool> pool(std::in_place, 2u);
  const auto executor = pool->executor();
  pool.reset();
  std::thread::id where;
  executor.execute([&where] { where = std::this_thread::get_id(); });
  CHECK(where == std::this_thread::get_id());
}

TEST_CASE("thread_pool: what a task holds is gone before the pool is") {
  const auto held = std::make_shared<int>(1);
  std::optional<zp::thread_pool::executor_type> executor;
  {
    zp::thread_pool pool(3);
    executor = pool.executor();
    for (int i = 0; i < 50; ++i) executor->execute([held] {});
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("thread_pool: many producers") {
  std::atomic<int> runs{0};
  {
    zp::thread_pool pool(3);
    std::vector<std::thread> producers;
    for (int p = 0; p < 4; ++p) {
      producers.emplace_back([executor = pool.executor(), &runs] {
        for (int i = 0; i < 500; ++i) executor.execute([&runs] { ++runs; });
      });
    }
    for (std::thread& each : producers) each.join();
  }
  CHECK(runs == 2000);
}

TEST_CASE("thread_pool: one thread is left for what is not help") {
  zp::thread_pool pool(3);
  const auto executor = pool.executor();
  std::latch two(2);
  std::latch gate(1);
  std::latch done(5);
  std::atomic<int> begun{0};
  for (int i = 0; i < 4; ++i) {
    executor.help([&] {
      if (++begun <= 2) two.count_down();
      gate.wait();
      done.count_down();
    });
  }
  two.wait();
  executor.execute([&] {  // by the third, which helped nobody meanwhile
    CHECK(begun == 2);
    gate.count_down();
    done.count_down();
  });
  done.wait();
  CHECK(begun == 4);
}

TEST_CASE("thread_pool: help goes on when a thread that helped does something else") {
  zp::thread_pool pool(2);
  const auto executor = pool.executor();
  for (int round = 0; round < 200; ++round) {
    std::latch both(2);
    std::latch done(2);
    // The helper that ends may take the task, and the other one has to help then: each waits.
    executor.help([] {});
    const auto wait = [&] {
      both.arrive_and_wait();
      done.count_down();
    };
    executor.execute(wait);
    executor.help(wait);
    done.wait();
  }
}

TEST_CASE("thread_pool: one more helps while a caller rests") {
  zp::thread_pool pool(2);
  const auto executor = pool.executor();
  for (int round = 0; round < 50; ++round) {
    std::latch both(2);
    std::latch done(2);
    const auto wait = [&] {
      both.arrive_and_wait();
      done.count_down();
    };
    if (round % 2 == 0) executor.rest(true);
    executor.help(wait);
    executor.help(wait);
    if (round % 2 != 0) executor.rest(true);
    done.wait();
    executor.rest(false);
  }
}

TEST_CASE("thread_pool: nobody helps where there is one thread, or none any more") {
  std::optional<zp::thread_pool> pool(std::in_place, 1U);
  const auto executor = pool->executor();
  std::atomic<int> runs{0};
  executor.help([&runs] { runs += 100; });
  std::latch done(1);
  executor.execute([&] {
    ++runs;
    done.count_down();
  });
  done.wait();
  CHECK(runs == 1);
  pool.reset();  // runs what is queued
  CHECK(runs == 101);
  executor.help([&runs] { ++runs; });
  CHECK(runs == 101);
}

TEST_CASE("thread_pool: producers that race with its end lose no task") {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> runs{0};
    std::optional<zp::thread_pool> pool(std::in_place, 2u);
    std::thread producer([executor = pool->executor(), &runs] {
      for (int i = 0; i < 50; ++i) executor.execute([&runs] { ++runs; });
    });
    pool.reset();
    producer.join();
    CHECK(runs == 50);
  }
}

/// How a child ended that ran `work`: 0 if that was true.
template <class Work>
int in_child(Work work) {
  const pid_t id = ::fork();
  if (id == 0) {
    ::alarm(20);  // a child that waits for a thread waits for ever
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(id, &status, 0);
  return status;
}

TEST_CASE("thread_pool: a child of fork runs tasks on its own thread, whatever the threads did") {
  std::optional<zp::thread_pool> pool(std::in_place, 2);
  const auto executor = pool->executor();
  // Threads that wait leave their traces in a condition variable, by which its next ones wait.
  for (int before = 0; before < 8; ++before) {
    for (int i = 0; i < before; ++i) {
      std::latch done(1);
      executor.execute([&] { done.count_down(); });
      done.wait();
    }
    CHECK(in_child([&] {
            const auto self = std::this_thread::get_id();
            int count = 0;
            for (int i = 0; i < 8; ++i)
              executor.execute([&] { count += std::this_thread::get_id() == self ? 1 : 0; });
            executor.help([&] { count += 100; });  // the caller does it all
            executor.rest(true);
            return count == 8 && executor.concurrency() == 1;
          }) == 0);
  }
  // Nor does the end of the pool wait there, as it would at exit for one that is static.
  CHECK(in_child([&] {
          pool.reset();
          bool ran = false;
          executor.execute([&] { ran = true; });
          return ran;
        }) == 0);
  CHECK(executor.concurrency() == 2);
  pool.reset();
}

TEST_CASE("thread_pool: a fork while a task runs and another waits") {
  zp::thread_pool pool(1);
  std::latch begun(1);
  std::latch forked(1);
  std::atomic<int> ran = 0;
  pool.executor().execute([&] {
    begun.count_down();
    forked.wait();
    ++ran;
  });
  std::latch done(1);
  pool.executor().execute([&] {
    ++ran;
    done.count_down();
  });
  begun.wait();
  CHECK(in_child([&] {
          pool.executor().execute([&] { ++ran; });
          return ran == 1;
        }) == 0);
  forked.count_down();
  done.wait();
  CHECK(ran == 2);
}

}  // namespace thread_pool_test
