// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/cuda.hpp>
#include <zarrpoint/cuda/runtime/reserve.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "cuda/fixture.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reserve_test {

using namespace zarrpoint;
using cuda_space = zarrpoint::cuda::device_space;
using zarrpoint_test::counted_from;
using zarrpoint_test::device_fault;
using zarrpoint_test::fake_cuda_device;
using zarrpoint_test::fake_kernels;
using zarrpoint_test::fake_runtime_alive;
using zarrpoint_test::fake_runtime_asked;
using zarrpoint_test::fresh_devices;

TEST_CASE("scratch memory is kept while somebody holds the reserve, and goes with the last") {
  const fresh_devices devices;
  const cuda_space space(1);
  auto held = space.reserve();
  auto also = space.reserve();
  CHECK(held == also);
  CHECK(fake_runtime_alive().pools == 0);  // before the first use
  for (int i = 0; i < 5; ++i) {
    std::byte* const data = space.allocate_scratch(1000).value();
    CHECK(space.check(data, 1000));
    space.deallocate(data, 1000);
  }
  CHECK(fake_runtime_asked().pools == 1);
  CHECK(fake_runtime_asked().pooled == 5);
  CHECK(fake_runtime_asked().reused == 4);
  CHECK(fake_runtime_asked().kept_most == 1000);
  CHECK(space.allocate_scratch(0).value() == nullptr);
  std::byte* const late = space.allocate_scratch(500).value();
  held = nullptr;
  CHECK(fake_runtime_alive().pools == 1);
  also = nullptr;
  CHECK(fake_runtime_alive().pools == 0);
  space.deallocate(late, 500);  // its memory outlives the pool
  std::byte* const plain = space.allocate_scratch(500).value();
  CHECK(fake_runtime_asked().pooled == 6);
  space.deallocate(plain, 500);
}

TEST_CASE("streams of a reserve are made when they are asked for, and end with it") {
  const fresh_devices devices;
  const cuda_space space(1);
  CHECK(space.lane(0).value() == space);  // nobody holds one
  auto held = space.reserve();
  CHECK(fake_runtime_alive().streams == 0);
  const cuda_space first = space.lane(0).value();
  CHECK(first == space.lane(0).value());
  CHECK(first != space);
  CHECK(first.device() == 1);
  CHECK(fake_runtime_alive().streams == 1);
  CHECK(space.lane(cuda_space::lanes - 1).value() != first);
  CHECK(fake_runtime_alive().streams == cuda_space::lanes);
  held = nullptr;
  CHECK(fake_runtime_alive().streams == 0);
}

TEST_CASE("a tensor that finds no room has what the reserve keeps") {
  const fresh_devices devices({.capacity = 1000});
  const cuda_space space;
  CHECK(space.allocate(1001).failure().code == errc::resource_limit);
  const auto held = space.reserve();
  space.deallocate(space.allocate_scratch(800).value(), 800);
  CHECK(fake_runtime_asked().kept_most == 800);
  std::byte* const data = space.allocate(900).value();
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(space.allocate_scratch(200).failure().code == errc::resource_limit);
  CHECK(space.allocate(200).failure().code == errc::resource_limit);
  space.deallocate(data, 900);
}

TEST_CASE("scratch memory that its pool has no room for is had from the default one") {
  const fresh_devices devices({.default_keeps = 900, .capacity = 1000});
  const cuda_space space;
  const auto held = space.reserve();
  std::byte* const small = space.allocate_scratch(50).value();
  std::byte* const large = space.allocate_scratch(500).value();
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  CHECK(space.check(large, 500));
  space.deallocate(large, 500);
  space.deallocate(small, 50);
  CHECK(fake_runtime_asked().kept_most == 50);
}

TEST_CASE("without pools, or without one of its own, scratch memory is had as other memory is") {
  for (const bool has_pools : {true, false}) {
    const fresh_devices devices({.has_pools = has_pools, .makes_pools = false});
    const cuda_space space;
    const auto held = space.reserve();
    for (int i = 0; i < 2; ++i) space.deallocate(space.allocate_scratch(100).value(), 100);
    CHECK(fake_runtime_asked().pooled == 0);
  }
}

