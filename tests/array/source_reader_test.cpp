// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/write/source_reader.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/memory/device/device_source.hpp>

#include "support/array_cases.hpp"
#include "support/random_rounds.hpp"
#include "support/recording_store.hpp"
#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace source_reader_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;
using ring = detail::staging_ring<fake_space>;

std::unique_ptr<element_source> source_of(const tensor_view<fake_space>& view, std::size_t slots,
                                          std::size_t slot_bytes) {
  const detail::ring_options sizes{.slots = slots, .slot_bytes = slot_bytes};
  return detail::device_source<fake_space>::make(view, std::make_shared<ring>(view.space, sizes))
      .value();
}

std::map<std::string, recording_store::bytes> objects_of(const recording_store& store) {
  std::map<std::string, recording_store::bytes> out;
  for (const std::string& key : store.keys()) out.emplace(key, store.at(key));
  return out;
}

dims random_extents(random_source& random, const dims& most) {
  dims out = most;
  for (index_t& extent : out)
    extent = static_cast<index_t>(1 + pick(random, static_cast<std::size_t>(extent)));
  return out;
}

array_metadata random_array(random_source& random, dtype type, const dims& shape) {
  dims bound = shape;
  for (index_t& extent : bound) extent = std::max<index_t>(extent, 1) + 2;
  const dims inner = random_extents(random, bound);
  array_metadata out = raw_metadata(type, shape, inner);
  if (pick(random, 2) == 0) out.codecs.push_back(zstd_spec());
  if (pick(random, 2) == 0) out.codecs.push_back(crc32c_spec());
  if (pick(random, 3) == 0) return out;
  for (index_t& extent : out.chunk_shape) extent *= static_cast<index_t>(1 + pick(random, 4));
  return sharded_metadata(out, inner);
}

selection random_selection(random_source& random, const dims& shape) {
  selection out(box::whole(shape));
  if (pick(random, 2) == 0) return out;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    out.step[d] = static_cast<index_t>(1 + pick(random, 3));
    out.offset[d] = static_cast<index_t>(pick(random, static_cast<std::size_t>(shape[d]) + 1));
    out.shape[d] = ceil_div(shape[d] - out.offset[d], out.step[d]);
  }
  return out;
}

TEST_CASE("a write from a device gives the bytes that one from the host gives") {
  const thread_pool pool(4);
  constexpr dtype_kind kinds[] = {dtype_kind::uint8, dtype_kind::bfloat16, dtype_kind::float32};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device device(seed);
    device.set_kernels(pick(random, 2) == 0);
    const dtype type(kinds[pick(random, 3)]);
    const dtype stored = pick(random, 4) == 0 ? dtype(dtype_kind::float64) : type;
    const dims shape = random_shape(random, 4, 12);
    const array_metadata metadata = random_array(random, stored, shape);
    context how;
    if (pick(random, 2) == 0) how.executor = pool.executor();
    if (pick(random, 2) == 0) how.limit.bytes_in_flight = 1 + pick(random, 3000);
    const selection part = random_selection(random, shape);
    const strided_device tensor({&device}, type, part.shape,
                                random_layout(random, part.shape, type.size(), true), random);
    const std::vector<std::byte> before = random_bytes(random, byte_count({stored, shape}).value());
    tensor.wait();
    recording_store stores[2];
    chunk_digests digests[2];
    {
      const auto source =
          source_of(tensor.view(device.new_stream()), 1 + pick(random, 3), 16 + pick(random, 3000));
      const bool elide = pick(random, 2) == 0;
      for (int i = 0; i < 2; ++i) {
        const array made = array::create(stores[i], key_of("w"), metadata, how).value();
        made.write(box::whole(shape), dense_view(before.data(), {stored, shape})).value();
        chunk_digests* const collected = seed % 2 == 0 ? &digests[i] : nullptr;
        const write_options options{.elide_fill = elide, .collected = collected, .cast = true};
        const auto status = i == 0 ? made.write(part, tensor.on_host(), options)
                                   : made.write(part, *source, options);
        REQUIRE(status);
      }
    }
    CHECK(objects_of(stores[0]) == objects_of(stores[1]));
    CHECK(digests[0] == digests[1]);
    CHECK(device.live_allocations() == 1);
    CHECK(device.pinned_ranges() == 0);
    CHECK(device.due_operations() == 0);
  }
}

