// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/memory_space.hpp>

#include <doctest/doctest.h>

#include <array>

namespace zp = zarrpoint;

TEST_CASE("host_space: copies both ways at once, and none of nothing") {
  const zp::host_space space;
  const std::array<std::byte, 3> from = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> to{};
  space.wait(space.copy_to_host(to, from.data()).value()).value();
  CHECK(to == from);
  to.fill({});
  space.wait(space.copy_from_host(to.data(), from).value()).value();
  CHECK(to == from);
  CHECK(space.copy_to_host({}, nullptr));
  CHECK(space.copy_from_host(nullptr, {}));
  CHECK(space.pin(to));
  space.unpin(to);
}

namespace {

struct without_wait {
  struct event {};
  static constexpr bool host_accessible = true;
  static constexpr const char* name = "bad";
};

}  // namespace

TEST_CASE("memory_space: asks for the whole set of members") {
  static_assert(zp::memory_space<zp::host_space>);
  static_assert(!zp::memory_space<without_wait>);
  CHECK_FALSE(zp::memory_space<int>);
}
