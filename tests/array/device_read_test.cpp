// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"
#include "support/fake_device.hpp"
#include "support/random_layout.hpp"
#include "support/recording_store.hpp"
#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace device_read_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

#if defined(ZARRPOINT_TEST_SANITIZED)
constexpr int rounds = 60;
#else
constexpr int rounds = 400;
#endif

/// Bytes of a fake device in which a strided target lies.
struct device_block {
  fake_space space;
  std::size_t size;
  std::byte* data;

  device_block(const fake_space& where, std::size_t bytes)
      : space(where), size(bytes), data(where.owner->allocate(bytes)) {}
  device_block(const device_block&) = delete;
  ~device_block() { space.owner->free(data, space.stream); }

  std::vector<std::byte> download() const {
    std::vector<std::byte> out(size);
    space.copy_to_host(out.data(), data, {.width = size}).value();
    detail::wait_for_stream(space).value();
    return out;
  }
};

codec_spec shuffle_spec(index_t size) {
  return {"numcodecs.shuffle", json::object{{"elementsize", size}}};
}

/// Metadata whose inner chunks are shuffled, of int32 and not compressed unless changed.
array_metadata shuffled_metadata(const dims& shape, const dims& chunk_shape) {
  array_metadata out = raw_metadata(dtype_kind::int32, shape, chunk_shape);
  out.codecs.push_back(shuffle_spec(4));
  return out;
}

context with_shuffle(context how = {}) {
  how.codecs = default_codecs::with<shuffle_codec>::table();
  return how;
}

/// A store that calls a function before each read of an object.
struct hooked_store {
  using hook = std::shared_ptr<std::function<void()>>;
  struct object final : blob {
    object(std::unique_ptr<blob> of, hook call) : base(std::move(of)), before_read(call) {}
    std::uint64_t size() const noexcept override { return base->size(); }
    using blob::read;
    result<void> read(std::uint64_t offset, mutable_bytes into) const override {
      if (*before_read) (*before_read)();
      return base->read(offset, into);
    }
    std::string name() const override { return base->name(); }

    std::unique_ptr<blob> base;
    hook before_read;
  };

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    ZARRPOINT_TRY(found, base.open(key));
    if (found == nullptr) return std::move(found);
    return std::unique_ptr<blob>(std::make_unique<object>(std::move(found), before_read));
  }
  std::string describe(const store_key& key) const { return base.describe(key); }

  memory_store base;
  hook before_read = std::make_shared<std::function<void()>>();
};

/// A device whose kernels know nothing of shuffled bytes.
struct no_unshuffle_space : fake_space {
  result<void> unshuffle(std::byte*, const std::byte*, std::size_t, std::size_t) const {
    return error{errc::unsupported, "no such kernel"};
  }
};
static_assert(kernel_space<no_unshuffle_space>);

/// A device whose kernels know nothing of byte orders.
struct no_swap_space : fake_space {
  result<void> swap_bytes(std::byte*, std::size_t, std::size_t) const {
    return error{errc::unsupported, "no such kernel"};
  }
};
static_assert(kernel_space<no_swap_space>);

std::vector<std::byte> bytes_of(const std::vector<std::int32_t>& values) {
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  return {first, first + values.size() * 4};
}

/// A dtype whose elements are any bytes, so that random ones are values.
dtype random_type(random_source& random) {
  constexpr dtype_kind kinds[] = {
      dtype_kind::uint8,   dtype_kind::int16,     dtype_kind::float32, dtype_kind::bfloat16,
      dtype_kind::float64, dtype_kind::complex64, dtype_kind::int32,   dtype_kind::float8_e5m2};
  return kinds[pick(random, std::size(kinds))];
}

array_metadata random_metadata(random_source& random, const dims& shape, dtype type) {
  dims inner = shape;
  dims shard = shape;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const auto extent = static_cast<std::size_t>(std::max<index_t>(shape[d], 1));
    inner[d] = static_cast<index_t>(1 + pick(random, extent + 2));
    shard[d] = inner[d] * static_cast<index_t>(1 + pick(random, 3));
  }
  const bool is_sharded = pick(random, 2) == 0;
  array_metadata out = raw_metadata(type, shape, is_sharded ? shard : inner);
  out.codecs = {bytes_spec(pick(random, 4) == 0 ? "big" : "little")};
  if (shape.rank() == 2 && pick(random, 4) == 0)
    out.codecs.insert(out.codecs.begin(), transpose_spec({1, 0}));
  if (pick(random, 2) == 0) out.codecs.push_back(zstd_spec());
  if (pick(random, 3) == 0) out.codecs.push_back(crc32c_spec());
  return is_sharded ? sharded_metadata(out, inner) : out;
}

selection random_selection(random_source& random, const dims& shape) {
  selection out(box::whole(shape));
  if (pick(random, 2) == 0) return out;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 0) continue;
    const auto extent = static_cast<std::size_t>(shape[d]);
    out.offset[d] = static_cast<index_t>(pick(random, extent));
    out.step[d] = pick(random, 3) == 0 ? static_cast<index_t>(1 + pick(random, 4)) : 1;
    const index_t most = (shape[d] - out.offset[d] - 1) / out.step[d] + 1;
    out.shape[d] = 1 + static_cast<index_t>(pick(random, static_cast<std::size_t>(most)));
  }
  return out;
}

