// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device/device_source.hpp>

#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

namespace device_source_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

using ring = detail::staging_ring<fake_space>;

std::shared_ptr<ring> ring_on(fake_device& device, std::size_t slots, std::size_t slot_bytes) {
  return std::make_shared<ring>(fake_space{&device},
                                detail::ring_options{.slots = slots, .slot_bytes = slot_bytes});
}

box random_box(random_source& random, const dims& shape) {
  box out = box::whole(shape);
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    out.offset[d] = static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d]) + 1));
    out.shape[d] =
        static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d] - out.offset[d]) + 1));
  }
  return out;
}

constexpr dtype_kind kinds[] = {dtype_kind::uint8, dtype_kind::bfloat16, dtype_kind::float32,
                                dtype_kind::complex128};

/// A source that reads a copy on the device.
template <class Space>
result<std::unique_ptr<element_source>> copied_source(
    const tensor_view<Space>& of, std::shared_ptr<detail::staging_ring<Space>> staging) {
  ZARRPOINT_TRY(made, detail::device_source<Space>::make(of, std::move(staging)));
  ZARRPOINT_CHECK(made->copy_in_place());
  return std::move(made);
}

/// Counts the elements that it is asked to move.
struct counting_space : fake_space {
  std::size_t* moved = nullptr;

  result<void> move(const strided_move& elements) const {
    *moved += byte_count(elements.shape, 1).value();
    return fake_space::move(elements);
  }
};
static_assert(kernel_space<counting_space>);

}  // namespace

TEST_CASE("device_source: boxes of any layout arrive, in slots and in memory of their own") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device device(seed);
    device.set_kernels(seed % 2 == 0);
    const dtype type(kinds[pick(random, 4)]);
    const dims shape = random_shape(random, 4, 9);
    const strided_device tensor({&device}, type, shape,
                                random_layout(random, shape, type.size(), true), random);
    {
      const auto staging = ring_on(device, 1 + pick(random, 3), 32 + pick(random, 4000));
      const auto made =
          detail::device_source<fake_space>::make(tensor.view(device.new_stream()), staging)
              .value();
      element_source& source = *made;
      if (seed % 3 == 0) {
        const auto copied = source.copy_in_place();
        // One that would take much more than the elements is refused, and then they are read.
        if (!copied) CHECK(copied.failure().code == errc::resource_limit);
      }
      CHECK(source.settle());
      CHECK(source.spec() == tensor.view().spec());
      CHECK(source.part_bytes() == staging->slot_bytes());
      for (int n = 0; n < 6; ++n) {
        const box part = random_box(random, shape);
        const std::vector<std::byte> wanted = dense_bytes_of(subview(tensor.on_host(), part));
        limited_resource budget(1 << 20);
        const owned_elements read = source.read(part, budget).value();
        CHECK(read.view.spec() == tensor_spec{type, part.shape});
        CHECK(dense_bytes_of(read.view) == wanted);
        CHECK(budget.peak() <= wanted.size());
        if (wanted.size() > source.part_bytes()) continue;
        const auto begun = source.begin(part, true).value();
        const host_view there = begun->wait().value();
        CHECK(there.spec() == tensor_spec{type, part.shape});
        CHECK(dense_bytes_of(there) == wanted);
      }
    }
    device.recover();
    CHECK(device.live_allocations() == 1);  // the tensor's
    CHECK(device.pinned_ranges() == 0);
  }
}

