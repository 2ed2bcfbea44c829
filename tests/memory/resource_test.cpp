// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace resource_test {

namespace zp = zarrpoint;

TEST_CASE("default_resource: aligned, writable to the last byte, of every size") {
  zp::memory_resource& resource = zp::default_resource();
  const std::size_t huge = std::size_t{2} << 20;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{65536}, huge - 1,
                                  huge, huge + 1, 5 * huge + 12345, 16 * huge - 7}) {
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, std::size_t{4096}, huge}) {
      CAPTURE(bytes);
      CAPTURE(alignment);
      void* const memory = resource.allocate(bytes, alignment);
      REQUIRE(memory != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0);
#if ZARRPOINT_LINUX  // by huge pages
      if (bytes >= huge) CHECK(reinterpret_cast<std::uintptr_t>(memory) % huge == 0);
#endif
      std::memset(memory, 0x5a, bytes);
      resource.deallocate(memory, bytes, alignment);
    }
  }
}

#if ZARRPOINT_LINUX
TEST_CASE("default_resource: what is given back leaves no address space behind") {
  const auto mapped_kib = [] {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      if (word != "VmSize:") continue;
      std::size_t kib = 0;
      status >> kib;
      return kib;
    }
    return std::size_t{0};
  };
  zp::memory_resource& resource = zp::default_resource();
  const std::size_t before = mapped_kib();
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t bytes = (std::size_t{4} << 20) + 1 + 4096 * (i % 40);
    resource.deallocate(resource.allocate(bytes, 64), bytes, 64);
  }
  CHECK(mapped_kib() <= before + 2048);
}
#endif

TEST_CASE("default_resource: what no machine has is refused, not thrown") {
  zp::memory_resource& resource = zp::default_resource();
  CHECK(resource.allocate(SIZE_MAX / 4, 64) == nullptr);
}

TEST_CASE("limited_resource: refuses above the limit, counts what is in use and the peak") {
  zp::limited_resource resource(1000);
  CHECK(resource.limit() == 1000);
  void* const a = resource.allocate(600, 64);
  REQUIRE(a != nullptr);
  CHECK(resource.allocate(401, 64) == nullptr);
  CHECK(resource.allocate(SIZE_MAX, 64) == nullptr);
  CHECK(resource.in_use() == 600);
  void* const b = resource.allocate(400, 8);
  REQUIRE(b != nullptr);
  CHECK(resource.in_use() == 1000);
  resource.deallocate(a, 600, 64);
  resource.deallocate(b, 400, 8);
  CHECK(resource.in_use() == 0);
  CHECK(resource.peak() == 1000);
}

namespace {

/// One of a user, with members of everyday names, which do not concern the base.
class pool final : public zp::memory_resource {
 public:
  void* allocate(std::size_t, std::size_t) noexcept override { return nullptr; }
  void deallocate(void*, std::size_t, std::size_t) noexcept override {}
  int limit() const { return 3; }
  bool in_use() const { return true; }
};

}  // namespace

TEST_CASE("memory_resource: what messages say is of a budget, or is not there") {
  zp::limited_resource limited(1000);
  const zp::memory_resource& base = limited;
  void* const memory = limited.allocate(600, 64);
  CHECK(base.bytes_limit() == 1000);
  CHECK(base.bytes_in_use() == 600);
  limited.deallocate(memory, 600, 64);
  CHECK(base.bytes_in_use() == 0);
  CHECK(zp::default_resource().bytes_limit() == SIZE_MAX);
  const pool mine;
  CHECK(mine.limit() == 3);
  CHECK(mine.in_use());
  CHECK(static_cast<const zp::memory_resource&>(mine).bytes_limit() == SIZE_MAX);
}

TEST_CASE("limited_resource: a refusal from upstream costs nothing of the budget") {
  zp::limited_resource upstream(10);
  zp::limited_resource resource(1000, upstream);
  CHECK(resource.allocate(11, 1) == nullptr);
  CHECK(resource.in_use() == 0);
  CHECK(resource.peak() == 0);
}

TEST_CASE("limited_resource: threads never exceed the limit together") {
  zp::limited_resource resource(100 * 64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&resource] {
      for (int i = 0; i < 2000; ++i) {
        const std::size_t bytes = 64 * static_cast<std::size_t>(1 + i % 60);
        if (void* const memory = resource.allocate(bytes, 64)) {
          resource.deallocate(memory, bytes, 64);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(resource.in_use() == 0);
  CHECK(resource.peak() <= resource.limit());
  CHECK(resource.peak() >= 60 * 64);
}

TEST_CASE("limited_resource: what others allocate can be charged to it") {
  zp::limited_resource resource(1000);
  CHECK(resource.charge(700));
  CHECK_FALSE(resource.charge(301));
  CHECK_FALSE(resource.charge(SIZE_MAX));
  CHECK(resource.allocate(301, 1) == nullptr);
  CHECK(resource.in_use() == 700);
  CHECK(resource.peak() == 700);
  resource.refund(700);
  CHECK(resource.in_use() == 0);
  CHECK(resource.charge(1000));
}

}  // namespace resource_test