namespace {

/// What is loaded by kernels: casts, strides, and many small ones together.
struct loads {
  static constexpr std::size_t small_count = 12;
  memory_store store;
  std::vector<float> values = counted_from(0.0F, 200000);
  std::vector<float> small = counted_from(5.0F, 100);

  loads() {
    std::vector<leaf> leaves{{"w", values}};
    for (std::size_t i = 0; i < small_count; ++i)
      leaves.emplace_back("s" + std::to_string(i), small);
    save(store, leaves, {.rules = {{.glob = "w", .chunk_byte_size = 4096}}}).value();
  }

  result<void> run(const cuda_space& space, const context& how) const {
    using doubles = zarrpoint::cuda::tensor<double>;
    using floats = zarrpoint::cuda::tensor<float>;
    ZARRPOINT_TRY(from, open(store, how));
    ZARRPOINT_TRY(wide, doubles::make({200000}, space));
    ZARRPOINT_CHECK(from.load_into("w", wide, {.cast = true}));
    ZARRPOINT_TRY(back, wide.download());
    CHECK(back == std::vector<double>(values.begin(), values.end()));

    std::vector<floats> tensors;
    for (std::size_t i = 0; i < small_count; ++i) {
      ZARRPOINT_TRY(made, floats::make({100}, space));
      tensors.push_back(std::move(made));
    }
    std::vector<load_target> targets;
    for (std::size_t i = 0; i < small_count; ++i)
      targets.emplace_back("s" + std::to_string(i), tensors[i]);
    ZARRPOINT_CHECK(load_into_all(from, targets));
    ZARRPOINT_TRY(one, tensors.back().download());
    CHECK(one == small);

    // Every other column: gathered by a kernel on the way back.
    const tensor_view<cuda_space> columns{handler_of<doubles>::view(wide).data,
                                          dtype_kind::float64,
                                          {300, 100},
                                          {200 * 8, 16},
                                          space,
                                          {}};
    const memory_store out;
    ZARRPOINT_TRY(saved, save(out, {{"c", columns}}, {}, how));
    CHECK(saved.leaves.size() == 1);
    ZARRPOINT_TRY(read, open(out));
    ZARRPOINT_TRY(copied, read.load<tensor>("c"));
    CHECK(copied.data<double>()[101] == 202.0);
    return {};
  }
};

}  // namespace

TEST_CASE("a load that casts takes scratch memory once, and gives it back when it returns") {
  const loads all;
  const fresh_devices devices;
  const thread_pool pool(3);
  context how;
  how.executor = pool.executor();
  how.limit.memory = std::size_t{1}
                     << 20;  // slots of 64 KiB at most, so that there are many pieces
  REQUIRE(all.run(cuda_space(1, nullptr, fake_kernels()), how));
  const auto asked = fake_runtime_asked();
  CHECK(asked.pools == 3);  // one for each call that had a use for it
  CHECK(asked.pooled > 12);
  CHECK(asked.pooled - asked.reused <= 3 * 4);  // never more than one for each slot
  CHECK(asked.events < 20);
  const auto alive = fake_runtime_alive();
  CHECK(alive.pools == 0);
  CHECK(alive.allocations == 0);
}

TEST_CASE("a program's own pool stays what it is, and faults leave nothing") {
  // That the default pool is not asked for is seen by the linker: the fake has no such function.
  const loads all;
  int fired = 0;
  for (const device_fault fault : zarrpoint_test::device_faults) {
    for (std::uint64_t order = 0; order < 60; order += 1 + order / 8) {
      CAPTURE(to_string(fault));
      CAPTURE(order);
      const fresh_devices devices({.seed = order});
      const auto stream = zarrpoint::cuda::stream::make(0).value();
      context how;
      how.limit.memory = std::size_t{1} << 20;
      fake_cuda_device().arm(fault, order);
      const result<void> outcome = all.run(stream.space(fake_kernels()), how);
      fired += fake_cuda_device().fired() ? 1 : 0;
      if (!outcome) {
        CHECK(fake_cuda_device().fired());
        CHECK((outcome.failure().code == errc::device ||
               outcome.failure().code == errc::resource_limit));
      }
      CHECK(fake_runtime_alive().pools == 0);
      CHECK(fake_runtime_alive().events == 0);
      fake_cuda_device().recover();
    }
  }
  CHECK(fired > 60);
}

}  // namespace reserve_test