TEST_CASE("neighbours share a copy, and the next one is under way before it is needed") {
  fake_device device(1);
  random_source random(1);
  const dims shape{64, 8, 16};
  const strided_device tensor({&device}, dtype_kind::uint8, shape, dense_layout(shape, 1), random);
  tensor.wait();
  const auto copies_of = [&](const dims& shard, const dims& inner, std::size_t slot_bytes) {
    array_metadata metadata = raw_metadata(dtype_kind::uint8, shape, shard);
    if (shard != inner) metadata = sharded_metadata(metadata, inner);
    const auto source = source_of(tensor.view(), 4, slot_bytes);
    recording_store store;
    const array made = array::create(store, key_of("w"), metadata).value();
    const auto before = device.count();
    made.write(box::whole(shape), *source, {.elide_fill = false}).value();
    const auto after = device.count();
    CHECK(after.pageable_bytes == before.pageable_bytes);
    CHECK(after.bytes_to_host - before.bytes_to_host == 8192);
    CHECK(made.read(box::whole(shape)).value().view().spec() ==
          tensor_spec{dtype_kind::uint8, shape});
    CHECK(dense_bytes_of(made.read(box::whole(shape)).value().view()) ==
          dense_bytes_of(tensor.on_host()));
    return after.copies - before.copies;
  };
  CHECK(copies_of({64, 8, 16}, {1, 8, 16}, 1 << 20) == 1);  // all that there is
  CHECK(copies_of({64, 8, 16}, {1, 8, 16}, 1024) == 8);     // eight inner chunks each
  CHECK(copies_of({64, 8, 16}, {1, 8, 16}, 1100) == 8);
  CHECK(copies_of({64, 8, 16}, {1, 2, 4}, 1024) == 8);     // whole planes of them
  CHECK(copies_of({64, 8, 16}, {1, 2, 4}, 64) == 64 * 2);  // two rows of them
  CHECK(copies_of({16, 8, 16}, {1, 8, 16}, 4096) == 4);    // shards are apart
  CHECK(copies_of({1, 8, 16}, {1, 8, 16}, 1024) == 8);     // chunks are not
  CHECK(copies_of({2, 4, 16}, {2, 4, 16}, 512) == 16);
  CHECK(copies_of({64, 8, 16}, {64, 8, 16}, 1000) == 9);  // one that no slot holds: blocks
}

TEST_CASE("what is small is read in few parts, each of which holds a slot") {
  const auto copies_of = [](index_t mebibytes) {
    fake_device device(5);
    random_source random(5);
    const dims shape{mebibytes, 1 << 20};
    const strided_device tensor({&device}, dtype_kind::uint8, shape, dense_layout(shape, 1),
                                random);
    tensor.wait();
    const auto source = source_of(tensor.view(), 4, std::size_t{16} << 20);
    const array_metadata metadata = raw_metadata(dtype_kind::uint8, shape, {1, 1 << 20});
    recording_store store;
    const auto before = device.count().copies;
    array::create(store, key_of("w"), metadata).value().write(box::whole(shape), *source).value();
    return device.count().copies - before;
  };
  CHECK(copies_of(3) == 1);
  CHECK(copies_of(7) == 2);
  CHECK(copies_of(24) == 4);
}

TEST_CASE("tiny rings and tiny budgets make workers wait, never for themselves") {
  const dims shape{96, 32};
  for (std::uint64_t seed = 0; seed < random_rounds(std::uint64_t{60}); ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device device(seed);
    const strided_device tensor({&device}, dtype_kind::int32, shape, dense_layout(shape, 4),
                                random);
    const thread_pool pool(static_cast<unsigned>(1 + seed % 8));
    context how{.executor = pool.executor()};
    how.limit.bytes_in_flight = seed % 3 == 0 ? 1 : 1000;
    how = with_scratch(how);
    // Several arrays at a time by way of one ring, on streams of their own.
    const detail::ring_options sizes{.slots = 1 + seed % 3, .slot_bytes = 128 + pick(random, 600)};
    const auto shared = std::make_shared<ring>(fake_space{&device}, sizes);
    recording_store store;
    const auto write = [&](std::size_t i) -> result<void> {
      array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {48, 32});
      if (i % 2 == 0) metadata.codecs.push_back(zstd_spec());
      if (i % 3 != 0) metadata = sharded_metadata(metadata, {1, 32});
      ZARRPOINT_TRY(source, detail::device_source<fake_space>::make(
                                tensor.view(device.new_stream()), shared));
      ZARRPOINT_TRY(made, array::create(store, key_of("w" + std::to_string(i)), metadata, how));
      return made.write(box::whole(shape), *source);
    };
    REQUIRE(parallel_for(how.executor, 6, write));
    for (int i = 0; i < 6; ++i) {
      const array made = array::open(store, key_of("w" + std::to_string(i))).value();
      CHECK(dense_bytes_of(made.read(box::whole(shape)).value().view()) ==
            dense_bytes_of(tensor.on_host()));
    }
  }
}

