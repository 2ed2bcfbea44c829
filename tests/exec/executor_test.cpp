// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/bodies.hpp>
#include <zarrpoint/exec/executor.hpp>

#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <climits>
#include <memory>
#include <string>
#include <utility>

namespace executor_test {

namespace zp = zarrpoint;

namespace {

struct bare_executor {
  std::shared_ptr<int> runs = std::make_shared<int>(0);
  void execute(zp::task work) const {
    ++*runs;
    work();
  }
};

struct absurd_executor {
  void execute(zp::task work) const { work(); }
  unsigned concurrency() const { return 0; }
};

struct not_an_executor {};

}  // namespace

TEST_CASE("executor: the concept asks for copies and execute") {
  static_assert(zp::executor<zp::inline_executor>);
  static_assert(zp::executor<bare_executor>);
  static_assert(zp::executor<zp::any_executor>);
  static_assert(!zp::executor<not_an_executor>);
  static_assert(!zp::executor<int>);
  static_assert(!std::is_constructible_v<zp::any_executor, not_an_executor>);
}

TEST_CASE("any_executor: inline by default, and when given the inline one") {
  for (const zp::any_executor& each :
       {zp::any_executor(), zp::any_executor(zp::inline_executor{})}) {
    CHECK(each.concurrency() == 1);
    bool ran = false;
    each.execute([&ran] { ran = true; });
    CHECK(ran);
  }
}

TEST_CASE("any_executor: copies share the handle; concurrency is the model's, else the machine's") {
  bare_executor bare;
  const zp::any_executor a = bare;
  const zp::any_executor b = a;  // NOLINT(performance-unnecessary-copy-initialization)
  a.execute([] {});
  b.execute([] {});
  CHECK(*bare.runs == 2);
  CHECK(b.concurrency() == zp::hardware_concurrency());
  CHECK(zp::any_executor(zp::testing::manual_executor{7}).concurrency() == 7);
  CHECK(zp::any_executor(absurd_executor{}).concurrency() == 1);
  zp::any_executor moved_from = a;
  const zp::any_executor moved = std::move(moved_from);
  bool ran = false;
  moved.execute([&ran] { ran = true; });
  CHECK(ran);
}

TEST_CASE("any_executor: helpers are asked for by their own call, where an executor has one") {
  struct helping_executor {
    std::shared_ptr<std::string> asked = std::make_shared<std::string>();
    void execute(zp::task work) const { *asked += 'e', work(); }
    void help(zp::task work) const { *asked += 'h', work(); }
    void rest(bool begins) const { *asked += begins ? '(' : ')'; }
  };
  const helping_executor own;
  const bare_executor bare;
  int runs = 0;
  for (const zp::any_executor& each :
       {zp::any_executor(own), zp::any_executor(bare), zp::any_executor()}) {
    each.execute([&runs] { ++runs; });
    each.help([&runs] { ++runs; });
    each.rest(true);
    each.rest(false);
  }
  CHECK(runs == 6);
  CHECK(*own.asked == "eh()");
  CHECK(*bare.runs == 2);
}

TEST_CASE("any_executor: a task may wait in a queue") {
  const zp::testing::manual_executor manual;
  const zp::any_executor erased = manual;
  int runs = 0;
  for (int i = 0; i < 3; ++i) erased.execute([&runs] { ++runs; });
  CHECK(runs == 0);
  manual.run_all();
  CHECK(runs == 3);
}

TEST_CASE("hardware_concurrency: at least one") { CHECK(zp::hardware_concurrency() >= 1); }

TEST_CASE("hardware_concurrency: the quota of a container, rounded up") {
  using zp::detail::processors_of_quota;
  CHECK(processors_of_quota("200000 100000\n") == 2);
  CHECK(processors_of_quota("150000 100000\n") == 2);
  CHECK(processors_of_quota("1000 100000") == 1);
  CHECK(processors_of_quota("18446744073709551615 1\n") == UINT_MAX);
  for (const char* const none :
       {"max 100000\n", "", "\n", " ", "0 100000", "100000 0", "100000", "100000\n", "100000 ",
        "-1 100000", "1 -1", "x", "1x 2", "1 2x", "18446744073709551616 1"})
    CHECK(processors_of_quota(none) == UINT_MAX);
}

}  // namespace executor_test