TEST_CASE("device_source: parts hold slots until they end; without one it is said or waited for") {
  fake_device device(3);
  random_source random(3);
  const dims shape{64, 16};
  const strided_device tensor({&device}, dtype_kind::float32, shape, dense_layout(shape, 4),
                              random);
  const auto staging = ring_on(device, 2, 1024);
  const auto source = detail::device_source<fake_space>::make(tensor.view(), staging).value();
  auto first = source->begin(box{{0, 0}, {16, 16}}, false).value();
  auto second = source->begin(box{{16, 0}, {16, 16}}, false).value();
  REQUIRE(second != nullptr);
  CHECK(source->begin(box{{32, 0}, {16, 16}}, false).value() == nullptr);
  CHECK(source->begin(box{{32, 0}, {32, 16}}, false).value() == nullptr);
  // What needs no slot goes on without one.
  const owned_elements all = source->read(box::whole(shape), default_resource()).value();
  CHECK(dense_bytes_of(all.view) == dense_bytes_of(tensor.on_host()));
  CHECK(device.count().pageable_bytes >= 4096);
  std::thread later([&] { first.reset(); });
  const auto third = source->begin(box{{32, 0}, {16, 16}}, true).value();
  later.join();
  CHECK(dense_bytes_of(third->wait().value()) ==
        dense_bytes_of(subview(tensor.on_host(), box{{32, 0}, {16, 16}})));
  second.reset();
  // Too large a part is refused, not cut.
  CHECK(source->begin(box{{0, 0}, {32, 16}}, true).failure().code == errc::invalid_argument);
}

TEST_CASE("device_source: several sources of one stream share a part") {
  fake_device device(10);
  random_source random(10);
  const auto staging = ring_on(device, 1, 1024);
  std::vector<std::unique_ptr<strided_device>> tensors;
  std::vector<std::unique_ptr<element_source>> sources;
  const auto add = [&](const dims& shape, const layout& places, std::size_t stream = 0) {
    tensors.push_back(std::make_unique<strided_device>(fake_space{&device}, dtype_kind::int16,
                                                       shape, places, random));
    sources.push_back(
        detail::device_source<fake_space>::make(tensors.back()->view(stream), staging).value());
  };
  add({10, 10}, dense_layout({10, 10}, 2));
  add({4, 6}, {dims{2, -8}, 40, 48});  // columns, the last one first
  add({7}, {dims{0}, 0, 2});
  add({3, 3}, {dims{20, 4}, 0, 60});  // with gaps
  add({5}, dense_layout({5}, 2), device.new_stream());
  add({400}, dense_layout({400}, 2));
  CHECK(sources[0]->joint_bytes() == 256);
  CHECK(sources[1]->joint_bytes() == 64);
  CHECK(sources[2]->joint_bytes() == 64);
  CHECK(sources[3]->joint_bytes() == 0);
  for (const std::size_t i : {1U, 2U, 5U}) CHECK(sources[i]->joins(*sources[0]));
  CHECK_FALSE(sources[4]->joins(*sources[0]));
  const auto elsewhere =
      detail::device_source<fake_space>::make(tensors[0]->view(), ring_on(device, 1, 1024)).value();
  CHECK_FALSE(elsewhere->joins(*sources[0]));

  element_source* const three[] = {sources[0].get(), sources[1].get(), sources[2].get()};
  host_view views[3];
  joint_read all{three, views};
  const std::uint64_t events = device.count().events;
  const auto part = sources[0]->begin_joint(all, true).value();
  CHECK(all.asked == 3);
  CHECK(sources[0]->begin_joint(all, false).value() == nullptr);  // the one slot is taken
  part->wait().value();
  CHECK(device.count().events == events + 1);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(views[i].spec() == sources[i]->spec());
    CHECK(dense_bytes_of(views[i]) == dense_bytes_of(tensors[i]->on_host()));
  }
}

TEST_CASE("device_source: of sources that share a part the one that failed is told") {
  fake_device device(11);
  random_source random(11);
  {
    const auto staging = ring_on(device, 1, 1024);
    const strided_device small({&device}, dtype_kind::int16, {40}, dense_layout({40}, 2), random);
    const strided_device large({&device}, dtype_kind::int16, {480}, dense_layout({480}, 2), random);
    const auto one = detail::device_source<fake_space>::make(small.view(), staging).value();
    const auto two = detail::device_source<fake_space>::make(large.view(), staging).value();
    element_source* const both[] = {one.get(), two.get()};
    host_view views[2];
    joint_read all{both, views};
    CHECK(one->begin_joint(all, true).failure().code == errc::invalid_argument);
    CHECK(all.asked == 1);
    element_source* const twice[] = {one.get(), one.get()};
    all.sources = twice;
    device.arm(device_fault::copy, 0);
    CHECK(one->begin_joint(all, true).failure().code == errc::device);
    CHECK(all.asked == 0);
    device.arm(device_fault::record, 0);
    CHECK(one->begin_joint(all, true).failure().code == errc::device);
    CHECK(all.asked == 2);
    REQUIRE(one->begin_joint(all, true));  // the slot came back each time
  }
  CHECK(device.live_allocations() == 0);
  CHECK(device.pinned_ranges() == 0);
}