array made_array(const any_store& store, const array_metadata& metadata, const host_view& values) {
  array out = array::create(store, key_of("a"), metadata, with_shuffle()).value();
  out.write(box::whole(metadata.shape), values).value();
  return out;
}

/// An array of 2 MiB of int32 in chunks of 32 KiB, and the tensor that it goes to.
struct large_case {
  static constexpr index_t rows = 512;
  static constexpr index_t columns = 1024;
  fake_device& device;
  array source;
  context how;

  explicit large_case(fake_device& on, std::size_t memory = SIZE_MAX,
                      const codec_spec& codec = crc32c_spec())
      : device(on), source([&] {
          const dims shape{rows, columns};
          array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {64, 128});
          metadata.codecs.push_back(codec);
          const std::vector<std::int32_t> values = counting(shape);
          return made_array(memory_store(), metadata, view_of(values, shape));
        }()) {
    how.limit.memory = memory;
    how = with_scratch(how);
  }
  mutable_tensor_view<fake_space> view(device_tensor<std::int32_t>& into) const {
    return {reinterpret_cast<std::byte*>(into.data()),
            dtype_kind::int32,
            {rows, columns},
            {columns * 4, 4},
            into.get_space(),
            into.ready()};
  }
  device_tensor<std::int32_t> target(std::size_t stream = 0) const {
    return {fake_space{&device, stream}, {512, 1024}};
  }
};

}  // namespace

TEST_CASE("any selection of any array goes to memory of any strides") {
  const thread_pool pool(3);
  std::uint64_t moves = 0;
  std::uint64_t casts = 0;
  std::uint64_t swaps = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    CAPTURE(seed);
    random_source random(static_cast<std::uint64_t>(seed));
    fake_device device(random());
    device.set_kernels(pick(random, 2) == 0);
    const fake_space space{&device, device.new_stream()};
    const dims shape = random_shape(random, 4, seed % 8 == 0 ? 90 : 12);
    if (byte_count(shape, 16).value() > (std::size_t{1} << 21)) continue;
    const dtype stored = random_type(random);
    const dtype wanted = pick(random, 3) == 0 ? random_type(random) : stored;

    const std::vector<std::byte> bytes =
        random_bytes(random, byte_count(shape, stored.size()).value());
    const array source = made_array(memory_store(), random_metadata(random, shape, stored),
                                    dense_view(bytes.data(), {stored, shape}));
    const selection part = random_selection(random, shape);
    context how;
    if (pick(random, 2) == 0) how.executor = pool.executor();
    // Slots of 64 KiB, one of them or more; chunks may be larger.
    if (pick(random, 2) == 0) how.limit.memory = std::size_t{8} << 20;
    how = with_scratch(how);
    const read_options options{.cast = true, .how = &how};
    tensor expected = tensor::make({wanted, part.shape}).value();
    source.read(part, expected.mutable_view(), options).value();

    const layout at = random_layout(random, part.shape, wanted.size());
    const device_block block(space, at.size);
    const mutable_tensor_view<fake_space> into{
        block.data + at.first, wanted, part.shape, at.strides, space, {}};
    detail::read_to_device(source, part, into, options).value();
    const auto count = device.count();

    const std::vector<std::byte> got = block.download();
    CHECK(elements_of({got.data() + at.first, wanted, part.shape, at.strides, {}, {}}) ==
          elements_of(expected.view()));
    // Only elements are written.
    std::vector<std::byte> rest = got;
    for_each_coordinate(part.shape, [&](const dims& i) {
      std::fill_n(rest.data() + at.first + offset_of(i, at.strides), wanted.size(),
                  fake_device::poison);
    });
    CHECK(std::all_of(rest.begin(), rest.end(),
                      [](std::byte b) { return b == fake_device::poison; }));
    moves += count.kernels.move;
    casts += count.kernels.cast;
    swaps += count.kernels.swap_bytes;
    CHECK(count.live_allocations == 1);
    CHECK(count.pageable_bytes == 0);
    how = {};
    CHECK(device.pinned_ranges() == 0);
  }
  CHECK(moves > 0);
  CHECK(casts > 0);
  CHECK(swaps > 0);
}

TEST_CASE("what is enqueued is not waited for, and one slot after the other is used") {
  fake_device device(1);
  const large_case large(device, std::size_t{8} << 20);
  const read_options options{.how = &large.how};
  device_tensor<std::int32_t> into = large.target(device.new_stream());
  detail::device_read<fake_space> operation(large.source, large.view(into), options);
  const auto last = operation.start(box::whole({512, 1024})).value();
  CHECK(device.due_operations() != 0);
  CHECK(device.copies() == 8);  // 2 MiB by slots of 256 KiB: the ring was used twice
  into.get_space().wait(last).value();
  CHECK(device.due_operations() == 0);
  CHECK(into.download() == counting({512, 1024}));
}

TEST_CASE("memory stays within the budget, whatever the size of the tensor") {
  const thread_pool pool(4);
  fake_device device(2);
  for (const bool has_pool : {false, true}) {
    large_case large(device, std::size_t{1} << 20, zstd_spec());
    if (has_pool) large.how.executor = pool.executor();
    device_tensor<std::int32_t> into = large.target();
    detail::read_to_device(large.source, box::whole({512, 1024}), large.view(into),
                           {.how = &large.how})
        .value();
    CHECK(large.how.scratch->budget().in_use() >= 128 * 1024);  // the ring stays
    CHECK(into.download() == counting({512, 1024}));
    CHECK(large.how.scratch->budget().peak() <= std::size_t{1} << 20);
  }
}

