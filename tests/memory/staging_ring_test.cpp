// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device/staging_ring.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace staging_ring_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

using ring = detail::staging_ring<fake_space>;
constexpr std::size_t kib = 1024;

/// `bytes` to the device in pieces of a slot, each by way of the ring; the first error.
result<void> send(ring& by, const fake_space& space, std::byte* to, bytes_view bytes) {
  detail::stream_guard<fake_space> guard(space);
  for (std::size_t at = 0; at < bytes.size(); at += by.slot_bytes()) {
    const bytes_view piece = bytes.subspan(at, std::min(by.slot_bytes(), bytes.size() - at));
    ZARRPOINT_TRY(slot, by.acquire());
    std::memcpy(slot.bytes().data(), piece.data(), piece.size());
    slot.used_by(space);
    ZARRPOINT_CHECK(space.copy_from_host(to + at, slot.bytes().data(), {.width = piece.size()}));
    ZARRPOINT_TRY(done, space.record());
    slot.release(done);
  }
  return guard.finish();
}

std::vector<std::byte> numbered(std::size_t count, int first) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i * 7 + i / 256);
  return out;
}
std::vector<std::byte> download(const fake_space& space, const std::byte* from, std::size_t size) {
  std::vector<std::byte> out(size);
  space.copy_to_host(out.data(), from, {.width = size}).value();
  detail::wait_for_stream(space).value();
  return out;
}

}  // namespace

TEST_CASE("staging_ring: blocks are made when needed, pinned once, and all is undone") {
  fake_device device(1);
  const fake_space space{&device};
  limited_resource budget(1 << 20);
  {
    ring two(space, {.slots = 2, .slot_bytes = 64 * kib, .resource = &budget});
    CHECK(budget.in_use() == 0);
    CHECK(two.pin_seconds() == 0);
    CHECK(two.slots() == 2);
    {
      ring::slot first = two.acquire().value();
      CHECK(first.bytes().size() == 64 * kib);
      CHECK(device.pinned_ranges() == 1);
      const std::byte* const memory = first.bytes().data();
      first = {};
      CHECK(two.acquire().value().bytes().data() == memory);  // the warm one again
      CHECK(device.count().pins == 1);
    }
    auto one = two.try_acquire();
    auto other = two.try_acquire();
    REQUIRE(other);
    CHECK_FALSE(two.try_acquire());
    CHECK(device.pinned_ranges() == 2);
    CHECK(budget.in_use() == 128 * kib);
    one.reset();
    CHECK(two.try_acquire());
    CHECK(two.pinned());
    CHECK(two.pin_seconds() > 0);
    other->release({});
    CHECK(other->empty());
    CHECK(other->bytes().empty());
  }
  CHECK(device.pinned_ranges() == 0);
  CHECK(budget.in_use() == 0);
}

TEST_CASE("staging_ring: a block whose copies are under way is waited for, a new one preferred") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    const fake_space space{&device};
    std::byte* const memory = device.allocate(200 * kib);
    const auto bytes = numbered(200 * kib, static_cast<int>(seed));
    for (const std::size_t slots : {1u, 3u}) {
      ring by(space, {.slots = slots, .slot_bytes = 9 * kib});
      REQUIRE(send(by, space, memory, bytes));
      CHECK(device.due_operations() == 0);
      CHECK(download(space, memory, bytes.size()) == bytes);
    }
    CHECK(device.count().pageable_bytes == 400 * kib);  // the downloads of this test
    device.free(memory);
  }
}

TEST_CASE("staging_ring: a slot that ends without an event waits for the stream it was told of") {
  fake_device device(3);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(16);
  ring by(space, {.slots = 1, .slot_bytes = 4 * kib});
  {
    ring::slot slot = by.acquire().value();
    slot.used_by(space);
    space.copy_to_host(slot.bytes().data(), memory, {.width = 16}).value();
    ring::slot moved = std::move(slot);
    CHECK(device.due_operations() == 1);
  }
  CHECK(device.due_operations() == 0);
  const auto busy = [&] {
    ring::slot slot = by.acquire().value();
    slot.used_by(space);
    space.copy_to_host(slot.bytes().data(), memory, {.width = 16}).value();
    slot.release(space.record().value());
  };
  busy();
  while (!by.try_acquire()) {
  }  // each asks the device, which comes along
  CHECK(device.due_operations() == 0);
  busy();  // the end of the ring waits for it, or the fake would not let it unpin
  device.free(memory);
}

