// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"
#include "support/fake_device.hpp"
#include "support/phase_recorder.hpp"
#include "support/random_layout.hpp"
#include "support/recording_store.hpp"
#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace device_frames_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

#if defined(ZARRPOINT_TEST_SANITIZED)
constexpr int rounds = 10;
#else
constexpr int rounds = 40;
#endif

codec_spec blosc_spec(dtype type, const char* compressor = "zstd") {
  const auto size = static_cast<index_t>(type.scalar_size());
  return {"blosc", json::object{{"cname", compressor},
                                {"clevel", 1},
                                {"shuffle", "shuffle"},
                                {"typesize", size},
                                {"blocksize", 0}}};
}

/// Elements as weights have them: their bytes make Huffman streams.
tensor weights(dtype type, const dims& shape, random_source& random) {
  std::normal_distribution<float> values(0, 0.02F);
  std::vector<float> made(static_cast<std::size_t>(element_count(shape).value()));
  for (float& one : made) one = values(random);
  tensor out = tensor::make({type, shape}).value();
  detail::cast_elements(out.mutable_view(), view_of(made, shape)).value();
  return out;
}

array_metadata frames_metadata(dtype type, const dims& shape, const dims& chunk_shape) {
  array_metadata out = raw_metadata(type, shape, chunk_shape);
  out.codecs.push_back(blosc_spec(type));
  return out;
}

array made_array(const any_store& store, const array_metadata& metadata, const host_view& values,
                 chunk_digests* digests = nullptr) {
  array out = array::create(store, key_of("a"), metadata).value();
  out.write(box::whole(metadata.shape), values, {.collected = digests}).value();
  return out;
}

/// Memory of a fake device that elements of any strides are read to.
struct target {
  fake_space space;
  dtype type;
  dims shape;
  layout places;
  std::byte* data;

  target(const fake_space& where, dtype of, const dims& extents)
      : target(where, of, extents,
               layout{row_major_strides(extents, of.size()), 0,
                      byte_count(extents, of.size()).value()}) {}
  target(const fake_space& where, dtype of, const dims& extents, layout at)
      : space(where),
        type(of),
        shape(extents),
        places(std::move(at)),
        data(where.owner->allocate(places.size)) {}
  target(const target&) = delete;
  ~target() { space.owner->free(data, space.stream); }

  template <class Space = fake_space>
  mutable_tensor_view<Space> view() const {
    return {data + places.first, type, shape, places.strides, Space{space}, {}};
  }
  std::vector<std::byte> download() const {
    std::vector<std::byte> out(places.size);
    space.copy_to_host(out.data(), data, {.width = out.size()}).value();
    detail::wait_for_stream(space).value();
    return dense_bytes_of({out.data() + places.first, type, shape, places.strides, {}, {}});
  }
};

/// A tensor of 2 MiB of bfloat16 in shards of chunks of 128 KiB.
struct one_case {
  static constexpr dtype_kind type = dtype_kind::bfloat16;
  const dims shape{1024, 1024};
  recording_store store;
  std::shared_ptr<chunk_digests> digests = std::make_shared<chunk_digests>();
  tensor values;
  array source;

  explicit one_case(const std::vector<codec_spec>& behind = {})
      : values([&] {
          random_source random(3);
          return weights(type, shape, random);
        }()),
        source([&] {
          array_metadata metadata = frames_metadata(type, shape, {512, 1024});
          metadata.codecs.insert(metadata.codecs.end(), behind.begin(), behind.end());
          return made_array(store, sharded_metadata(metadata, {64, 1024}), values.view(),
                            digests.get());
        }()) {}
  /// Changes a byte of what is stored of a chunk.
  void damage(const char* key, std::size_t at) {
    recording_store::bytes damaged = store.at(key);
    damaged[at] ^= std::byte{0x55};
    store.set(key, std::move(damaged));
  }
};

/// A device whose kernels know no frames.
struct no_decoder_space : fake_space {
  result<void> decode_literals(const device_literals*, std::size_t, std::byte*) const {
    return error{errc::unsupported, "no such kernel"};
  }
};
static_assert(kernel_space<no_decoder_space>);

