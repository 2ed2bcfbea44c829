// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/workspace.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace workspace_test {

namespace zp = zarrpoint;

namespace {

struct counter {
  explicit counter(zp::memory_resource& from) : resource(&from) { ++alive; }
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  ~counter() { --alive; }
  zp::memory_resource* resource;
  int value = 0;
  static inline int alive = 0;
};
struct other_counter : counter {
  using counter::counter;
};

}  // namespace

TEST_CASE("codec_workspace: scratch is reused, aligned and of the size asked for") {
  zp::limited_resource memory(1 << 20);
  zp::codec_workspace scratch(memory);
  const zp::mutable_bytes first = scratch.scratch(5, 1000).value();
  CHECK(first.size() == 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % 64 == 0);
  CHECK(scratch.scratch(5, 10).value().data() == first.data());
  CHECK(scratch.scratch(5, 10).value().size() == 10);
  CHECK(scratch.scratch(4, 1000).value().data() != first.data());
  CHECK(memory.in_use() == 2000);
  REQUIRE(scratch.scratch(5, 3000));
  CHECK(memory.in_use() == 4000);
  CHECK(memory.peak() == 4000);  // the old memory went back first
  CHECK(scratch.scratch(0, 0).value().empty());
}

TEST_CASE("codec_workspace: a refusal is an error, and the workspace still works") {
  zp::limited_resource memory(1000);
  zp::codec_workspace scratch(memory);
  REQUIRE(scratch.scratch(0, 600));
  CHECK(scratch.scratch(0, 1001).failure().code == zp::errc::resource_limit);
  CHECK(memory.in_use() == 0);
  CHECK(scratch.scratch(0, 1000));
  CHECK(scratch.scratch(1, 1).failure().code == zp::errc::resource_limit);
}

TEST_CASE("codec_workspace: one state per type, kept, moved along and destroyed") {
  zp::limited_resource memory(1000);
  {
    zp::codec_workspace scratch(memory);
    scratch.state<counter>().value = 7;
    scratch.state<other_counter>().value = 8;
    CHECK(scratch.state<counter>().resource == &memory);
    CHECK(scratch.state<counter>().value == 7);
    const counter* const address = &scratch.state<counter>();
    zp::codec_workspace moved = std::move(scratch);
    CHECK(&moved.state<counter>() == address);
    CHECK(moved.state<other_counter>().value == 8);
    CHECK(counter::alive == 2);
  }
  CHECK(counter::alive == 0);
}

TEST_CASE("codec_workspace: text is charged to a budget, if there is one") {
  zp::limited_resource memory(1000);
  zp::codec_workspace scratch(memory, 1000, &memory);
  REQUIRE(scratch.scratch(0, 600));
  CHECK(scratch.charge_text(300));
  const auto refused = scratch.charge_text(101);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == zp::errc::resource_limit);
  CHECK(refused.failure().message ==
        "101 bytes of text, with 900 bytes of the limit of 1000 in use");
  CHECK(scratch.charge_text(100));
  CHECK(scratch.take_charged_text() == 400);
  CHECK(scratch.take_charged_text() == 0);
  CHECK(memory.in_use() == 1000);  // it is the caller's to give back
  zp::codec_workspace unlimited;
  CHECK(unlimited.charge_text(SIZE_MAX));
  CHECK(unlimited.take_charged_text() == 0);
}

}  // namespace workspace_test
