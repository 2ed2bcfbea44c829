// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/executor.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace task_test {

namespace zp = zarrpoint;

namespace {

/// Counts the objects that are alive, at any size and alignment.
template <std::size_t Size, std::size_t Alignment, bool NothrowMove>
struct alignas(Alignment) counting {
  explicit counting(int* alive_count, int* run_count) : alive(alive_count), runs(run_count) {
    ++*alive;
  }
  counting(counting&& other) noexcept(NothrowMove) : alive(other.alive), runs(other.runs) {
    ++*alive;
  }
  counting(const counting&) = delete;
  ~counting() { --*alive; }
  void operator()() {
    ++*runs;
    aligned = reinterpret_cast<std::uintptr_t>(this) % Alignment == 0;
    if (!aligned) *runs = -1000;
  }
  int* alive;
  int* runs;
  bool aligned = true;
  std::array<char, Size> padding{};
};

template <class F>
void check_lifetime() {
  int alive = 0;
  int runs = 0;
  {
    zp::task a = F(&alive, &runs);
    CHECK(alive == 1);
    a();
    zp::task b = std::move(a);
    CHECK(!a);  // NOLINT(bugprone-use-after-move): moved-from means empty
    CHECK(b);
    CHECK(alive == 1);
    b();
    zp::task c = F(&alive, &runs);
    CHECK(alive == 2);
    c = std::move(b);
    CHECK(alive == 1);
    c();
    zp::task& self = c;
    c = std::move(self);
    CHECK(c);
    c();
    std::vector<zp::task> many;
    for (int i = 0; i < 20; ++i) many.emplace_back(F(&alive, &runs));
    for (zp::task& each : many) each();
    CHECK(alive == 21);
    c = zp::task();
    CHECK(!c);
    CHECK(alive == 20);
  }
  CHECK(alive == 0);
  CHECK(runs == 24);
}

}  // namespace

TEST_CASE("task: what it holds is moved, run and destroyed once, in place or on the heap") {
  check_lifetime<counting<1, 8, true>>();
  check_lifetime<counting<200, 8, true>>();
  check_lifetime<counting<1, 64, true>>();
  check_lifetime<counting<1, 8, false>>();
}

TEST_CASE("task: holds move-only callables, function pointers and results that are dropped") {
  int seen = 0;
  zp::task owner = [p = std::make_unique<int>(7), &seen] { seen = *p; };
  owner();
  CHECK(seen == 7);
  static int calls = 0;
  zp::task function = +[] { ++calls; };
  function();
  CHECK(calls == 1);
  zp::task returns = [&seen]() -> int { return seen = 9; };
  returns();
  CHECK(seen == 9);
  CHECK(!zp::task());
  static_assert(!std::is_copy_constructible_v<zp::task>);
  static_assert(noexcept(std::declval<zp::task&>()()));
  static_assert(!std::is_constructible_v<zp::task, int>);
}

}  // namespace task_test