TEST_CASE("a chunk larger than a slot takes memory of its own") {
  fake_device device(3);
  const dims shape{300, 256};
  const std::vector<std::int32_t> values = counting(shape);
  for (const bool is_raw : {false, true}) {
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {200, 256});  // 200 KiB
    if (!is_raw) metadata.codecs.push_back(zstd_spec());
    const array source = made_array(memory_store(), metadata, view_of(values, shape));
    context how;
    how.limit.memory = std::size_t{1} << 20;  // two slots of 64 KiB
    how = with_scratch(how);
    device_tensor<std::int32_t> into(fake_space{&device}, {300, 256});
    const mutable_tensor_view<fake_space> view{reinterpret_cast<std::byte*>(into.data()),
                                               dtype_kind::int32,
                                               shape,
                                               {1024, 4},
                                               into.get_space(),
                                               {}};
    detail::read_to_device(source, box::whole(shape), view, {.how = &how}).value();
    CHECK(into.download() == values);
    // Raw ones are read by the slot.
    CHECK((how.scratch->budget().peak() < 200 * 1024) == is_raw);
  }
}

TEST_CASE("elements that are cast on the device travel in their stored type") {
  fake_device device(4);
  const dims shape{64, 64};
  const std::vector<std::int32_t> values = counting(shape);
  const array source = made_array(memory_store(), raw_metadata(dtype_kind::int32, shape, {16, 64}),
                                  view_of(values, shape));
  const std::size_t count = values.size();
  const auto bytes_for = [&](dtype type) {
    const device_block block({&device, 0}, count * type.size());
    const mutable_tensor_view<fake_space> view{
        block.data, type, shape, row_major_strides(shape, type.size()), block.space, {}};
    const std::uint64_t before = device.count().bytes_from_host;
    detail::read_to_device(source, box::whole(shape), view, {.cast = true}).value();
    return device.count().bytes_from_host - before;
  };
  CHECK(bytes_for(dtype_kind::float64) == count * 4);
  CHECK(bytes_for(dtype_kind::float32) == count * 4);
  CHECK(bytes_for(dtype_kind::int8) == count);  // smaller: the host casts
  device.set_kernels(false);
  CHECK(bytes_for(dtype_kind::float64) == count * 8);
}

TEST_CASE("any box of an array whose chunks differ in size") {
  const dims shape{70, 90};
  const std::vector<std::int32_t> values = counting(shape);
  for (int seed = 0; seed < rounds / 4; ++seed) {
    CAPTURE(seed);
    random_source random(static_cast<std::uint64_t>(seed));
    fake_device device(random());
    device.set_kernels(seed % 2 == 0);
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {30, 35});
    metadata.edges = {{{{30, 2}, {10, 1}}}, {{{20, 1}, {35, 2}}}};
    if (seed % 3 == 0) metadata.codecs.push_back(zstd_spec());
    if (seed % 5 == 0) metadata.codecs[0] = bytes_spec("big");
    const array source = made_array(memory_store(), metadata, view_of(values, shape));
    selection part = random_selection(random, shape);
    part.step = {1, 1};
    part.shape = {std::min(part.shape[0], shape[0] - part.offset[0]),
                  std::min(part.shape[1], shape[1] - part.offset[1])};
    context how;
    how.limit.memory = std::size_t{600} << 10;  // one slot
    how = with_scratch(how);
    std::vector<std::int32_t> expected(static_cast<std::size_t>(element_count(part.shape).value()));
    source.read(part, view_of(expected, part.shape)).value();
    device_tensor<std::int32_t> into(fake_space{&device}, {expected.size()});
    const mutable_tensor_view<fake_space> view{
        reinterpret_cast<std::byte*>(into.data()), dtype_kind::int32, part.shape,
        row_major_strides(part.shape, 4),          into.get_space(),  {}};
    detail::read_to_device(source, part, view, {.how = &how}).value();
    CHECK(into.download() == expected);
  }
}

TEST_CASE("bytes that no kernel can swap are swapped by the host") {
  fake_device device(9);
  const dims shape{64, 64};
  const std::vector<std::int32_t> values = counting(shape);
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {16, 64});
  metadata.codecs = {bytes_spec("big")};
  const array source = made_array(memory_store(), metadata, view_of(values, shape));
  const device_block block({&device, 0}, values.size() * 4);
  const mutable_tensor_view<no_swap_space> view{block.data, dtype_kind::int32, shape,
                                                {256, 4},   {{&device, 0}},    {}};
  std::uint64_t told = 0;
  context how;
  how.progress = [&](const progress_event& at) { told = at.bytes_done; };
  how = with_scratch(how);
  detail::read_to_device(source, box::whole(shape), view, {.how = &how}).value();
  CHECK(block.download() == bytes_of(values));
  CHECK(told == values.size() * 4);  // what is read again is not counted again
  mutable_tensor_view<no_swap_space> transposed = view;
  transposed.strides = {4, 256};
  detail::read_to_device(source, box::whole(shape), transposed, {.how = &how}).value();
  const std::vector<std::byte> got = block.download();
  CHECK(elements_of({got.data(), dtype_kind::int32, shape, {4, 256}, {}, {}}) ==
        elements_of(view_of(values, shape)));
}

