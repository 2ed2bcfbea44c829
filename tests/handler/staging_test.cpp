// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/base/concepts.hpp>
#include <zarrpoint/handler/staging.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include "support/fake_device.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <vector>

namespace staging_test {

using namespace zarrpoint;
using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;

namespace {

using device_view = tensor_view<fake_space>;
using mutable_device_view = mutable_tensor_view<fake_space>;

constexpr std::size_t size = sizeof(std::uint32_t);

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

/// A block on the device that holds 1, 2, 3, ...; `ready` is the event of the upload.
struct device_block {
  fake_space space;
  std::vector<std::uint32_t> values;
  std::byte* data;
  fake_device::event ready;

  device_block(fake_device& device, std::size_t count)
      : space{&device}, values(counted(count)), data(device.allocate(count * size)) {
    const auto from = std::as_bytes(std::span(values));
    space.copy_from_host(data, from.data(), {.width = from.size()}).value();
    ready = space.record().value();
  }
  device_block(const device_block&) = delete;
  device_block& operator=(const device_block&) = delete;
  ~device_block() { space.owner->free(data); }

  /// `offset` and `strides` count elements.
  mutable_device_view part(index_t offset, dims shape, dims strides) const {
    for (index_t& stride : strides) stride *= static_cast<index_t>(size);
    return {data + offset * static_cast<index_t>(size),
            dtype_kind::uint32,
            shape,
            strides,
            space,
            ready};
  }
  host_view on_host(const mutable_device_view& view) const {
    return {reinterpret_cast<const std::byte*>(values.data()) + (view.data - data),
            view.type,
            view.shape,
            view.strides,
            {},
            {}};
  }
  std::vector<std::uint32_t> download() const {
    std::vector<std::uint32_t> out(values.size());
    space.follow(ready).value();
    const auto to = std::as_writable_bytes(std::span(out));
    space.copy_to_host(to.data(), data, {.width = to.size()}).value();
    detail::wait_for_stream(space).value();
    return out;
  }
};

std::vector<std::uint32_t> elements(const host_view& view) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(element_count(view.shape).value()));
  copy_elements(dense_view(reinterpret_cast<std::byte*>(out.data()), view.spec()), view);
  return out;
}

/// Layouts of up to 120 elements: offset, shape, strides, all in elements.
struct layout {
  index_t offset;
  dims shape;
  dims strides;
};
const layout layouts[] = {
    {0, {120}, {1}},                  // dense
    {0, {4, 5, 6}, {30, 6, 1}},       // dense
    {0, {4, 5, 6}, {1, 4, 20}},       // column-major
    {0, {5, 4, 6}, {6, 30, 1}},       // transposed
    {7, {3, 4, 2}, {30, 6, 1}},       // a box: small runs with gaps
    {0, {2, 6}, {110, 1}},            // two runs far apart
    {5, {10}, {10}},                  // a column: single elements, mostly gaps
    {0, {60}, {2}},                   // every other
    {119, {120}, {-1}},               // backwards
    {100, {3, 5}, {-40, 2}},          // backwards with gaps
    {0, {3, 4}, {0, 1}},              // repeated rows: a source only
    {0, {}, {}},                      // one element
    {0, {1, 1, 5, 1}, {9, 9, 1, 0}},  // strides of extents of 1 mean nothing
    {3, {2, 0, 3}, {3, 3, 1}},        // none
};

bool overlaps(const layout& l) {
  for (std::size_t i = 0; i < l.shape.rank(); ++i) {
    if (l.shape[i] > 1 && l.strides[i] == 0) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("what the host can reach is not copied") {
  const auto values = counted(6);
  const host_view view =
      dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_kind::uint32, {2, 3}});
  const staged out = detail::stage_to_host(view, default_resource()).value();
  CHECK(out.view.data == view.data);
  CHECK(out.owned.empty());
}

TEST_CASE("every layout on a device arrives whole, and waits for its producer") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    device.set_kernels(seed % 2 == 0);
    for (const layout& l : layouts) {
      CAPTURE(to_string(l.shape));
      CAPTURE(to_string(l.strides));
      const device_block block(device, 120);
      const mutable_device_view view = block.part(l.offset, l.shape, l.strides);
      limited_resource budget(1 << 20);
      const staged out = detail::stage_to_host(as_const(view), budget).value();
      if (element_count(l.shape).value() != 0) CHECK(device.due_operations() == 0);
      CHECK(out.view.spec() == view.spec());
      CHECK(elements(out.view) == elements(block.on_host(view)));
      const std::size_t bytes = byte_count(view.spec()).value();
      CHECK(budget.peak() <= 2 * bytes + 1);
    }
  }
}

