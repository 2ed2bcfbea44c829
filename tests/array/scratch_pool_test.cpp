// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/scratch_account.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace scratch_pool_test { namespace {

using namespace zarrpoint;

TEST_CASE("a workspace that was given back is lent again") {
  scratch_pool pool{limits{}};
  const codec_workspace* first = nullptr;
  {
    const scratch_pool::lease other = pool.borrow();
    scratch_pool::lease lease = pool.borrow();
    first = &*lease;
    CHECK(&*other != first);
    CHECK(lease->scratch(0, 1000).has_value());
    other->scratch(0, 10).value();
    const scratch_pool::lease moved = std::move(lease);
    CHECK(&*moved == first);
  }
  CHECK(pool.budget().in_use() == 1010);
  // Given back last, `other` is lent first.
  const scratch_pool::lease again = pool.borrow();
  CHECK(&*again != first);
  CHECK(&*pool.borrow() == first);
}

TEST_CASE("idle workspaces keep no more memory than may be in flight") {
  scratch_pool pool{limits{.bytes_in_flight = 1500}};
  {
    const scratch_pool::lease a = pool.borrow();
    const scratch_pool::lease b = pool.borrow();
    a->scratch(0, 1000).value();
    b->scratch(0, 1000).value();
    CHECK(a->held() == 1000);
    CHECK(pool.budget().in_use() == 2000);
  }
  CHECK(pool.budget().in_use() == 1000);
  for (int i = 0; i < 3; ++i) pool.borrow()->scratch(1, 500).value();
  CHECK(pool.budget().in_use() == 1500);
  pool.borrow()->scratch(2, 1).value();
  CHECK(pool.budget().in_use() == 0);
}

TEST_CASE("what lent workspaces brought along counts as kept") {
  scratch_pool pool{limits{.bytes_in_flight = 1500}};
  pool.borrow()->scratch(0, 1000).value();
  {
    const scratch_pool::lease warm = pool.borrow();
    CHECK(warm->held() == 1000);
    pool.borrow()->scratch(0, 1000).value();
    CHECK(pool.budget().in_use() == 1000);  // the second was not kept beside the first
  }
  CHECK(pool.budget().in_use() == 1000);
}

TEST_CASE("what idle workspaces keep is given up for the budget") {
  scratch_pool pool{limits{.memory = 4000}};
  pool.borrow()->scratch(0, 1000).value();
  CHECK(pool.budget().in_use() == 1000);
  CHECK(pool.borrow()->scratch(1, 2500).has_value());
  CHECK(pool.budget().in_use() == 0);
  const scratch_pool::lease a = pool.borrow();
  {
    const scratch_pool::lease b = pool.borrow();
    b->scratch(0, 1000).value();
  }
  CHECK(pool.budget().in_use() == 1000);
  CHECK(a->scratch(0, 4000).has_value());
  CHECK(pool.budget().in_use() == 4000);
}

TEST_CASE("half of the budget may be in flight") {
  CHECK(scratch_pool{limits{.memory = 1000}}.limiter().limit() == 500);
  CHECK(scratch_pool{limits{.bytes_in_flight = 10, .memory = 1000}}.limiter().limit() == 10);
  CHECK(scratch_pool{limits{.bytes_in_flight = 0, .memory = 1000}}.limiter().limit() == 500);
  CHECK(scratch_pool{limits{.bytes_in_flight = 0, .memory = 0}}.limiter().limit() == 1);
}

TEST_CASE("all workspaces together keep to the budget") {
  scratch_pool pool{limits{.memory = 1500}};
  const scratch_pool::lease a = pool.borrow();
  const scratch_pool::lease b = pool.borrow();
  CHECK(a->scratch(0, 1000).has_value());
  const auto refused = b->scratch(0, 1000);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(b->variable_limit() == 1500);
}

TEST_CASE("text counts for as long as a loan, or as the operation that made it") {
  scratch_pool pool{limits{.memory = 1000}};
  CHECK(pool.borrow()->charge_text(600).has_value());
  CHECK(pool.budget().in_use() == 0);
  {
    scratch_account kept(pool);
    CHECK(pool.borrow(&kept)->charge_text(400).has_value());
    CHECK(pool.borrow(&kept)->charge_text(500).has_value());
    CHECK(pool.budget().in_use() == 900);
    CHECK_FALSE(pool.borrow(&kept)->charge_text(101).has_value());
    CHECK_FALSE(pool.borrow()->scratch(0, 101).has_value());
  }
  CHECK(pool.budget().in_use() == 0);
  CHECK(pool.budget().peak() == 900);
}

TEST_CASE("operations share the scratch memory of a context that has some") {
  const context own;
  CHECK(own.scratch == nullptr);
  const context shared = with_scratch(own);
  REQUIRE(shared.scratch != nullptr);
  CHECK(with_scratch(shared).scratch == shared.scratch);
  CHECK(shared.scratch->limiter().limit() == own.limit.bytes_in_flight);
}

/// Memory that is not given back before it may be.
class gate final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    return default_resource().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    is_waiting = true;
    while (is_closed) std::this_thread::yield();
    default_resource().deallocate(memory, bytes, alignment);
  }
  std::atomic<bool> is_closed{false};
  std::atomic<bool> is_waiting{false};
};

TEST_CASE("threads that find no room at a time each get what the other one made free") {
  constexpr std::size_t kibibyte = 1024;
  gate upstream;
  limits limit;
  limit.memory = 1000 * kibibyte;
  scratch_pool pool(limit, upstream);
  scratch_account account(pool);
  pool.borrow()->scratch(0, 240 * kibibyte).value();  // is kept, and idle
  void* const held = pool.resource().allocate(700 * kibibyte, 64);
  REQUIRE(held != nullptr);
  upstream.is_closed = true;
  void* first = nullptr;
  void* second = nullptr;
  bool is_charged = false;
  std::thread one([&] { first = pool.resource().allocate(110 * kibibyte, 64); });
  while (!upstream.is_waiting) std::this_thread::yield();
  std::thread two([&] { second = pool.resource().allocate(101 * kibibyte, 64); });
  std::thread three([&] { is_charged = account.charge(80 * kibibyte); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // they are refused, and wait
  upstream.is_closed = false;
  for (std::thread* each : {&one, &two, &three}) each->join();
  CHECK(first != nullptr);
  CHECK(second != nullptr);
  CHECK(is_charged);
  if (first != nullptr) pool.resource().deallocate(first, 110 * kibibyte, 64);
  if (second != nullptr) pool.resource().deallocate(second, 101 * kibibyte, 64);
  pool.resource().deallocate(held, 700 * kibibyte, 64);
}

}}  // namespace scratch_pool_test