TEST_CASE("a device swaps the bytes of what it moves or casts, too") {
  const dims shape{64, 64};
  const std::vector<std::int32_t> values = counting(shape);
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {16, 64});
  metadata.codecs = {bytes_spec("big")};
  const array source = made_array(memory_store(), metadata, view_of(values, shape));
  struct way {
    dtype type;
    dims strides;
    bool is_full;
  };
  const way ways[] = {
      {dtype_kind::int32, {4, 256}, false},   {dtype_kind::int32, {300, 4}, false},
      {dtype_kind::int32, {300, 4}, true},    {dtype_kind::float64, {512, 8}, false},
      {dtype_kind::float64, {8, 520}, false}, {dtype_kind::int16, {128, 2}, false}};
  for (const way& one : ways) {
    CAPTURE(to_string(one.strides));
    fake_device device(3, one.is_full ? 20'000 : std::size_t{1} << 20);
    const std::size_t bytes = one.is_full ? 19'200 : 40'000;
    const device_block block({&device, 0}, bytes);
    const mutable_tensor_view<fake_space> view{block.data,  one.type,    shape,
                                               one.strides, block.space, {}};
    const read_options options{.cast = true};
    detail::read_to_device(source, box::whole(shape), view, options).value();
    const auto count = device.count();
    const bool by_host = one.is_full || one.type == dtype(dtype_kind::int16);
    CHECK((count.kernels.swap_bytes == 0) == by_host);
    if (!one.is_full && one.type == dtype(dtype_kind::int32))
      CHECK(count.kernels.move == count.kernels.swap_bytes);
    CHECK(count.kernels.cast == (one.type == dtype(dtype_kind::float64) ? 1 : 0));
    tensor expected = tensor::make({one.type, shape}).value();
    source.read(box::whole(shape), expected.mutable_view(), options).value();
    const std::vector<std::byte> got = block.download();
    CHECK(elements_of({got.data(), one.type, shape, one.strides, {}, {}}) ==
          elements_of(expected.view()));
  }
}

