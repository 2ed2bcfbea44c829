// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/result.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace result_test {

namespace zp = zarrpoint;

namespace {

zp::error failure() { return {zp::errc::io, "disk full"}; }

/// Counts what is alive, so that a value that is destroyed twice or never shows.
struct counted {
  static inline int alive = 0;
  counted() { ++alive; }
  counted(const counted&) { ++alive; }
  counted(counted&&) noexcept { ++alive; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) noexcept = default;
  ~counted() { --alive; }
};

zp::result<int> half(int value) {
  if (value % 2 != 0) return zp::error{zp::errc::invalid_argument, "odd"};
  return value / 2;
}

zp::result<int> quarter(int value) {
  ZARRPOINT_TRY(once, half(value));
  ZARRPOINT_TRY(twice, half(once));
  return twice;
}

zp::result<void> check_quarter(int value) {
  ZARRPOINT_CHECK(quarter(value));
  return {};
}

}  // namespace

TEST_CASE("result: holds a value or an error") {
  zp::result<std::string> good = "text";
  CHECK(good);
  CHECK(good.has_value());
  CHECK(*good == "text");
  CHECK(good->size() == 4);
  CHECK(good.value() == "text");
  const zp::result<std::string> bad = failure();
  CHECK_FALSE(bad);
  CHECK(bad.failure().code == zp::errc::io);
  CHECK(bad.value_or("fallback") == "fallback");
  CHECK(good.value_or("fallback") == "text");
  CHECK(zp::result<int>().value() == 0);
}

TEST_CASE("result: a value that converts to bool or to error stays a value") {
  const zp::result<bool> no = false;
  CHECK(no);
  CHECK_FALSE(*no);
  const zp::result<std::vector<int>> list = std::vector<int>{1, 2};
  CHECK(list->size() == 2);
  static_assert(!std::is_convertible_v<int, zp::result<std::vector<int>>>);
  static_assert(std::is_constructible_v<zp::result<std::vector<int>>, std::size_t>);
}

TEST_CASE("result: move-only values move, and loops over a temporary are safe") {
  zp::result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(made);
  CHECK(*taken == 5);
  static_assert(!std::is_copy_constructible_v<zp::result<std::unique_ptr<int>>>);
  static_assert(
      std::is_same_v<decltype(std::declval<zp::result<std::string>>().value()), std::string>);
  int sum = 0;
  for (const int i : zp::result<std::vector<int>>(std::vector<int>{1, 2, 3}).value()) sum += i;
  CHECK(sum == 6);
}

TEST_CASE("result: every assignment between values and errors destroys what was there, once") {
  {
    for (const bool to_good : {true, false}) {
      for (const bool from_good : {true, false}) {
        using counted_result = zp::result<counted>;
        counted_result to = to_good ? counted_result(counted()) : counted_result(failure());
        counted_result from = from_good ? counted_result(counted()) : counted_result(failure());
        to = from;
        CHECK(to.has_value() == from_good);
        counted_result copy(to);
        CHECK(copy.has_value() == from_good);
        to = std::move(copy);
        CHECK(to.has_value() == from_good);
        counted_result& self = to;
        to = self;
        CHECK(to.has_value() == from_good);
      }
    }
  }
  CHECK(counted::alive == 0);
}

TEST_CASE("result: at adds context to failures only") {
  CHECK(zp::result<int>(failure()).at("write").failure().message == "write: disk full");
  CHECK(zp::result<int>(3).at("write").value() == 3);
  CHECK(zp::result<void>(failure()).at("write").failure().message == "write: disk full");
  CHECK(zp::result<void>().at("write"));
}

TEST_CASE("result: and_then, transform and or_else go on with one side") {
  CHECK(zp::result<int>(8).and_then(half).and_then(half).value() == 2);
  CHECK(zp::result<int>(6).and_then(half).and_then(half).failure().message == "odd");
  CHECK(half(6).transform([](int i) { return std::to_string(i); }).value() == "3");
  CHECK_FALSE(half(1).transform([](int i) { return i; }));
  int seen = 0;
  CHECK(half(6).transform([&](int i) { seen = i; }));
  CHECK(seen == 3);
  const auto mend = [](const zp::error&) { return zp::result<int>(7); };
  CHECK(zp::result<int>(failure()).or_else(mend).value() == 7);
  CHECK(zp::result<int>(1).or_else(mend).value() == 1);
  CHECK(zp::result<void>().and_then([] { return zp::result<int>(4); }).value() == 4);
  CHECK_FALSE(zp::result<void>(failure()).and_then([] { return zp::result<int>(4); }));
}

TEST_CASE("result: ZARRPOINT_TRY and ZARRPOINT_CHECK return the first failure") {
  CHECK(quarter(12).value() == 3);
  CHECK(quarter(6).failure().message == "odd");
  CHECK(check_quarter(4));
  CHECK_FALSE(check_quarter(2));
}

#if ZARRPOINT_EXCEPTIONS
TEST_CASE("result: value() of a failure throws it") {
  try {
    zp::result<int>(failure()).value();
    FAIL("no exception");
  } catch (const zp::exception& caught) {
    CHECK(std::string(caught.what()) == "io: disk full");
    CHECK(caught.failure().code == zp::errc::io);
  }
  CHECK_THROWS_AS(zp::result<void>(failure()).value(), std::exception);
}
#endif

#if ZARRPOINT_EXCEPTIONS
namespace {

/// Refuses to be moved once; counts what is alive.
struct throws_on_move : counted {
  throws_on_move() = default;
  throws_on_move(throws_on_move&& other) : counted(other) {
    if (std::exchange(refuse, false)) throw 1;
  }
  static inline bool refuse = false;
};

}  // namespace

TEST_CASE("result: a move that throws in an assignment leaves an error, and nothing dies twice") {
  REQUIRE(counted::alive == 0);
  for (const bool had_value : {false, true}) {
    zp::result<throws_on_move> to = failure();
    if (had_value) to = zp::result<throws_on_move>();
    zp::result<throws_on_move> from;
    throws_on_move::refuse = true;
    CHECK_THROWS_AS(to = std::move(from), int);
    CHECK_FALSE(to);
    CHECK(counted::alive == 1);  // `from`
    to = std::move(from);
    CHECK(to);
  }
  CHECK(counted::alive == 0);
}
#endif

}  // namespace result_test