TEST_CASE("every layout on a device is filled, and nothing beside it") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    fake_device device(seed);
    device.set_kernels(seed % 2 == 0);
    for (const layout& l : layouts) {
      if (overlaps(l)) continue;
      CAPTURE(to_string(l.shape));
      CAPTURE(to_string(l.strides));
      const device_block block(device, 120);
      const mutable_device_view view = block.part(l.offset, l.shape, l.strides);
      auto source = counted(120);
      for (auto& value : source) value += 1000;
      const host_view from =
          dense_view(reinterpret_cast<const std::byte*>(source.data()), view.spec());
      REQUIRE(detail::place_from_host(view, from));
      std::vector<std::uint32_t> wanted = block.values;
      const std::ptrdiff_t offset = view.data - block.data;
      copy_elements({reinterpret_cast<std::byte*>(wanted.data()) + offset,
                     view.type,
                     view.shape,
                     view.strides,
                     {},
                     {}},
                    from);
      CHECK(block.download() == wanted);
    }
  }
}

TEST_CASE("a target that is dense in another order takes one copy") {
  fake_device device(7);
  device.set_kernels(false);
  const device_block block(device, 120);
  const auto source = counted(120);
  const auto* data = reinterpret_cast<const std::byte*>(source.data());
  const auto copies_of = [&](index_t offset, dims shape, dims strides) {
    const mutable_device_view view = block.part(offset, shape, strides);
    const std::uint64_t before = device.copies();
    detail::place_from_host(view, dense_view(data, view.spec())).value();
    return device.copies() - before;
  };
  CHECK(copies_of(0, {4, 5, 6}, {30, 6, 1}) == 1);
  CHECK(copies_of(0, {4, 5, 6}, {1, 4, 20}) == 1);
  CHECK(copies_of(0, {5, 1, 4, 6}, {6, 77, 30, 1}) == 1);
  CHECK(copies_of(119, {12, 10}, {-10, -1}) == 1);
  CHECK(copies_of(0, {4, 5}, {30, 6}) == 1);  // gaps: rows of one element
  const mutable_device_view shared = block.part(0, {2, 2}, {0, 1});
  CHECK(detail::place_from_host(shared, dense_view(data, shared.spec())).failure().code ==
        errc::invalid_argument);
  limited_resource budget(100);
  const mutable_device_view columns = block.part(0, {4, 30}, {1, 4});
  CHECK(detail::place_from_host(columns, dense_view(data, columns.spec()), budget).failure().code ==
        errc::resource_limit);
}

TEST_CASE("rows are copied at once, narrow ones and other orders moved by a kernel") {
  fake_device device(8);
  const device_block block(device, 5000);
  struct costs {
    std::uint64_t copies;
    std::uint64_t moves;
    bool operator==(const costs&) const = default;
  };
  const auto cost_of = [&](bool kernels, const mutable_device_view& view) {
    device.set_kernels(kernels);
    const auto before = device.count();
    const staged out = detail::stage_to_host(as_const(view), default_resource()).value();
    CHECK(elements(out.view) == elements(block.on_host(view)));
    detail::place_from_host(
        view, dense_view(reinterpret_cast<const std::byte*>(block.values.data()), view.spec()))
        .value();
    detail::place_from_host(
        view, dense_view(reinterpret_cast<const std::byte*>(elements(block.on_host(view)).data()),
                         view.spec()))
        .value();
    const auto after = device.count();
    CHECK(after.due_operations == 0);
    CHECK(after.live_allocations == 1);
    return costs{after.copies - before.copies, after.kernels.move - before.kernels.move};
  };
  const mutable_device_view narrow = block.part(0, {1000}, {5});
  CHECK(cost_of(true, narrow) == costs{3, 3});
  CHECK(cost_of(false, narrow) == costs{3, 0});
  const mutable_device_view wide = block.part(0, {20, 50}, {200, 1});
  CHECK(cost_of(true, wide) == costs{3, 0});
  const mutable_device_view planes = block.part(0, {3, 20, 20}, {1600, 60, 1});
  CHECK(cost_of(true, planes) == costs{3, 3});
  CHECK(cost_of(false, planes) == costs{9, 0});
}