TEST_CASE("staging_ring: works unpinned where pinning is refused, and with fewer blocks") {
  fake_device device(4);
  const fake_space space{&device};
  std::byte* const memory = device.allocate(100 * kib);
  const auto bytes = numbered(100 * kib, 1);
  {
    ring by(space, {.slots = 3, .slot_bytes = 8 * kib});
    device.arm(device_fault::pin, 1);
    REQUIRE(send(by, space, memory, bytes));
    CHECK_FALSE(by.pinned());
    CHECK(device.pinned_ranges() == 1);
  }
  CHECK(device.pinned_ranges() == 0);
  {
    limited_resource budget(20 * kib);
    ring by(space, {.slots = 4, .slot_bytes = 8 * kib, .resource = &budget});
    REQUIRE(send(by, space, memory, bytes));
    const ring::slot first = by.acquire().value();
    const auto second = by.try_acquire();
    CHECK(second);
    CHECK_FALSE(by.try_acquire());
    CHECK(budget.peak() == 16 * kib);
  }
  limited_resource none(4 * kib);
  ring by(space, {.slots = 4, .slot_bytes = 8 * kib, .resource = &none});
  CHECK(by.acquire().failure().code == errc::resource_limit);
  CHECK_FALSE(by.try_acquire());
  device.free(memory);
}

TEST_CASE("staging_ring: each fault at each call ends in an error or in the right bytes") {
  const auto bytes = numbered(50 * kib, 9);
  for (const device_fault fault : device_faults) {
    bool fired = true;
    for (std::uint64_t n = 0; fired; ++n) {
      CAPTURE(to_string(fault));
      CAPTURE(n);
      fake_device device(n);
      const fake_space space{&device, device.new_stream()};
      std::byte* const memory = device.allocate(bytes.size());
      limited_resource budget(1 << 20);
      result<void> sent;
      {
        ring by(space, {.slots = 2, .slot_bytes = 8 * kib, .resource = &budget});
        device.arm(fault, n);
        sent = send(by, space, memory, bytes);
        fired = device.fired();
        CHECK(device.due_operations() == 0);
      }
      if (sent) CHECK((!fired || fault == device_fault::pin));
      if (!sent) CHECK(sent.failure().code == errc::device);
      if (!fired) CHECK(sent);
      CHECK(device.pinned_ranges() == 0);
      CHECK(budget.in_use() == 0);
      device.recover();
      if (sent) CHECK(download(fake_space{&device}, memory, bytes.size()) == bytes);
      device.free(memory);
      CHECK(device.live_allocations() == 0);
    }
  }
}

TEST_CASE("staging_ring: many threads share few blocks") {
  for (const std::size_t slots : {1u, 2u, 4u}) {
    fake_device device(slots);
    limited_resource budget(slots == 4 ? 3 * 4 * kib : 1 << 20);  // the last is for three blocks
    {
      ring by(fake_space{&device}, {.slots = slots, .slot_bytes = 4 * kib, .resource = &budget});
      std::atomic<int> wrong{0};
      std::vector<std::thread> threads;
      for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&, t] {
          const fake_space space{&device, device.new_stream()};
          const auto bytes = numbered(30 * kib, t);
          std::byte* const memory = space.allocate(bytes.size()).value();
          for (int i = 0; i < 5; ++i) wrong += !send(by, space, memory, bytes);
          wrong += download(space, memory, bytes.size()) != bytes;
          space.deallocate(memory, bytes.size());
        });
      }
      for (std::thread& thread : threads) thread.join();
      CHECK(wrong == 0);
    }
    CHECK(device.pinned_ranges() == 0);
    CHECK(device.live_allocations() == 0);
    CHECK(budget.in_use() == 0);
  }
}

TEST_CASE("staging_ring: threads that find no memory wait for those that have it, or all fail") {
  for (const bool some : {true, false}) {
    fake_device device(7);
    limited_resource budget(some ? 5 * kib : 3 * kib);
    ring by(fake_space{&device}, {.slots = 3, .slot_bytes = 4 * kib, .resource = &budget});
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) failed += !by.acquire();
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failed == (some ? 0 : 200));
  }
}

