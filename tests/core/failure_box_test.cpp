// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <utility>

namespace failure_box_test { namespace {

using namespace zarrpoint;
using detail::failure_box;

const std::string text(100, 'x');

TEST_CASE("failure_box: holds an error, moves it, and copies it") {
  CHECK_FALSE(failure_box());
  failure_box made(error{errc::corrupt, text});
  REQUIRE(made);
  CHECK(made.get().code == errc::corrupt);
  CHECK(made.get().message == text);
  const failure_box copied(made);
  failure_box moved(std::move(made));
  CHECK(copied.get().message == text);
  CHECK(moved.get().message == text);
  CHECK(copied.get().message.data() != moved.get().message.data());
  moved.at("here");
  CHECK(moved.get().message == "here: " + text);
  CHECK(copied.get().message == text);
  moved = copied;
  CHECK(moved.get().message == text);
  const error taken = std::move(moved);
  CHECK(taken.message == text);
  static_assert(sizeof(failure_box) == sizeof(void*));
  static_assert(std::is_nothrow_copy_constructible_v<failure_box>);
}

TEST_CASE("failure_box: one that was moved is a failure still, with its code alone") {
  failure_box made(error{errc::corrupt, text});
  const failure_box moved(std::move(made));
  REQUIRE(made);
  CHECK(made.get().code == errc::corrupt);
  CHECK(made.get().message.empty());
  made.at("here");
  const failure_box copied(made);
  CHECK(copied);
  CHECK(copied.get().code == errc::corrupt);
  CHECK(copied.get().message.empty());
  for (int code = 0; code <= static_cast<int>(errc::replaced); ++code) {
    failure_box each(error{static_cast<errc>(code), text});
    const failure_box other(std::move(each));
    CHECK(each.get().code == static_cast<errc>(code));
  }
  made = moved;
  CHECK(made.get().message == text);
}

TEST_CASE("failure_box: in a result, where a success is no larger than its value and a pointer") {
  static_assert(sizeof(result<void>) == sizeof(void*));
  static_assert(sizeof(result<std::string>) == sizeof(std::string) + sizeof(void*));
  result<std::string> bad = error{errc::io, text};
  const result<int> other = std::move(bad).take_failure();
  CHECK(other.failure().message == text);
  CHECK_FALSE(bad);
  bad = "good";
  CHECK(bad.value() == "good");
}

}}  // namespace failure_box_test
