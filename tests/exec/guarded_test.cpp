// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/exec/guarded.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <new>
#include <stdexcept>

namespace guarded_test {

namespace zp = zarrpoint;

TEST_CASE("guarded: passes results through") {
  CHECK(zp::guarded([]() -> zp::result<int> { return 3; }).value() == 3);
  CHECK(zp::guarded([]() -> zp::result<void> { return {}; }));
  const auto failed = zp::guarded([]() -> zp::result<int> {
    return zp::error{zp::errc::corrupt, "bad"};
  });
  REQUIRE(!failed);
  CHECK(failed.failure().code == zp::errc::corrupt);
  CHECK(zp::guarded([]() -> zp::result<std::unique_ptr<int>> { return std::make_unique<int>(4); }));
}

#if ZARRPOINT_EXCEPTIONS
namespace {

template <class E>
zp::error failure_of(E thrown) {
  const auto status = zp::guarded([&]() -> zp::result<void> { throw thrown; });
  REQUIRE(!status);
  return status.failure();
}

}  // namespace

TEST_CASE("guarded: exceptions become errors") {
  CHECK(zp::to_string(failure_of(zp::exception(zp::error{zp::errc::io, "disk full"}))) ==
        "io: disk full");
  CHECK(zp::to_string(failure_of(std::bad_alloc())) == "resource_limit: memory is exhausted");
  CHECK(zp::to_string(failure_of(std::runtime_error("broken"))) ==
        "invalid_argument: exception: broken");
  CHECK(zp::to_string(failure_of(42)) ==
        "invalid_argument: an exception of an unknown type was thrown");
}
#endif

}  // namespace guarded_test
