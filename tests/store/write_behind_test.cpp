// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/write_behind.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace write_behind_test {

using namespace zarrpoint::detail;

namespace {

struct counts {
  int posted = 0;
  int settled = 0;
  int ended = 0;
};

constexpr write_behind::operations counting{
    [](void* self, const write_behind::job&, pending_writes&) noexcept {
      return ++static_cast<counts*>(self)->posted == 1;
    },
    [](void* self, pending_writes&) noexcept { ++static_cast<counts*>(self)->settled; },
    [](void* self) noexcept { ++static_cast<counts*>(self)->ended; }};

}  // namespace

TEST_CASE("write_behind: nobody by default; who is there is asked, and ended once") {
  const write_behind::job job{};
  pending_writes pending;
  counts of;
  {
    write_behind nobody;
    CHECK_FALSE(nobody.post(job, pending));
    nobody.settle(pending);
    write_behind first(counting, &of);
    write_behind second(std::move(first));
    nobody = std::move(second);
    CHECK(nobody.post(job, pending));
    CHECK_FALSE(nobody.post(job, pending));
    nobody.settle(pending);
    CHECK(of.ended == 0);
  }
  CHECK(of.posted == 2);
  CHECK(of.settled == 1);
  CHECK(of.ended == 1);
}

}  // namespace write_behind_test