/// A device whose kernel for checksums is not what it should be.
struct odd_checksum_space : fake_space {
  enum kind { none, silent, forgetful, repeats, counts };
  static inline kind is = none;

  result<odd_checksum_space> lane(std::size_t i) const {
    ZARRPOINT_TRY(own, fake_space::lane(i));
    return odd_checksum_space{own};
  }
  result<void> compare_crc32c(const device_checksum* table, std::size_t count,
                              std::byte* marks) const {
    if (is == none) return error{errc::unsupported, "no such kernel"};
    if (is == silent) return {};
    if (is == counts) return fill(marks, std::byte{1}, 8);
    if (is == repeats) ZARRPOINT_CHECK(fake_space::compare_crc32c(table, 1, marks));
    return fake_space::compare_crc32c(table, count - 1, marks);
  }
};
static_assert(kernel_space<odd_checksum_space> && forking_space<odd_checksum_space>);

/// A device whose kernels find all streams damaged, after a function was called.
struct doubtful_space : fake_space {
  static inline std::function<void()> before;

  result<doubtful_space> lane(std::size_t i) const {
    ZARRPOINT_TRY(own, fake_space::lane(i));
    return doubtful_space{own};
  }
  result<void> decode_literals(const device_literals* table, std::size_t count,
                               std::byte* failed) const {
    before();
    ZARRPOINT_CHECK(fake_space::decode_literals(table, count, failed));
    return fill(failed, std::byte{1}, 4);
  }
};
static_assert(kernel_space<doubtful_space> && forking_space<doubtful_space>);

}  // namespace

TEST_CASE("frames become elements on the device, whatever is asked for of them") {
  const thread_pool pool(3);
  kernel_counts all;
  for (int seed = 0; seed < rounds; ++seed) {
    CAPTURE(seed);
    random_source random(static_cast<std::uint64_t>(seed));
    fake_device device(random());
    device.set_kernels(seed % 8 != 7);
    const fake_space space{&device, device.new_stream()};
    constexpr dtype_kind kinds[] = {dtype_kind::bfloat16, dtype_kind::float32,
                                    dtype_kind::float64,  dtype_kind::float8_e4m3fn,
                                    dtype_kind::float16,  dtype_kind::complex64};
    const dtype stored = kinds[pick(random, std::size(kinds))];
    const dtype wanted = pick(random, 4) == 0 ? dtype(dtype_kind::complex128) : stored;
    const auto some = [&](std::size_t most) {
      return static_cast<index_t>(1 + pick(random, most));
    };
    const index_t row = (index_t{64} << 10) / static_cast<index_t>(stored.size()) / 16;
    const dims inner{16, row + some(3)};
    const dims shape{16 * some(4) - some(4) + 1, inner[1] * some(3) - some(9) + 1};
    const dims shard{inner[0] * some(3), inner[1] * some(2)};
    const bool is_sharded = pick(random, 2) == 0;
    array_metadata metadata = frames_metadata(stored, shape, is_sharded ? shard : inner);
    if (pick(random, 2) == 0) metadata.codecs.push_back(crc32c_spec());
    if (is_sharded) metadata = sharded_metadata(metadata, inner);

    const tensor values = weights(stored, shape, random);
    const recording_store store;
    const auto digests = std::make_shared<chunk_digests>();
    array source = made_array(store, metadata, values.view(), digests.get());
    if (pick(random, 3) == 0) {
      store->objects.erase("a/c/0/0");  // there is the fill value
    } else if (pick(random, 2) == 0) {
      source = source.expecting(digests);
    }
    selection part(box::whole(shape));
    if (pick(random, 3) == 0) {  // a little less than all
      part.offset = {some(3), some(3)};
      part.shape = {std::max<index_t>(shape[0] - 6, 1), std::max<index_t>(shape[1] - 20, 1)};
      part.offset[0] = std::min(part.offset[0], shape[0] - part.shape[0]);
      part.offset[1] = std::min(part.offset[1], shape[1] - part.shape[1]);
    }
    context how;
    if (pick(random, 2) == 0) how.executor = pool.executor();
    if (pick(random, 2) == 0) how.limit.memory = std::size_t{8} << 20;  // slots of 256 KiB
    std::uint64_t told = 0;
    how.progress = [&](const progress_event& at) { told = at.bytes_done; };
    how = with_scratch(how);
    const read_options options{.device_verify = pick(random, 2) == 0, .cast = true, .how = &how};
    tensor expected = tensor::make({wanted, part.shape}).value();
    source.read(part, expected.mutable_view(), options).value();

    const target into(space, wanted, part.shape,
                      pick(random, 2) == 0 ? random_layout(random, part.shape, wanted.size())
                                           : layout{row_major_strides(part.shape, wanted.size()), 0,
                                                    byte_count(part.shape, wanted.size()).value()});
    detail::read_to_device(source, part, into.view(), options).value();
    const auto count = device.count();
    CHECK(into.download() == dense_bytes_of(expected.view()));
    CHECK(told == byte_count(part.shape, stored.size()).value());
    if (seed % 8 == 7) CHECK(count.kernels.join_planes == 0);
    if (!options.device_verify) CHECK(count.kernels.compare_crc32c == 0);
    all.compare_crc32c += count.kernels.compare_crc32c;
    all.decode_literals += count.kernels.decode_literals;
    all.join_planes += count.kernels.join_planes;
    all.cast += count.kernels.cast;
    all.move += count.kernels.move;
    CHECK(count.live_allocations == 1);
    CHECK(count.due_operations == 0);
  }
  CHECK(all.compare_crc32c > 0);
  CHECK(all.decode_literals > 0);
  CHECK(all.join_planes > 0);
  CHECK(all.cast > 0);
  CHECK(all.move > 0);
}

