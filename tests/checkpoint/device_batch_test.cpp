// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/device_batch.hpp>
#include <zarrpoint/checkpoint/load_target.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

namespace device_batch_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// A space whose handles cannot be compared: a whole device is one stream to a batch.
struct plain_space : fake_space {
  static constexpr const char* name = "plain";
  friend bool operator==(const plain_space&, const plain_space&) = delete;
};
static_assert(device_space<plain_space> && !std::equality_comparable<plain_space>);

/// `count` vectors of `length` int32, and targets for them in memory of a device.
template <class Space>
struct batch {
  memory_store store;
  std::vector<mutable_tensor_view<Space>> views;
  std::vector<load_target> targets;

  batch(std::size_t count, std::size_t length) {
    std::deque<std::vector<std::int32_t>> values;
    std::vector<leaf> leaves;
    for (std::size_t i = 0; i < count; ++i) {
      values.emplace_back(length, static_cast<std::int32_t>(i));
      leaves.emplace_back(std::to_string(i), values.back());
    }
    save(store, leaves).value();
  }
  void add(const Space& space, std::size_t length, index_t stride = 4) {
    mutable_tensor_view<Space> view{
        space.owner->allocate(length * static_cast<std::size_t>(stride)),
        dtype_kind::int32,
        {static_cast<index_t>(length)},
        {stride},
        space,
        {}};
    targets.emplace_back(std::to_string(views.size()), view);
    views.push_back(view);
  }
  result<void> load(const checkpoint& from) const {
    std::vector<const detail::bound_target*> bound;
    bound.reserve(targets.size());
    for (const load_target& one : targets) bound.push_back(&one.bound());
    return detail::device_batch<Space>({from, {}, bound}).run();
  }
  /// Whether every element of every target is its number.
  bool is_right() const {
    for (std::size_t i = 0; i < views.size(); ++i) {
      const mutable_tensor_view<Space>& view = views[i];
      const auto length = static_cast<std::size_t>(view.shape[0]);
      std::vector<std::int32_t> got(length);
      view.space
          .copy_to_host(reinterpret_cast<std::byte*>(got.data()), view.data,
                        {4, length, static_cast<std::size_t>(view.strides[0]), 4})
          .value();
      wait_for_stream(view.space).value();
      for (const std::int32_t value : got) {
        if (value != static_cast<std::int32_t>(i)) return false;
      }
    }
    return true;
  }
};

}  // namespace

TEST_CASE("what fits a slot goes together; large and strided tensors go alone") {
  fake_device device(1);
  batch<fake_space> many(40, 1000);
  context how;
  how.limit.memory = std::size_t{4} << 20;  // slots of 128 KiB
  const checkpoint from = open(many.store, how).value();
  for (std::size_t i = 0; i < 40; ++i) many.add({&device, 0}, 1000, i == 7 ? 8 : 4);
  many.load(from).value();
  CHECK(many.is_right());
  CHECK(device.count().kernels.scatter == 2);  // 39 tensors of 4 KB
  CHECK(device.count().kernels.move == 1);
}

TEST_CASE("handles that cannot be compared share one stream") {
  fake_device device(1);
  device.set_kernels(false);
  batch<plain_space> many(20, 10);
  const checkpoint from = open(many.store).value();
  for (std::size_t i = 0; i < 20; ++i) many.add({{&device, device.new_stream()}}, 10);
  many.load(from).value();
  CHECK(many.is_right());
  batch<fake_space> apart(20, 10);
  fake_device other(2);
  const checkpoint from_apart = open(apart.store).value();
  for (std::size_t i = 0; i < 20; ++i) apart.add({&other, i % 2 == 0 ? 0 : other.new_stream()}, 10);
  apart.load(from_apart).value();
  CHECK(apart.is_right());
  CHECK(other.count().kernels.scatter == 1);  // of stream 0; the others are alone on theirs
}

TEST_CASE("a device without room for the staged copy gets the tensors one by one") {
  fake_device device(1, 20 * 4000 + 1000);
  batch<fake_space> many(20, 1000);
  const checkpoint from = open(many.store).value();
  for (std::size_t i = 0; i < 20; ++i) many.add({&device, 0}, 1000);
  many.load(from).value();
  CHECK(device.count().kernels.scatter == 0);
  CHECK(device.copies() == 20);
  CHECK(many.is_right());
}

TEST_CASE("several devices at a time, with slots of their own") {
  const thread_pool pool(4);
  fake_device first(1, std::size_t{64} << 20, 0);
  fake_device second(2, std::size_t{64} << 20, 1);
  batch<fake_space> many(12, 100'000);
  context how;
  how.executor = pool.executor();
  how.limit.memory = std::size_t{600} << 10;  // one slot each
  const checkpoint from = open(many.store, how).value();
  for (std::size_t i = 0; i < 12; ++i) many.add({i % 3 == 0 ? &first : &second, 0}, 100'000);
  many.load(from).value();
  CHECK(many.is_right());
  CHECK(first.pinned_ranges() == 1);
  CHECK(second.pinned_ranges() == 1);
}

TEST_CASE("a late failure is that of the tensors it belongs to") {
  fake_device device(1);
  device.set_kernels(false);
  batch<fake_space> many(3, 100);
  const checkpoint from = open(many.store).value();
  many.add({&device, 0}, 100);
  many.add({&device, device.new_stream()}, 100);
  many.add({&device, 0}, 100);
  device.fail_after(1);  // of the two that go together: the second copy
  const result<void> done = many.load(from);
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == errc::device);
  CHECK(done.failure().message.find("load \"0\" and 1 others: fake:0") != std::string::npos);
}

}  // namespace device_batch_test
