// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/make_owner.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

namespace make_owner_test { namespace {

using namespace zarrpoint::detail;

struct shape {
  virtual ~shape() = default;
  virtual int sides() const = 0;
};

struct polygon final : shape {
  polygon(int count, int& gone) : sides_(count), gone_(&gone) {}
  polygon(const polygon&) = delete;
  polygon& operator=(const polygon&) = delete;
  ~polygon() override { ++*gone_; }
  int sides() const override { return sides_; }

 private:
  int sides_;
  int* gone_;
};

TEST_CASE("make_counted: the last owner destroys the object") {
  int gone = 0;
  std::shared_ptr<const polygon> made = make_counted<const polygon>(3, gone);
  std::shared_ptr<const shape> other = made;
  CHECK(made.use_count() == 2);
  made.reset();
  CHECK(gone == 0);
  CHECK(other->sides() == 3);
  const std::weak_ptr<const shape> watched = other;
  other.reset();
  CHECK(gone == 1);
  CHECK(watched.expired());
}

TEST_CASE(
    "make_counted: arguments are forwarded, aggregates too, and nothing is the value of none") {
  struct pair_of {
    std::string text;
    int number;
  };
  std::string text(100, 'x');
  const auto made = make_counted<const pair_of>(std::move(text), 5);
  CHECK(made->text == std::string(100, 'x'));
  CHECK(made->number == 5);
  CHECK(*make_counted<int>() == 0);
}

TEST_CASE("make_owned: what is made is destroyed as what it is") {
  int gone = 0;
  std::unique_ptr<shape> made = make_owned<shape, polygon>(4, gone);
  CHECK(made->sides() == 4);
  made.reset();
  CHECK(gone == 1);
}

}}  // namespace make_owner_test