TEST_CASE("stored bytes go to the device as they are, many chunks by one kernel") {
  one_case of({crc32c_spec()});
  fake_device device(1);
  const target into({&device, 0}, of.type, of.shape);
  context how;
  how.executor = {};
  how = with_scratch(how);
  detail::read_to_device(of.source, box::whole(of.shape), into.view(), {.how = &how}).value();
  const auto count = device.count();
  CHECK(into.download() == dense_bytes_of(of.values.view()));
  CHECK(count.kernels.decode_literals == 1);
  CHECK(count.kernels.join_planes == 1);
  CHECK(count.kernels.move == 0);
  CHECK(count.bytes_from_host < (std::uint64_t{2} << 20) * 3 / 4);
  CHECK(count.pageable_bytes == 16);  // whether a kernel found damage
}

TEST_CASE("stored bytes are verified on the host, and a damaged chunk is named") {
  for (const bool has_trailer : {false, true}) {
    one_case of(has_trailer ? std::vector<codec_spec>{crc32c_spec()} : std::vector<codec_spec>{});
    fake_device device(7);
    const target into({&device, 0}, of.type, of.shape);
    const auto load = [&](const read_options& options = {}) {
      return detail::read_to_device(of.source.expecting(of.digests), box::whole(of.shape),
                                    into.view(), options);
    };
    CHECK(load());
    of.damage("a/c/1/0", 70'000);
    for (const bool checksums : {true, false}) {
      if (!checksums && !has_trailer) continue;
      const result<void> refused = load({.checksums = checksums});
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == errc::corrupt);
      CHECK(refused.failure().message.find("chunk c/1/0: inner chunk [0, 0]: ") !=
            std::string::npos);
      std::vector<std::byte> host(byte_count(of.shape, 2).value());
      const result<void> hosts =
          of.source.expecting(of.digests)
              .read(box::whole(of.shape), dense_view(host.data(), {of.type, of.shape}),
                    {.checksums = checksums});
      CHECK(refused.failure().message == hosts.failure().message);
      CHECK(device.due_operations() == 0);
    }
  }
}