TEST_CASE("device_source: large parts go through pinned memory, one block after the other") {
  fake_device device(4);
  random_source random(4);
  const dims shape{100, 50};
  const strided_device tensor({&device}, dtype_kind::uint8, shape, {dims{64, 1}, 0, 99 * 64 + 50},
                              random);
  tensor.wait();
  const std::uint64_t pageable = device.count().pageable_bytes;
  const auto staging = ring_on(device, 2, 1000);
  const auto source = detail::device_source<fake_space>::make(tensor.view(), staging).value();
  const owned_elements all = source->read(box::whole(shape), default_resource()).value();
  CHECK(dense_bytes_of(all.view) == dense_bytes_of(tensor.on_host()));
  CHECK(device.count().pageable_bytes == pageable);
  CHECK(device.count().copies == 1 + 5);
}

TEST_CASE("device_source: what is scattered is gathered by a kernel, or copied with its gaps") {
  fake_device device(5);
  random_source random(5);
  const dims shape{32, 32};
  // Every other element of every other row.
  const strided_device tensor({&device}, dtype_kind::float32, shape,
                              {dims{512, 8}, 0, 31 * 512 + 31 * 8 + 4}, random);
  const auto staging = ring_on(device, 2, 1 << 16);
  const auto source = detail::device_source<fake_space>::make(tensor.view(), staging).value();
  const auto copies_of = [&](const box& part) {
    const std::uint64_t before = device.copies();
    const auto begun = source->begin(part, true).value();
    CHECK(dense_bytes_of(begun->wait().value()) == dense_bytes_of(subview(tensor.on_host(), part)));
    return device.copies() - before;
  };
  CHECK(copies_of(box::whole(shape)) == 1);
  CHECK(device.count().kernels.move == 1);
  device.set_kernels(false);
  CHECK(copies_of(box::whole(shape)) == 1);
  CHECK(device.count().kernels.move == 1);
  CHECK(device.count().bytes_to_host == 32 * 32 * 4 + (31 * 512 + 31 * 8 + 4));
  CHECK(copies_of(box{{0, 3}, {32, 1}}) == 1);  // a column: single elements as rows
  CHECK(device.live_allocations() == 1);
}

TEST_CASE("device_source: what stride 0 repeats is moved once") {
  fake_device device(9);
  random_source random(9);
  const dims shape{8, 50, 16};
  const strided_device tensor({&device}, dtype_kind::float32, shape,
                              {dims{-128, 0, 8}, 7 * 128, 7 * 128 + 15 * 8 + 4}, random);
  std::size_t moved = 0;
  const counting_space space{{&device}, &moved};
  const tensor_view<fake_space> plain = tensor.view();
  const tensor_view<counting_space> view{plain.data,    plain.type, plain.shape,
                                         plain.strides, space,      plain.ready};
  using source = detail::device_source<counting_space>;
  const auto staging = std::make_shared<detail::staging_ring<counting_space>>(
      space, detail::ring_options{.slots = 1, .slot_bytes = 4096});
  const std::vector<std::byte> wanted = dense_bytes_of(tensor.on_host());
  const auto straight = source::make(view, staging).value();
  CHECK(dense_bytes_of(straight->begin(box::whole(shape), true).value()->wait().value()) == wanted);
  CHECK(moved == 8 * 16);
  const auto copied = copied_source(view, staging).value();
  CHECK(moved == 2 * 8 * 16);
  const owned_elements all = copied->read(box::whole(shape), default_resource()).value();
  CHECK(dense_bytes_of(all.view) == wanted);
}