TEST_CASE("a write that fails while others hold room or wait for it ends, and names what failed") {
  const dims shape{64, 64};
  const thread_pool pool(6);
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device device(seed);
    const strided_device tensor({&device}, dtype_kind::int32, shape, dense_layout(shape, 4),
                                random);
    context how{.executor = pool.executor()};
    if (seed % 3 == 0) how.limit.bytes_in_flight = 1;
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {64, 64});
    if (seed % 2 == 0) metadata.codecs.push_back(zstd_spec());
    metadata = sharded_metadata(metadata, {1, 64});
    recording_store store;
    const array made = array::create(store, key_of("w"), metadata, how).value();
    {
      const auto source = source_of(tensor.view(), 1 + seed % 3, 300 + pick(random, 900));
      store->writes_until_failure = static_cast<std::int64_t>(pick(random, 60));
      const auto refused = made.write(box::whole(shape), *source);
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == errc::io);
      CHECK(refused.failure().message.find("memory:w: chunk c/0/0: ") != std::string::npos);
    }
    CHECK_FALSE(store.has("w/c/0/0"));
    CHECK(device.due_operations() == 0);
    CHECK(device.pinned_ranges() == 0);
  }
}

TEST_CASE("each fault of a device is an error that names the chunk and the device") {
  const dims shape{32, 64};
  const thread_pool pool(3);
  int failures = 0;
  for (const device_fault fault : device_faults) {
    for (std::uint64_t at = 0; at < 30; ++at) {
      CAPTURE(to_string(fault));
      CAPTURE(at);
      random_source random(at);
      fake_device device(at);
      context how;
      if (at % 2 == 0) how.executor = pool.executor();
      array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {16, 64});
      if (at % 3 != 0) metadata = sharded_metadata(metadata, {2, 64});
      recording_store store;
      const array made = array::create(store, key_of("w"), metadata, how).value();
      const strided_device tensor({&device}, dtype_kind::int32, shape, dense_layout(shape, 4),
                                  random);
      {
        const auto source =
            source_of(tensor.view(device.new_stream()), 2, at % 5 == 0 ? 128 : 1024);
        device.arm(fault, at);
        const auto status = made.write(box::whole(shape), *source);
        if (!device.fired()) CHECK(status);
        // Without pinned memory it is slower; the device's own memory is not needed here.
        if (device.fired() && fault != device_fault::pin) {
          ++failures;
          REQUIRE_FALSE(status);
          CHECK(status.failure().code == errc::device);
          CHECK(status.failure().message.find("memory:w: chunk c/") != std::string::npos);
          CHECK(status.failure().message.find("fake:0: ") != std::string::npos);
        }
        device.recover();
      }
      CHECK(device.live_allocations() == 1);
      CHECK(device.pinned_ranges() == 0);
    }
  }
  CHECK(failures > 60);
}

TEST_CASE("rectilinear arrays take their chunks from a device, too") {
  fake_device device(2);
  random_source random(2);
  auto metadata = raw_metadata(dtype_kind::int32, {10, 7}, {4, 5});
  metadata.edges = {{{{3, 2}, {4, 1}}}, {{{2, 1}, {5, 1}}}};
  const strided_device tensor({&device}, dtype_kind::int32, {10, 7},
                              random_layout(random, {10, 7}, 4), random);
  recording_store store;
  const array made = array::create(store, key_of("w"), metadata).value();
  for (const std::size_t slot_bytes : {std::size_t{20}, std::size_t{1000}}) {
    const auto source = source_of(tensor.view(), 1, slot_bytes);
    made.write(box::whole({10, 7}), *source).value();
    CHECK(dense_bytes_of(made.read(box::whole({10, 7})).value().view()) ==
          dense_bytes_of(tensor.on_host()));
    CHECK(made.write(box{{0, 0}, {3, 2}}, *source).failure().code == errc::shape_mismatch);
  }
}

}}  // namespace source_reader_test