TEST_CASE("pieces that are read at a time have a chunk for each thread") {
  // 8 MiB in 32 chunks of 256 KiB, four slots of 4 MiB: for 32 threads there are eight chunks in a
  // piece, where one thread reads two pieces for each slot.
  const dims shape{32, 65'536};
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {1, 65'536});
  metadata.codecs.push_back(zstd_spec());
  const std::vector<std::int32_t> values = counting(shape);
  const array source = made_array(memory_store(), metadata, view_of(values, shape));
  const auto copies = [&](unsigned threads) {
    const thread_pool pool(threads);
    fake_device device(10);
    context how;
    how.limit.memory = std::size_t{128} << 20;
    how.executor = pool.executor();
    how = with_scratch(how);
    device_tensor<std::int32_t> into(fake_space{&device}, {values.size()});
    const mutable_tensor_view<fake_space> view{reinterpret_cast<std::byte*>(into.data()),
                                               dtype_kind::int32,
                                               shape,
                                               row_major_strides(shape, 4),
                                               into.get_space(),
                                               {}};
    detail::read_to_device(source, box::whole(shape), view, {.how = &how}).value();
    const std::uint64_t out = device.copies();
    CHECK(into.download() == values);
    return out;
  };
  CHECK(copies(1) == 8);
  CHECK(copies(32) == 4);
}

TEST_CASE("planes of bytes become elements on the device, whatever is asked for of them") {
  const thread_pool pool(3);
  kernel_counts all;
  for (int seed = 0; seed < rounds / 4; ++seed) {
    CAPTURE(seed);
    random_source random(static_cast<std::uint64_t>(seed));
    fake_device device(random());
    device.set_kernels(seed % 5 != 0);
    const fake_space space{&device, device.new_stream()};
    constexpr dtype_kind kinds[] = {dtype_kind::int16, dtype_kind::float32, dtype_kind::bfloat16,
                                    dtype_kind::float64, dtype_kind::complex64};
    const dtype stored = kinds[pick(random, std::size(kinds))];
    const dtype wanted = pick(random, 4) == 0 ? dtype(dtype_kind::complex128) : stored;
    const auto some = [&](std::size_t most) {
      return static_cast<index_t>(1 + pick(random, most));
    };
    // Chunks of 64 KiB or a little more; those at the end of an axis are cut off.
    const index_t row = (index_t{64} << 10) / static_cast<index_t>(stored.size()) / 16;
    const dims inner{16, row + some(3)};
    const dims shape{16 * some(6) - some(4) + 1, inner[1] * some(3) - some(9) + 1};
    const dims shard{inner[0] * some(3), inner[1] * some(2)};
    const bool is_sharded = pick(random, 2) == 0;
    array_metadata metadata = raw_metadata(stored, shape, is_sharded ? shard : inner);
    // A shuffle of parts of elements is one, too.
    const auto width = static_cast<index_t>(pick(random, 4) == 0 ? 2 : stored.size());
    metadata.codecs = {bytes_spec(pick(random, 3) == 0 ? "big" : "little"), shuffle_spec(width)};
    if (pick(random, 2) == 0) metadata.codecs.push_back(zstd_spec());
    if (pick(random, 3) == 0) metadata.codecs.push_back(crc32c_spec());
    if (is_sharded) metadata = sharded_metadata(metadata, inner);

    const std::vector<std::byte> bytes =
        random_bytes(random, byte_count(shape, stored.size()).value());
    const recording_store store;
    const array source = made_array(store, metadata, dense_view(bytes.data(), {stored, shape}));
    if (pick(random, 3) == 0) store->objects.erase("a/c/0/0");  // there is the fill value
    selection part(box::whole(shape));
    if (pick(random, 3) == 0) part = random_selection(random, shape);
    if (pick(random, 3) == 0) {  // a little less than all
      part.offset = {some(3), some(3)};
      part.step = {1, 1};
      part.shape = {std::max<index_t>(shape[0] - 6, 1), std::max<index_t>(shape[1] - 20, 1)};
      part.offset[0] = std::min(part.offset[0], shape[0] - part.shape[0]);
      part.offset[1] = std::min(part.offset[1], shape[1] - part.shape[1]);
    }
    context how = with_shuffle();
    if (pick(random, 2) == 0) how.executor = pool.executor();
    if (pick(random, 2) == 0) how.limit.memory = std::size_t{8} << 20;  // slots of 256 KiB
    std::uint64_t told = 0;
    how.progress = [&](const progress_event& at) { told = at.bytes_done; };
    how = with_scratch(how);
    const read_options options{.cast = true, .how = &how};
    tensor expected = tensor::make({wanted, part.shape}).value();
    source.read(part, expected.mutable_view(), options).value();

    const layout at = pick(random, 2) == 0 ? random_layout(random, part.shape, wanted.size())
                                           : layout{row_major_strides(part.shape, wanted.size()), 0,
                                                    byte_count(part.shape, wanted.size()).value()};
    const device_block block(space, at.size);
    const mutable_tensor_view<fake_space> into{
        block.data + at.first, wanted, part.shape, at.strides, space, {}};
    detail::read_to_device(source, part, into, options).value();
    const auto count = device.count();
    const std::vector<std::byte> got = block.download();
    CHECK(dense_bytes_of({got.data() + at.first, wanted, part.shape, at.strides, {}, {}}) ==
          dense_bytes_of(expected.view()));
    CHECK(told == byte_count(part.shape, stored.size()).value());
    if (seed % 5 == 0) CHECK(count.kernels.unshuffle == 0);
    all.unshuffle += count.kernels.unshuffle;
    all.swap_bytes += count.kernels.swap_bytes;
    all.cast += count.kernels.cast;
    all.move += count.kernels.move;
    CHECK(count.live_allocations == 1);
  }
  CHECK(all.unshuffle > 0);
  CHECK(all.swap_bytes > 0);
  CHECK(all.cast > 0);
  CHECK(all.move > 0);
}

TEST_CASE(
    "one kernel for each chunk that is large and wanted, without a move where it lies dense") {
  const dims shape{40, 4096};
  const std::vector<std::int32_t> values = counting(shape);
  const auto kernels_for = [&](const array_metadata& metadata, const selection& part,
                               std::size_t memory = SIZE_MAX) {
    const array source = made_array(memory_store(), metadata, view_of(values, shape));
    fake_device device(4);
    context how = with_shuffle();
    how.limit.memory = memory;
    how = with_scratch(how);
    std::vector<std::int32_t> expected(static_cast<std::size_t>(element_count(part.shape).value()));
    source.read(part, view_of(expected, part.shape)).value();
    const device_block block({&device, 0}, expected.size() * 4);
    const mutable_tensor_view<fake_space> view{block.data,  dtype_kind::int32,
                                               part.shape,  row_major_strides(part.shape, 4),
                                               block.space, {}};
    detail::read_to_device(source, part, view, {.how = &how}).value();
    CHECK(block.download() == bytes_of(expected));
    const auto count = device.count().kernels;
    return std::pair{count.unshuffle, count.move};
  };
  using kernels = std::pair<std::uint64_t, std::uint64_t>;
  const selection all(box::whole(shape));
  const array_metadata rows = shuffled_metadata(shape, {8, 4096});
  CHECK(kernels_for(rows, all) == kernels{5, 0});
  CHECK(kernels_for(sharded_metadata(shuffled_metadata(shape, {24, 4096}), {4, 4096}), all) ==
        kernels{10, 0});
  CHECK(kernels_for(shuffled_metadata(shape, {10, 2048}), all) == kernels{8, 8});
  CHECK(kernels_for(rows, box{{16, 0}, {24, 4096}}) == kernels{3, 0});
  CHECK(kernels_for(rows, box{{2, 0}, {38, 4096}}) == kernels{5, 1});
  CHECK(kernels_for(shuffled_metadata(shape, {9, 4096}), all) == kernels{5, 1});  // past the edge
  // What the host does: little of a chunk, every other row, small chunks, ones larger than a slot.
  CHECK(kernels_for(rows, box{{7, 0}, {2, 4096}}).first == 0);
  CHECK(kernels_for(rows, selection({0, 0}, {20, 4096}, {2, 1})).first == 0);
  CHECK(kernels_for(shuffled_metadata(shape, {1, 4096}), all).first == 0);
  CHECK(kernels_for(rows, all, std::size_t{3} << 20).first == 0);
}

TEST_CASE("planes that no kernel knows, or that a full device has no room for, are the host's") {
  const dims shape{64, 1024};
  const std::vector<std::int32_t> values = counting(shape);
  array_metadata metadata = shuffled_metadata(shape, {16, 1024});
  metadata.codecs.push_back(zstd_spec());
  const array source = made_array(memory_store(), metadata, view_of(values, shape));
  for (const bool is_full : {false, true}) {
    fake_device device(9, is_full ? std::size_t{300} << 10 : std::size_t{4} << 20);
    const device_block block({&device, 0}, values.size() * 4);
    std::uint64_t told = 0;
    context how = with_shuffle();
    how.progress = [&](const progress_event& at) { told = at.bytes_done; };
    how = with_scratch(how);
    const auto read = [&](const auto& space) {
      const mutable_tensor_view<std::decay_t<decltype(space)>> view{
          block.data, dtype_kind::int32, shape, {4096, 4}, space, {}};
      detail::read_to_device(source, box::whole(shape), view, {.how = &how}).value();
    };
    if (is_full) {
      read(fake_space{&device, 0});
    } else {
      read(no_unshuffle_space{{&device, 0}});
    }
    CHECK(block.download() == bytes_of(values));
    CHECK(device.count().kernels.unshuffle == 0);
    CHECK(device.count().live_allocations == 1);
    CHECK(told == values.size() * 4);
  }
}

TEST_CASE("planes are verified on the host, and a damaged chunk is named") {
  const dims shape{64, 1024};
  const std::vector<std::int32_t> values = counting(shape);
  const array_metadata metadata =
      sharded_metadata(shuffled_metadata(shape, {32, 1024}), {16, 1024});
  const recording_store store;
  auto digests = std::make_shared<chunk_digests>();
  const array source = array::create(store, key_of("a"), metadata, with_shuffle()).value();
  source.write(box::whole(shape), view_of(values, shape), {.collected = digests.get()}).value();
  const auto load = [&] {
    fake_device device(7);
    const device_block block({&device, 0}, values.size() * 4);
    const mutable_tensor_view<fake_space> view{block.data, dtype_kind::int32, shape,
                                               {4096, 4},  block.space,       {}};
    const result<void> done =
        detail::read_to_device(source.expecting(digests), box::whole(shape), view);
    if (done) CHECK(block.download() == bytes_of(values));
    CHECK(device.due_operations() == 0);
    if (done) CHECK(device.count().kernels.unshuffle == 4);
    return done;
  };
  CHECK(load());
  recording_store::bytes damaged = store.at("a/c/1/0");
  damaged[70'000] ^= std::byte{1};
  store.set("a/c/1/0", std::move(damaged));
  const result<void> refused = load();
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::corrupt);
  CHECK(refused.failure().message.find("array memory:a: chunk c/1/0: inner chunk [1, 0]") !=
        std::string::npos);
}

TEST_CASE("the index of a shard is read once, however many pieces it is read in") {
  const thread_pool pool(3);
  const dims shape{64, 4096};
  const std::vector<std::int32_t> values = counting(shape);
  for (const bool is_shuffled : {false, true}) {
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {32, 4096});
    if (is_shuffled) metadata.codecs.push_back(shuffle_spec(4));
    metadata.codecs.push_back(crc32c_spec());
    metadata = sharded_metadata(metadata, {4, 4096});  // 16 inner chunks of 64 KiB
    const recording_store store;
    const array source = made_array(store, metadata, view_of(values, shape));
    for (const bool has_pool : {false, true}) {
      fake_device device(11);
      context how = with_shuffle();
      how.limit.memory = std::size_t{4} << 20;  // slots of 128 KiB
      if (has_pool) how.executor = pool.executor();
      how = with_scratch(how);
      const device_block block({&device, 0}, values.size() * 4);
      const mutable_tensor_view<fake_space> view{block.data,  dtype_kind::int32, shape,
                                                 {16'384, 4}, block.space,       {}};
      const auto before = store->reads.load();
      detail::read_to_device(source, box::whole(shape), view, {.how = &how}).value();
      CHECK(store->reads - before == 16 + 2);
      CHECK(device.copies() >= 8);
      CHECK(block.download() == bytes_of(values));
      CHECK(device.count().kernels.unshuffle == (is_shuffled ? 16 : 0));
    }
  }
}

TEST_CASE("a shard that is published anew while it is read is read as it was, the next time anew") {
  const dims shape{64, 1024};
  array_metadata metadata = raw_metadata(dtype_kind::int32, shape, shape);
  metadata.codecs.push_back(zstd_spec());
  metadata = sharded_metadata(metadata, {4, 1024});
  // Shards of one size: chunks that do not compress, at places that differ.
  std::mt19937 random(1);
  std::vector<std::int32_t> noise(4096);
  std::vector<std::int32_t> before(65'536, 0);
  std::vector<std::int32_t> after(65'536, 0);
  for (std::ptrdiff_t i = 0; i < 16; i += 2) {
    std::generate(noise.begin(), noise.end(), [&] { return static_cast<std::int32_t>(random()); });
    std::copy(noise.begin(), noise.end(), before.begin() + i * 4096);
    std::copy(noise.begin(), noise.end(), after.begin() + (14 - i + 1) * 4096);
  }
  const hooked_store store;
  const array writer = array::create(store.base, key_of("a"), metadata).value();
  writer.write(box::whole(shape), view_of(before, shape)).value();
  const array source = array::open(store, key_of("a")).value();
  int reads = 0;
  *store.before_read = [&] {
    if (++reads == 3) writer.write(box::whole(shape), view_of(after, shape)).value();
  };
  fake_device device(3);
  context how;
  how.limit.memory = std::size_t{1} << 20;  // small slots: many pieces
  how = with_scratch(how);
  const device_block block({&device, 0}, before.size() * 4);
  const mutable_tensor_view<fake_space> view{block.data, dtype_kind::int32, shape,
                                             {4096, 4},  block.space,       {}};
  detail::device_read<fake_space> operation(source, view, {.how = &how});
  for (const auto* expected : {&before, &after}) {
    block.space.wait(operation.start(box::whole(shape)).value()).value();
    CHECK(block.download() == bytes_of(*expected));
  }
  CHECK(reads > 3);
}

TEST_CASE("planes that a full device has no room for come in pieces that fit slots") {
  const dims shape{32, 32'768};
  array_metadata metadata = raw_metadata(dtype_kind::int16, shape, {1, 32'768});  // 64 KiB
  metadata.codecs.push_back(shuffle_spec(2));
  std::vector<std::int16_t> values(32 * 32'768);
  std::iota(values.begin(), values.end(), std::int16_t{0});
  const host_view stored =
      dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_kind::int16, shape});
  const array source = made_array(memory_store(), metadata, stored);
  const std::size_t bytes = values.size() * 16;
  fake_device device(5, bytes + (std::size_t{1} << 20));
  const device_block block({&device, 0}, bytes);
  context how = with_shuffle();
  how.limit.memory = std::size_t{64} << 20;  // slots of 2 MiB
  how = with_scratch(how);
  const mutable_tensor_view<fake_space> view{
      block.data, dtype_kind::complex128, shape, {16 * 32'768, 16}, block.space, {}};
  detail::read_to_device(source, box::whole(shape), view, {.cast = true, .how = &how}).value();
  CHECK(device.count().kernels.unshuffle == 0);
  CHECK(how.scratch->budget().peak() <= std::size_t{10} << 20);
  std::vector<std::byte> expected(bytes);
  detail::cast_elements(dense_view(expected.data(), {dtype_kind::complex128, shape}), stored)
      .value();
  CHECK((block.download() == expected));
}

TEST_CASE("zero in every element, and in nothing between them") {
  fake_device device(5);
  const large_case large(device);
  for (const bool has_kernels : {false, true}) {
    device.set_kernels(has_kernels);
    for (const index_t gap : {index_t{0}, index_t{3}}) {
      const dims strides{4, 8 * (4 + gap)};
      const device_block block({&device, 0}, static_cast<std::size_t>(8 * (4 + gap) * 6));
      const mutable_tensor_view<fake_space> view{block.data, dtype_kind::int32, {8, 6},
                                                 strides,    block.space,       {}};
      detail::device_read<fake_space> operation(large.source, view, {.how = &large.how});
      block.space.wait(operation.start_zero().value()).value();
      const std::vector<std::byte> got = block.download();
      CHECK(elements_of({got.data(), dtype_kind::int32, {8, 6}, strides, {}, {}}) ==
            std::vector<std::string>(48, std::string(4, '\0')));
      CHECK(std::count(got.begin(), got.end(), fake_device::poison) == 8 * gap * 6);
    }
  }
}

TEST_CASE("each fault at each call is a named error, and nothing is left behind") {
  struct way {
    bool kernels;
    bool transposed;
    bool casts;
    bool big_endian;
    bool shuffled = false;
  };
  for (const way& one :
       {way{false, false, false, false}, way{false, true, false, false},
        way{true, true, false, false}, way{true, false, true, false}, way{true, false, false, true},
        way{true, true, false, true}, way{true, false, true, true},
        way{true, false, false, false, true}, way{true, true, true, true, true}}) {
    for (const device_fault fault : device_faults) {
      int failures = 0;
      for (std::uint64_t at = 0;; ++at) {
        CAPTURE(at);
        CAPTURE(to_string(fault));
        fake_device device(at);
        device.set_kernels(one.kernels);
        const fake_space space{&device, device.new_stream()};
        const dims shape{256, 128};
        const std::vector<std::int32_t> values = counting(shape);
        array_metadata metadata =
            raw_metadata(dtype_kind::int32, shape, {one.shuffled ? 128 : 32, 128});
        metadata.codecs = {bytes_spec(one.big_endian ? "big" : "little")};
        if (one.shuffled) metadata.codecs.push_back(shuffle_spec(4));
        const array source = made_array(memory_store(), metadata, view_of(values, shape));
        context how;
        how.limit.memory = std::size_t{600} << 10;  // one slot
        how = with_scratch(how);
        const dtype type = one.casts ? dtype_kind::float64 : dtype_kind::int32;
        const auto size = static_cast<index_t>(type.size());
        {
          const device_block block(space, values.size() * type.size());
          const dims strides = one.transposed ? dims{size, 256 * size} : dims{128 * size, size};
          const mutable_tensor_view<fake_space> into{block.data, type, shape, strides, space, {}};
          device.arm(fault, at);
          const result<void> done =
              detail::read_to_device(source, box::whole(shape), into, {.cast = true, .how = &how});
          const bool fired = device.fired();
          if (!done) {
            ++failures;
            CHECK(fired);
            CHECK(done.failure().code == errc::device);
            CHECK(done.failure().message.find("array memory:a") != std::string::npos);
            CHECK(done.failure().message.find("fake:0") != std::string::npos);
          }
          const auto count = device.count();
          CHECK(count.live_allocations == 1);
          CHECK(count.due_operations == 0);
          if (fault == device_fault::allocation || fault == device_fault::pin) CHECK(done);
          device.recover();
          if (done) {
            const std::vector<std::byte> got = block.download();
            std::vector<std::byte> expected(values.size() * type.size());
            source
                .read(box::whole(shape), dense_view(expected.data(), {type, shape}), {.cast = true})
                .value();
            CHECK(elements_of({got.data(), type, shape, strides, {}, {}}) ==
                  elements_of(dense_view(expected.data(), {type, shape})));
          }
          if (!fired) break;
        }
        how = {};
        CHECK(device.pinned_ranges() == 0);
        CHECK(device.live_allocations() == 0);
      }
      if (fault != device_fault::allocation && fault != device_fault::pin) CHECK(failures > 0);
    }
  }
}

TEST_CASE("what cannot be read is refused before anything is asked of the device") {
  fake_device device(6);
  const large_case large(device);
  const read_options options{.how = &large.how};
  const device_block block({&device, 0}, 1 << 20);
  const auto refused = [&](dtype type, const dims& shape, const dims& strides,
                           std::byte* data = nullptr) {
    const mutable_tensor_view<fake_space> into{
        data == nullptr ? block.data : data, type, shape, strides, block.space, {}};
    const selection part(box{dims(shape.rank(), 0), shape});
    const result<void> done = detail::read_to_device(large.source, part, into, options);
    REQUIRE_FALSE(done);
    CHECK(done.failure().message.find("array memory:a") != std::string::npos);
    CHECK(device.copies() == 0);
    return done.failure().code;
  };
  CHECK(refused(dtype_kind::float32, {4, 4}, {16, 4}) == errc::dtype_mismatch);
  CHECK(refused(dtype_kind::string, {4, 4}, {128, 32}) == errc::unsupported);
  CHECK(refused(dtype_kind::int32, {4}, {4}) == errc::invalid_argument);
  CHECK(refused(dtype_kind::int32, {4, 2000}, {8000, 4}) == errc::out_of_range);
  CHECK(refused(dtype_kind::int32, {4, 4}, {0, 4}) == errc::invalid_argument);
  CHECK(refused(dtype_kind::int32, {512, 1024}, {4096, 4}) == errc::invalid_argument);  // too small
  std::byte host[64];
  CHECK(refused(dtype_kind::int32, {4, 4}, {16, 4}, host) == errc::invalid_argument);
}

TEST_CASE("a damaged chunk is named, and its neighbours' copies are waited for") {
  for (const unsigned threads : {1U, 4U}) {
    const thread_pool pool(threads);
    fake_device device(7);
    const recording_store store;
    const dims shape{512, 1024};
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {64, 128});
    metadata.codecs.push_back(crc32c_spec());
    const std::vector<std::int32_t> values = counting(shape);
    const array source = made_array(store, metadata, view_of(values, shape));
    recording_store::bytes damaged = store.at("a/c/5/3");
    damaged[100] ^= std::byte{1};
    store.set("a/c/5/3", std::move(damaged));
    context how;
    how.limit.memory = std::size_t{4} << 20;
    how.executor = pool.executor();
    how = with_scratch(how);
    device_tensor<std::int32_t> into(fake_space{&device}, {512, 1024});
    const mutable_tensor_view<fake_space> view{reinterpret_cast<std::byte*>(into.data()),
                                               dtype_kind::int32,
                                               shape,
                                               {4096, 4},
                                               into.get_space(),
                                               {}};
    const result<void> done =
        detail::read_to_device(source, box::whole(shape), view, {.how = &how});
    REQUIRE_FALSE(done);
    CHECK(done.failure().code == errc::corrupt);
    CHECK(done.failure().message.find("chunk c/5/3") != std::string::npos);
    CHECK(device.due_operations() == 0);
  }
}

TEST_CASE("many reads share one ring of one slot without waiting for each other for ever") {
  const thread_pool pool(4);
  fake_device device(8);
  large_case large(device, std::size_t{600} << 10, zstd_spec());
  large.how.executor = pool.executor();
  std::vector<device_tensor<std::int32_t>> targets;
  targets.reserve(6);
  for (int i = 0; i < 6; ++i) targets.push_back(large.target(device.new_stream()));
  parallel_for(pool.executor(), targets.size(), [&](std::size_t i) {
    return detail::read_to_device(large.source, box::whole({512, 1024}), large.view(targets[i]),
                                  {.how = &large.how});
  }).value();
  for (const auto& target : targets) CHECK(target.download() == counting({512, 1024}));
  CHECK(large.how.scratch->budget().peak() <= std::size_t{600} << 10);
}

}  // namespace device_read_test