TEST_CASE("device_source: a copy on the device lets the caller go on") {
  fake_device device(6);
  random_source random(6);
  const dims shape{40, 25};
  const auto staging = ring_on(device, 2, 512);
  for (const layout& places : {dense_layout(shape, 4), layout{dims{4, 160}, 0, 4000},
                               layout{dims{-400, 12}, 39 * 400, 39 * 400 + 24 * 12 + 4}}) {
    auto tensor = std::make_unique<strided_device>(fake_space{&device}, dtype_kind::int32, shape,
                                                   places, random);
    const std::vector<std::byte> wanted = dense_bytes_of(tensor->on_host());
    const auto source = copied_source(tensor->view(device.new_stream()), staging).value();
    REQUIRE(source->settle());
    tensor.reset();  // freed, and full of poison
    const owned_elements all = source->read(box::whole(shape), default_resource()).value();
    CHECK(dense_bytes_of(all.view) == wanted);
  }
  CHECK(device.live_allocations() == 0);
}

TEST_CASE("device_source: bad views are refused, and each fault is an error that leaks nothing") {
  random_source random(7);
  const dims shape{24, 16};
  {
    fake_device device(7);
    fake_device other(8);
    const strided_device tensor({&device}, dtype_kind::float32, shape, dense_layout(shape, 4),
                                random);
    const auto staging = ring_on(other, 1, 512);
    tensor_view<fake_space> foreign = tensor.view();
    foreign.space = {&other};
    CHECK(detail::device_source<fake_space>::make(foreign, staging).failure().code ==
          errc::invalid_argument);
    tensor_view<fake_space> text = tensor.view();
    text.type = dtype_kind::string;
    CHECK(detail::device_source<fake_space>::make(text, staging).failure().code ==
          errc::unsupported);
    tensor_view<fake_space> vast = tensor.view();
    vast.shape = {index_t{1} << 40, index_t{1} << 40};
    CHECK(detail::device_source<fake_space>::make(vast, staging).failure().code ==
          errc::out_of_range);
    vast.shape = {25, 16};
    CHECK(detail::device_source<fake_space>::make(vast, staging).failure().code ==
          errc::invalid_argument);
  }
  for (const device_fault fault : device_faults) {
    for (std::uint64_t at = 0; at < 24; ++at) {
      CAPTURE(to_string(fault));
      CAPTURE(at);
      fake_device device(at);
      const bool scattered = at % 2 == 0;
      const layout places = scattered ? layout{dims{128, 8}, 0, 24 * 128} : dense_layout(shape, 4);
      {
        const strided_device tensor({&device}, dtype_kind::float32, shape, places, random);
        const auto staging = ring_on(device, 2, 512);
        const std::size_t stream = device.new_stream();
        const auto run = [&]() -> result<void> {
          ZARRPOINT_TRY(source, at % 3 == 0 ? copied_source(tensor.view(stream), staging)
                                            : detail::device_source<fake_space>::make(
                                                  tensor.view(stream), staging));
          for (index_t row = 0; row < 24; row += 8) {
            ZARRPOINT_TRY(part, source->begin(box{{row, 0}, {8, 16}}, true));
            ZARRPOINT_TRY(view, part->wait());
            CHECK(dense_bytes_of(view) ==
                  dense_bytes_of(subview(tensor.on_host(), box{{row, 0}, {8, 16}})));
          }
          ZARRPOINT_TRY(all, source->read(box::whole(shape), default_resource()));
          CHECK(dense_bytes_of(all.view) == dense_bytes_of(tensor.on_host()));
          return source->settle();
        };
        device.arm(fault, at);
        const result<void> status = run();
        // Pinned memory, and memory to gather in, can be done without.
        const bool is_spared = fault == device_fault::pin || fault == device_fault::allocation;
        if (device.fired() && !is_spared) REQUIRE_FALSE(status);
        if (!device.fired()) CHECK(status);
        if (!status) {
          const bool named = status.failure().message.find("fake:0: ") != std::string::npos;
          CHECK(named);
          CHECK((status.failure().code == errc::device ||
                 status.failure().code == errc::resource_limit));
        }
        device.recover();
      }
      CHECK(device.live_allocations() == 0);
      CHECK(device.pinned_ranges() == 0);
    }
  }
}

}  // namespace device_source_test