TEST_CASE("checksums compared on the device: damage anywhere has the host's error") {
  std::size_t compared = 0;
  for (const bool has_trailer : {false, true}) {
    for (const bool checksums : {true, false}) {
      if (!checksums && !has_trailer) continue;
      CAPTURE(has_trailer);
      CAPTURE(checksums);
      one_case of(has_trailer ? std::vector<codec_spec>{crc32c_spec()} : std::vector<codec_spec>{});
      const array source = of.source.expecting(of.digests);
      fake_device device(7);
      const target into({&device, 0}, of.type, of.shape);
      context how;
      how.executor = {};
      how = with_scratch(how);
      const read_options options{.checksums = checksums, .device_verify = true, .how = &how};
      const auto load = [&] {
        return detail::read_to_device(source, box::whole(of.shape), into.view(), options);
      };
      test::phase_recorder seen;
      how.observer = &seen;
      load().value();
      CHECK(into.download() == dense_bytes_of(of.values.view()));
      CHECK(device.count().kernels.compare_crc32c == 1);
      CHECK(device.count().bytes_from_host < (std::uint64_t{2} << 20) * 3 / 4);
      CHECK(seen.of(phase::verify).events == 0);  // by the host
      how.observer = nullptr;
      // Headers, streams, raw planes and the checksum itself, of the first chunk and others.
      const recording_store::bytes good = of.store.at("a/c/1/0");
      const std::size_t first = good.size() / 8;  // about as much as a chunk
      for (const std::size_t at :
           {std::size_t{0}, std::size_t{3}, std::size_t{5}, std::size_t{13}, std::size_t{17},
            std::size_t{21}, std::size_t{40'000}, std::size_t{66'000}, std::size_t{80'000},
            first - 100, first, first + 30'000, 5 * first, good.size() - 200}) {
        CAPTURE(at);
        of.store.set("a/c/1/0", good);
        of.damage("a/c/1/0", at);
        std::vector<std::byte> host(byte_count(of.shape, 2).value());
        const result<void> hosts = source.read(
            box::whole(of.shape), dense_view(host.data(), {of.type, of.shape}), options);
        const result<void> refused = load();
        REQUIRE(refused.has_value() == hosts.has_value());
        if (refused) continue;  // between two chunks
        CHECK(refused.failure().code == errc::corrupt);
        CHECK(refused.failure().message == hosts.failure().message);
        CHECK(refused.failure().message.find("chunk c/1/0") != std::string::npos);
        CHECK(device.due_operations() == 0);
        ++compared;
      }
    }
  }
  CHECK(compared > 38);  // of 42
}

TEST_CASE("checksums compared on the device: who does not tell that one is right is not believed") {
  for (const auto kind :
       {odd_checksum_space::none, odd_checksum_space::silent, odd_checksum_space::forgetful,
        odd_checksum_space::repeats, odd_checksum_space::counts}) {
    CAPTURE(static_cast<int>(kind));
    odd_checksum_space::is = kind;
    one_case of({crc32c_spec()});
    fake_device device(3);
    const target into({&device, 0}, of.type, of.shape);
    const auto load = [&] {
      return detail::read_to_device(of.source, box::whole(of.shape),
                                    into.view<odd_checksum_space>(), {.device_verify = true});
    };
    load().value();
    CHECK(into.download() == dense_bytes_of(of.values.view()));
    CHECK(device.count().bytes_from_host > std::uint64_t{2} << 20);  // all, by the host
    of.damage("a/c/1/0", 70'000);
    std::vector<std::byte> host(byte_count(of.shape, 2).value());
    const result<void> hosts =
        of.source.read(box::whole(of.shape), dense_view(host.data(), {of.type, of.shape}));
    const result<void> refused = load();
    REQUIRE_FALSE(refused);
    REQUIRE_FALSE(hosts);
    CHECK(refused.failure().message == hosts.failure().message);
    CHECK(device.due_operations() == 0);
  }
}

TEST_CASE("what kernels find damaged is read again by the host, whose word counts") {
  std::size_t again = 0;
  for (std::size_t at = 64'000; at < 87'000; at += 3011) {
    CAPTURE(at);
    one_case of;
    fake_device device(at);
    const target into({&device, 0}, of.type, of.shape);
    of.damage("a/c/0/0", at);
    // libzstd does not find every stream that ends elsewhere than its last symbol.
    std::vector<std::byte> host(byte_count(of.shape, 2).value());
    const mutable_host_view there = dense_view(host.data(), {of.type, of.shape});
    const result<void> hosts = of.source.read(box::whole(of.shape), there);
    std::uint64_t told = 0;
    context how;
    how.progress = [&](const progress_event& now) { told += now.bytes_done == now.bytes_total; };
    how = with_scratch(how);
    const result<void> done =
        detail::read_to_device(of.source, box::whole(of.shape), into.view(), {.how = &how});
    CHECK(device.due_operations() == 0);
    REQUIRE(done.has_value() == hosts.has_value());
    CHECK(device.count().kernels.decode_literals > 0);
    if (!done) CHECK(done.failure().message == hosts.failure().message);
    if (done) CHECK(into.download() == host);
    CHECK(told == 1);
    if (device.count().bytes_from_host > host.size()) ++again;
  }
  CHECK(again > 3);
}

TEST_CASE("an error of what is read again names the chunk, and no elements pass for right") {
  one_case of;
  fake_device device(2);
  const target into({&device, 0}, of.type, of.shape);
  int asked = 0;
  doubtful_space::before = [&] {
    if (asked++ == 0) of.damage("a/c/1/0", 0);  // where each reader sees it
  };
  context how;
  how.executor = {};
  how = with_scratch(how);
  const result<void> refused = detail::read_to_device(of.source, box::whole(of.shape),
                                                      into.view<doubtful_space>(), {.how = &how});
  doubtful_space::before = nullptr;
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::corrupt);
  CHECK(refused.failure().message.find("chunk c/1/0: inner chunk [0, 0]: blosc: ") !=
        std::string::npos);
  CHECK(asked > 0);
  CHECK(device.due_operations() == 0);
}

TEST_CASE("frames that kernels do not know, or a full device has no room for, are the host's") {
  const one_case of;
  for (const std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{64} << 20}) {
    fake_device device(9, room == 1 ? std::size_t{3} << 20 : std::size_t{64} << 20);
    const target into({&device, 0}, of.type, of.shape);
    std::uint64_t told = 0;
    context how;
    how.progress = [&](const progress_event& at) { told = at.bytes_done; };
    how = with_scratch(how);
    const read_options options{.how = &how};
    if (room == 0) {
      detail::read_to_device(of.source, box::whole(of.shape), into.view<no_decoder_space>(),
                             options)
          .value();
    } else {
      detail::read_to_device(of.source, box::whole(of.shape), into.view(), options).value();
    }
    CHECK(into.download() == dense_bytes_of(of.values.view()));
    CHECK(device.count().kernels.decode_literals == (room > 1 ? 1 : 0));
    CHECK(device.count().live_allocations == 1);
    CHECK(told == of.shape[0] * of.shape[1] * 2);
  }
}

TEST_CASE("only frames that are large, of numbers and wanted come as they are stored") {
  const dims shape{40, 4096};
  random_source random(5);
  const tensor values = weights(dtype_kind::float32, shape, random);
  const auto suits = [&](const array_metadata& metadata, const selection& part,
                         std::size_t most = SIZE_MAX, std::size_t size = 1) {
    return detail::frames_suit(array::create(memory_store(), key_of("a"), metadata).value(), part,
                               most, size);
  };
  const selection all(box::whole(shape));
  const array_metadata rows = frames_metadata(dtype_kind::float32, shape, {8, 4096});
  array_metadata with_crc = rows;
  with_crc.codecs.push_back(crc32c_spec());
  CHECK(suits(rows, all));
  CHECK(suits(with_crc, all));
  CHECK(suits(sharded_metadata(frames_metadata(dtype_kind::float32, shape, {24, 4096}), {4, 4096}),
              all));
  CHECK(suits(rows, box{{2, 0}, {38, 4096}}));
  CHECK(suits(rows, all, std::size_t{128} << 10));
  // What the host does: little of a chunk, every other row, small chunks, and those that are larger
  // than a slot, as they are or cast.
  CHECK_FALSE(suits(rows, box{{7, 0}, {2, 4096}}));
  CHECK_FALSE(suits(rows, selection({0, 0}, {20, 4096}, {2, 1})));
  CHECK_FALSE(suits(frames_metadata(dtype_kind::float32, shape, {3, 4096}), all));
  CHECK_FALSE(suits(rows, all, std::size_t{127} << 10));
  CHECK_FALSE(suits(rows, all, std::size_t{128} << 10, 8));
  // Other types and other codecs.
  CHECK_FALSE(
      suits(frames_metadata(dtype_kind::bool_, {16, 65536}, {8, 65536}), box::whole({16, 65536})));
  CHECK_FALSE(
      suits(frames_metadata(dtype_kind::int4, {16, 65536}, {8, 65536}), box::whole({16, 65536})));
  array_metadata other = rows;
  other.codecs = {bytes_spec("big"), blosc_spec(dtype_kind::float32)};
  CHECK_FALSE(suits(other, all));
  other.codecs = {transpose_spec({1, 0}), bytes_spec(), blosc_spec(dtype_kind::float32)};
  CHECK_FALSE(suits(other, all));
  other.codecs = {bytes_spec(), blosc_spec(dtype_kind::float32), zstd_spec()};
  CHECK_FALSE(suits(other, all));
  other.codecs = {bytes_spec(), zstd_spec()};
  CHECK_FALSE(suits(other, all));
}

TEST_CASE("frames of other compressors are tried once, then the host's") {
  const dims shape{1024, 1024};
  random_source random(4);
  const tensor values = weights(dtype_kind::bfloat16, shape, random);
  array_metadata metadata = raw_metadata(dtype_kind::bfloat16, shape, {64, 1024});
  metadata.codecs.push_back(blosc_spec(dtype_kind::bfloat16, "lz4"));
  const recording_store store;
  const array source = made_array(store, metadata, values.view());
  fake_device device(9);
  context how;
  how.executor = {};
  how.limit.memory = std::size_t{8} << 20;  // slots of 256 KiB
  how = with_scratch(how);
  store->opens = 0;
  const target into({&device, 0}, dtype_kind::bfloat16, shape);
  detail::read_to_device(source, box::whole(shape), into.view(), {.how = &how}).value();
  CHECK(into.download() == dense_bytes_of(values.view()));
  CHECK(device.count().kernels.decode_literals == 0);
  CHECK(store->opens.load() <= 20);
}

TEST_CASE("no fault of the device leaves work behind, or passes for success") {
  const thread_pool pool(2);
  const one_case of({crc32c_spec()});
  std::size_t faults = 0;
  for (const device_fault fault : device_faults) {
    for (std::uint64_t after = 0;; ++after) {
      CAPTURE(std::string(to_string(fault)));
      CAPTURE(after);
      fake_device device(after);
      const std::size_t stream = device.new_stream();
      bool fired = false;
      {
        const target into({&device, stream}, of.type, of.shape);
        context how;
        how.limit.memory = std::size_t{64} << 20;
        if (after % 2 == 0) how.executor = pool.executor();
        how = with_scratch(how);
        device.arm(fault, after);
        const result<void> done =
            detail::read_to_device(of.source, box::whole(of.shape), into.view(),
                                   {.device_verify = after % 4 < 2, .how = &how});
        fired = device.fired();
        CHECK(device.due_operations() == 0);
        if (!fired) CHECK(done.has_value());
        if (!done) CHECK(done.failure().code == errc::device);
        device.recover();
        if (done && fault != device_fault::stream_gone)
          CHECK(into.download() == dense_bytes_of(of.values.view()));
        faults += fired ? 1 : 0;
      }
      CHECK(device.live_allocations() == 0);
      CHECK(device.pinned_ranges() == 0);
      if (!fired) break;
    }
  }
  CHECK(faults > 40);
}

TEST_CASE("a stopped read leaves nothing under way") {
  const one_case of;
  fake_device device(1);
  const target into({&device, 0}, of.type, of.shape);
  stop_source stop;
  context how;
  how.stop = stop.token();
  how.executor = {};
  how.limit.memory = std::size_t{8} << 20;  // slots of 256 KiB
  how.progress = [&](const progress_event& at) {
    if (at.bytes_done > 0) stop.request_stop();
  };
  how = with_scratch(how);
  const result<void> done =
      detail::read_to_device(of.source, box::whole(of.shape), into.view(), {.how = &how});
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == errc::cancelled);
  CHECK(device.due_operations() == 0);
  CHECK(device.count().kernels.decode_literals > 0);
}

}  // namespace device_frames_test