TEST_CASE("a device without the memory to rearrange in is copied from as if it had no kernel") {
  fake_device device(9, 20000);  // of which the block takes all
  const device_block block(device, 5000);
  const mutable_device_view view = block.part(0, {1000}, {5});
  const staged out = detail::stage_to_host(as_const(view), default_resource()).value();
  CHECK(elements(out.view) == elements(block.on_host(view)));
  detail::place_from_host(
      view, dense_view(reinterpret_cast<const std::byte*>(block.values.data()), view.spec()))
      .value();
  CHECK(block.download()[5] == 2);
  CHECK(device.count().kernels.move == 0);
}

TEST_CASE("each fault at each call is a named error, and nothing is left behind") {
  const layout some[] = {layouts[0], layouts[2], layouts[6], {0, {2, 2, 3}, {60, 20, 1}}};
  for (const zarrpoint_test::device_fault fault : zarrpoint_test::device_faults) {
    for (const layout& l : some) {
      for (const bool stages : {true, false}) {
        bool fired = true;
        for (std::uint64_t n = 0; fired; ++n) {
          CAPTURE(to_string(fault));
          CAPTURE(n);
          fake_device device(n);
          device.set_kernels(n % 2 == 0);
          const device_block block(device, 120);
          REQUIRE(block.space.wait(block.ready));
          const std::size_t stream = device.new_stream();
          mutable_device_view view = block.part(l.offset, l.shape, l.strides);
          view.space.stream = stream;
          limited_resource budget(1 << 20);
          device.arm(fault, n);
          result<void> done;
          if (stages) {
            const auto out = detail::stage_to_host(as_const(view), budget);
            if (!out) done = out.failure();
            if (out) CHECK(elements(out->view) == elements(block.on_host(view)));
          } else {
            done = detail::place_from_host(
                view, block.on_host(block.part(0, l.shape, row_major_strides(l.shape, 1))), budget);
          }
          fired = device.fired();
          if (!done) CHECK(done.failure().code == errc::device);
          if (!done) CHECK(done.failure().message.find("fake:0") == 0);
          if (fired && fault != zarrpoint_test::device_fault::allocation) CHECK_FALSE(done);
          if (fault == zarrpoint_test::device_fault::allocation || !fired) CHECK(done);
          CHECK(device.due_operations() == 0);
          CHECK(device.live_allocations() == 1);
          CHECK(budget.in_use() == 0);
          device.recover();
        }
      }
    }
  }
}

TEST_CASE("memory of another device, or beyond its end, is refused by name") {
  fake_device device(3);
  fake_device other(4, 1 << 20, 1);
  const device_block block(device, 120);
  const auto refused = [&](const mutable_device_view& view) {
    const auto out = detail::stage_to_host(as_const(view), default_resource());
    const std::vector<std::uint32_t> source(200);
    const auto placed = detail::place_from_host(
        view, dense_view(reinterpret_cast<const std::byte*>(source.data()), view.spec()));
    return out.failure().code == errc::invalid_argument &&
           placed.failure().code == errc::invalid_argument;
  };
  CHECK(refused(block.part(100, {50}, {1})));
  CHECK(refused(block.part(0, {13}, {10})));
  CHECK(refused(block.part(0, {2}, {-1})));
  mutable_device_view elsewhere = block.part(0, {120}, {1});
  elsewhere.space.owner = &other;
  CHECK(refused(elsewhere));
  CHECK(other.count().due_operations == 0);
}

TEST_CASE("staging obeys the budget of its memory") {
  fake_device device(4);
  const device_block block(device, 120);
  limited_resource budget(100);
  const auto out = detail::stage_to_host(as_const(block.part(0, {120}, {1})), budget);
  CHECK(out.failure().code == errc::resource_limit);
  CHECK(budget.in_use() == 0);
  CHECK(device.copies() == 1);  // the upload of the block
}

TEST_CASE("a placement of other elements, or of scattered ones, is refused") {
  fake_device device(5);
  const device_block block(device, 12);
  const mutable_device_view view = block.part(0, {12}, {1});
  const auto source = counted(24);
  const auto* data = reinterpret_cast<const std::byte*>(source.data());
  CHECK(detail::place_from_host(view, dense_view(data, {dtype_kind::uint32, {3, 4}}))
            .failure()
            .code == errc::invalid_argument);
  CHECK(detail::place_from_host(view, dense_view(data, {dtype_kind::int32, {12}})).failure().code ==
        errc::invalid_argument);
  host_view scattered = dense_view(data, view.spec());
  scattered.strides[0] = 8;
  CHECK(detail::place_from_host(view, scattered).failure().code == errc::invalid_argument);
}

}  // namespace staging_test