TEST_CASE("staging_ring: a stream that is destroyed under copies is waited for, too") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    fake_device device(seed);
    std::byte* const memory = device.allocate(4 * kib);
    {
      const fake_space space{&device, device.new_stream()};
      ring by(space, {.slots = 1, .slot_bytes = 4 * kib});
      {
        ring::slot slot = by.acquire().value();
        slot.used_by(space);
        REQUIRE(space.copy_to_host(slot.bytes().data(), memory, {.width = 4 * kib}));
        device.destroy_stream(space.stream);
        CHECK_FALSE(space.record());
      }
      CHECK(device.due_operations() == 0);
      CHECK(by.acquire());
    }
    CHECK(device.pinned_ranges() == 0);  // what copies still use cannot be unpinned
    device.free(memory);
  }
}

TEST_CASE("ring_of: one for each device, within an eighth of the budget") {
  detail::spare_objects kept;
  fake_device first(1);
  fake_device second(2, 1 << 20, 1);
  memory_resource& memory = default_resource();
  const auto one = detail::ring_of(kept, fake_space{&first}, memory, SIZE_MAX);
  CHECK(one->slot_bytes() == std::size_t{4} << 20);
  CHECK(one->slots() == 32);
  CHECK(detail::ring_of(kept, fake_space{&first, first.new_stream()}, memory, 1) == one);
  CHECK(detail::ring_of(kept, fake_space{&second}, memory, SIZE_MAX) != one);

  const auto sizes = [&](std::size_t budget) {
    const detail::ring_options out = detail::ring_within(budget / 8, memory);
    return std::vector<std::size_t>{out.slots, out.slot_bytes / kib};
  };
  CHECK(sizes(std::size_t{1024} << 20) == std::vector<std::size_t>{32, 4096});
  CHECK(sizes(std::size_t{256} << 20) == std::vector<std::size_t>{8, 4096});
  CHECK(sizes(std::size_t{64} << 20) == std::vector<std::size_t>{4, 2048});
  CHECK(sizes(std::size_t{2} << 20) == std::vector<std::size_t>{4, 64});
  CHECK(sizes(std::size_t{1} << 20) == std::vector<std::size_t>{2, 64});
  CHECK(sizes(1000) == std::vector<std::size_t>{1, 64});
}

TEST_CASE("ring_of: the rings of all devices together take an eighth of the budget") {
  for (const std::size_t budget : {16 * kib, 256 * kib, 12288 * kib, 65536 * kib}) {
    CAPTURE(budget);
    limited_resource memory(SIZE_MAX);
    std::deque<fake_device> devices;
    {
      detail::spare_objects kept;
      std::vector<std::shared_ptr<ring>> rings;
      std::vector<ring::slot> all;
      for (int i = 0; i < 8; ++i) {
        devices.emplace_back(1, kib, i);
        rings.push_back(detail::ring_of(kept, fake_space{&devices.back()}, memory, budget));
        CHECK(rings.back()->slot_bytes() >= 64 * kib);
        if (i == 3) {  // the first ones have taken all there is when the others come
          for (const auto& one : rings) {
            while (auto slot = one->try_acquire()) all.push_back(*std::move(slot));
          }
        }
      }
      all.clear();
      for (const auto& one : rings) CHECK(one->acquire());  // each has one at least
      CHECK(memory.in_use() <= std::max(budget / 8 + 5 * 64 * kib, 8 * 64 * kib));
      CHECK(memory.in_use() >= budget / 8 / 4 * 3);
    }
    CHECK(memory.in_use() == 0);
  }
}

TEST_CASE("ring_of: what a ring has not taken, another may; and gets it back") {
  const auto all = std::make_shared<detail::ring_budget>(std::size_t{512} * kib);
  fake_device device(1);
  const fake_space space{&device};
  const auto made = [&] {
    detail::ring_options sizes = all->add_ring(default_resource());
    sizes.budget = all;
    return std::make_unique<ring>(space, sizes);
  };
  auto one = made();
  CHECK(one->slot_bytes() == 128 * kib);
  auto other = made();
  CHECK(other->slot_bytes() == 64 * kib);  // of 384 KiB that are left
  std::vector<ring::slot> slots;
  while (auto slot = one->try_acquire()) slots.push_back(*std::move(slot));
  CHECK(slots.size() == 3);  // 64 KiB are left
  std::vector<ring::slot> of_other;
  while (auto slot = other->try_acquire()) of_other.push_back(*std::move(slot));
  CHECK(of_other.size() == 2);
  slots.clear();
  one.reset();
  while (auto slot = other->try_acquire()) of_other.push_back(*std::move(slot));
  CHECK(of_other.size() == 6);  // all that it may have
  of_other.clear();
  other.reset();
  CHECK(all->take(std::size_t{512} * kib));
  CHECK_FALSE(all->take(1));
}

}  // namespace staging_ring_test
