// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/device/device_leaf.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/devices.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/verify.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/array_cases.hpp"
#include "support/fake_device.hpp"
#include "support/random_layout.hpp"
#include "support/recording_store.hpp"
#include "support/strided_device.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

// Writes of tensors on a device whose kernels encode them.
namespace device_encode_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

using ring = detail::staging_ring<fake_space>;
using encoding_source = detail::encoding_source<fake_space>;

#if defined(ZARRPOINT_TEST_SANITIZED)
constexpr int rounds = 6;
#else
constexpr int rounds = 24;
#endif

codec_spec blosc_spec(const char* compressor = "zstd", int level = 1,
                      const char* shuffle = "shuffle", index_t size = 0) {
  json::object members{
      {"cname", compressor}, {"clevel", level}, {"shuffle", shuffle}, {"blocksize", 0}};
  if (size != 0) members.push_back({"typesize", size});
  return {"blosc", members};
}

tensor weights(dtype type, const dims& shape, random_source& random) {
  std::normal_distribution<float> values(0, 0.02F);
  std::vector<float> made(static_cast<std::size_t>(element_count(shape).value()));
  for (float& one : made) one = values(random);
  tensor out = tensor::make({type, shape}).value();
  detail::cast_elements(out.mutable_view(), view_of(made, shape)).value();
  return out;
}

/// A tensor on a fake device, in any layout.
class on_device {
 public:
  on_device(const fake_space& space, const host_view& values)
      : on_device(space, values, dense_layout(values.shape, values.type.size())) {}
  on_device(const fake_space& space, const host_view& values, const layout& places)
      : space_(space),
        spec_(values.spec()),
        places_(places),
        host_(places.size),
        data_(space.owner->allocate(places.size)) {
    copy_elements({host_.data() + places.first, spec_.type, spec_.shape, places.strides, {}, {}},
                  values);
    space_.copy_from_host(data_, host_.data(), {.width = host_.size()}).value();
    detail::wait_for_stream(space_).value();
  }
  on_device(const on_device&) = delete;
  ~on_device() { space_.owner->free(data_, space_.stream); }

  tensor_view<fake_space> view() const {
    return {data_ + places_.first, spec_.type, spec_.shape, places_.strides, space_, {}};
  }

 private:
  fake_space space_;
  tensor_spec spec_;
  layout places_;
  std::vector<std::byte> host_;
  std::byte* data_;
};

/// What is written: 2 MiB of bfloat16 in a shard of inner chunks of 128 KiB.
struct one_case {
  dtype type = dtype_kind::bfloat16;
  dims shape{1024, 1024};
  dims inner{64, 1024};
  bool sharded = true;
  codec_spec blosc = blosc_spec();
  bool has_trailer = true;

  array_metadata metadata() const {
    array_metadata out = raw_metadata(type, shape, inner);
    out.codecs.push_back(blosc);
    if (has_trailer) out.codecs.push_back(crc32c_spec());
    if (!sharded) return out;
    out.chunk_shape = {std::max(inner[0], shape[0] / inner[0] * inner[0]),
                       std::max(inner[1], shape[1] / inner[1] * inner[1])};
    return sharded_metadata(out, inner);
  }
};

/// A ring of `slots` of that size.
std::unique_ptr<element_source> source_of(const tensor_view<fake_space>& view,
                                          std::size_t slots = 3,
                                          std::size_t slot_bytes = std::size_t{1} << 20) {
  const detail::ring_options sizes{.slots = slots, .slot_bytes = slot_bytes};
  return encoding_source::make<encoding_source>(view, std::make_shared<ring>(view.space, sizes))
      .value();
}

/// Writes all of `values` and reads it again.
struct written {
  recording_store store;
  chunk_digests digests;
  result<void> done;
  std::optional<array> made;

  written(const one_case& of, element_source& from, const context& how = {},
          const write_options& given = {.elide_fill = true}) {
    made = array::create(store, key_of("a"), of.metadata(), how).value();
    write_options options = given;
    options.collected = &digests;
    options.cast = true;
    options.device_encode = true;
    done = made->write(box::whole(of.shape), from, options);
  }
  std::vector<std::byte> read() const {
    return dense_bytes_of(made->read(box::whole(made->spec().shape)).value().view());
  }
  std::size_t size() const {
    std::size_t out = 0;
    for (const std::string& key : store.keys()) out += store.at(key).size();
    return out;
  }
};

std::size_t size_by_host(const one_case& of, const host_view& values) {
  recording_store store;
  array::create(store, key_of("a"), of.metadata())
      .value()
      .write(box::whole(of.shape), values)
      .value();
  std::size_t out = 0;
  for (const std::string& key : store.keys()) out += store.at(key).size();
  return out;
}

}  // namespace

TEST_CASE("inner chunks are encoded on the device, and only what is stored leaves it") {
  fake_device device(1);
  random_source random(1);
  one_case of;
  const tensor values = weights(of.type, of.shape, random);
  for (const bool has_trailer : {true, false}) {
    for (const bool sharded : {true, false}) {
      of.has_trailer = has_trailer;
      of.sharded = sharded;
      const on_device tensor_there({&device}, values.view());
      const auto before = device.count();
      const auto source = source_of(tensor_there.view());
      const written all(of, *source);
      REQUIRE(all.done);
      const auto after = device.count();
      CHECK(all.read() == dense_bytes_of(values.view()));
      CHECK(after.kernels.count_symbols > before.kernels.count_symbols);
      CHECK(after.kernels.encode_symbols - before.kernels.encode_symbols ==
            after.kernels.count_symbols - before.kernels.count_symbols);
      const std::size_t host = size_by_host(of, values.view());
      CHECK(all.size() < host * 101 / 100);
      CHECK(host < all.size() * 101 / 100);
      // Beside it go the counts: 8 KiB for the planes of each chunk at most.
      CHECK(after.bytes_to_host - before.bytes_to_host < all.size() + 32 * 4096 + 16 * 1024);
      CHECK(after.bytes_to_host - before.bytes_to_host < std::size_t{2048} * 1024 * 3 / 4);
      CHECK(after.pageable_bytes == before.pageable_bytes);
    }
  }
}

TEST_CASE("a write that the device encodes reads as one by the host, of any type and layout") {
  const thread_pool pool(4);
  constexpr dtype_kind kinds[] = {
      dtype_kind::bfloat16, dtype_kind::float16, dtype_kind::float32,  dtype_kind::float8_e4m3fn,
      dtype_kind::float64,  dtype_kind::int16,   dtype_kind::complex64};
  std::uint64_t encoded = 0;
  for (std::uint64_t seed = 0; seed < rounds; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device device(seed);
    one_case of;
    of.type = kinds[pick(random, 7)];
    of.inner = {static_cast<index_t>(32 + pick(random, 200)), 512};
    of.shape = {of.inner[0] * static_cast<index_t>(1 + pick(random, 3)),
                of.inner[1] * static_cast<index_t>(1 + pick(random, 2))};
    if (pick(random, 3) == 0) of.shape[0] -= static_cast<index_t>(pick(random, 20));  // padded
    of.sharded = pick(random, 2) == 0 && of.shape[0] % of.inner[0] == 0;
    of.has_trailer = pick(random, 2) == 0;
    of.blosc = blosc_spec("zstd", 1 + static_cast<int>(pick(random, 2)));
    const bool noise = pick(random, 6) == 0;
    tensor values = weights(of.type, of.shape, random);
    const std::size_t bytes = byte_count(values.spec()).value();
    if (noise) {
      const auto random_ones = random_bytes(random, bytes);
      std::copy(random_ones.begin(), random_ones.end(), values.mutable_view().data);
    }
    if (pick(random, 3) == 0) {  // some chunks are the fill value
      std::fill_n(values.mutable_view().data, bytes / 2, std::byte{});
    }
    context how;
    if (pick(random, 2) == 0) how.executor = pool.executor();
    if (pick(random, 3) == 0) how.limit.bytes_in_flight = std::size_t{1} << 20;
    const on_device there({&device}, values.view(),
                          random_layout(random, of.shape, of.type.size(), false));
    const std::size_t slots = 1 + pick(random, 3);
    const auto source =
        source_of(there.view(), slots, std::size_t{256 + 4 * pick(random, 300)} << 10);
    const bool elides = pick(random, 2) == 0;
    const written all(of, *source, how, {.elide_fill = elides});
    REQUIRE(all.done);
    CHECK(all.read() == dense_bytes_of(values.view()));
    encoded += device.count().kernels.encode_symbols;
    // As many inner chunks are stored as by the host, and with the digests that they have.
    recording_store by_host;
    chunk_digests digests;
    const array other = array::create(by_host, key_of("a"), of.metadata()).value();
    other.write(box::whole(of.shape), values.view(), {.elide_fill = elides, .collected = &digests})
        .value();
    CHECK(by_host.keys() == all.store.keys());
    CHECK(all.made->read(box::whole(of.shape), {.expected = &all.digests}));
    CHECK(device.due_operations() == 0);
  }
  CHECK(encoded > rounds / 4);  // others have noise, or chunks that are too small
}

TEST_CASE("what kernels do not know, or the device has no room for, the host encodes") {
  random_source random(4);
  const one_case of;
  const tensor values = weights(of.type, of.shape, random);
  const auto encoded_by_device = [&](const one_case& one, std::size_t slot_bytes,
                                     std::size_t capacity, bool kernels) {
    fake_device device(1, capacity);
    device.set_kernels(kernels);
    const on_device there({&device}, values.view());
    const auto source = source_of(there.view(), 2, slot_bytes);
    const written all(one, *source);
    REQUIRE(all.done);
    if (one.type == of.type) REQUIRE(all.read() == dense_bytes_of(values.view()));
    return device.count().kernels.encode_symbols;
  };
  constexpr std::size_t slot = std::size_t{1} << 20;
  constexpr std::size_t room = std::size_t{64} << 20;
  CHECK(encoded_by_device(of, slot, room, true) > 0);
  CHECK(encoded_by_device(of, slot, room, false) == 0);
  CHECK(encoded_by_device(of, slot, std::size_t{2} << 20, true) == 0);  // no room for the counts
  CHECK(encoded_by_device(of, slot, (std::size_t{2} << 20) + (64 << 10), true) == 0);  // for frames
  CHECK(encoded_by_device(of, 64 << 10, room, true) == 0);  // no slot holds a chunk
  const auto with = [&](auto&& change) {
    one_case other = of;
    change(other);
    return encoded_by_device(other, slot, room, true);
  };
  CHECK(with([](one_case& one) { one.blosc = blosc_spec("zstd", 1, "noshuffle"); }) == 0);
  CHECK(with([](one_case& one) { one.blosc = blosc_spec("zstd", 1, "bitshuffle"); }) == 0);
  CHECK(with([](one_case& one) { one.blosc = blosc_spec("lz4"); }) == 0);
  CHECK(with([](one_case& one) { one.blosc = blosc_spec("zstd", 1, "shuffle", 8); }) == 0);
  CHECK(with([](one_case& one) { one.blosc = blosc_spec("zstd", 1, "shuffle", 1); }) == 0);
  CHECK(with([](one_case& one) { one.blosc = blosc_spec("zstd", 0); }) == 0);
  CHECK(with([](one_case& one) { one.blosc = zstd_spec(); }) == 0);
  CHECK(with([](one_case& one) { one.inner = {16, 1024}; }) == 0);          // of 32 KiB
  CHECK(with([](one_case& one) { one.type = dtype_kind::float32; }) == 0);  // with a cast
}

TEST_CASE("words that begin as the fill value does are not taken for it") {
  one_case of;
  of.type = dtype_kind::float32;
  of.blosc = blosc_spec("zstd", 1, "shuffle", 8);  // two elements
  tensor values = tensor::make({of.type, of.shape}).value();
  auto* const first = reinterpret_cast<float*>(values.mutable_view().data);
  for (std::size_t i = 0; i < values.size(); ++i) first[i] = i % 2 == 0 ? 0.0F : 1.5F;
  fake_device device(1);
  const on_device there({&device}, values.view());
  const auto source = source_of(there.view());
  const written all(of, *source);
  REQUIRE(all.done);
  CHECK(all.read() == dense_bytes_of(values.view()));
}

TEST_CASE("elements that change under way are encoded by the host, as they are then") {
  // A device whose kernel finds that nothing is as it was counted.
  struct changing_space : fake_space {
    result<void> encode_symbols(const device_symbols*, std::size_t, std::byte* failed) const {
      return fill(failed, std::byte{1}, 4);
    }
  };
  random_source random(5);
  const one_case of;
  const tensor values = weights(of.type, of.shape, random);
  fake_device device(1);
  const on_device there({&device}, values.view());
  const tensor_view<fake_space> seen = there.view();
  const tensor_view<changing_space> view{
      seen.data, seen.type, seen.shape, seen.strides, changing_space{seen.space}, {}};
  using source = detail::encoding_source<changing_space>;
  const auto from =
      source::make<source>(view, std::make_shared<detail::staging_ring<changing_space>>(
                                     view.space, detail::ring_options{.slots = 2}))
          .value();
  const written all(of, *from);
  REQUIRE(all.done);
  CHECK(device.count().kernels.count_symbols > 0);
  CHECK(all.read() == dense_bytes_of(values.view()));
}

TEST_CASE("no fault of the device while it encodes leaves work behind, or passes for success") {
  const thread_pool pool(2);
  random_source random(6);
  one_case of;
  of.shape = {64, 1024};
  of.inner = {32, 1024};
  const tensor values = weights(of.type, of.shape, random);
  std::size_t faults = 0;
  for (const device_fault fault : device_faults) {
    for (std::uint64_t after = 0;; ++after) {
      CAPTURE(std::string(to_string(fault)));
      CAPTURE(after);
      fake_device device(after);
      const std::size_t stream = device.new_stream();
      bool fired = false;
      {
        const on_device there({&device, stream}, values.view());
        context how;
        if (after % 2 == 0) how.executor = pool.executor();
        device.arm(fault, after);
        const detail::ring_options sizes{.slots = 2, .slot_bytes = 80 << 10};
        if (const auto source = encoding_source::make<encoding_source>(
                there.view(), std::make_shared<ring>(there.view().space, sizes))) {
          const written all(of, **source, how);
          fired = device.fired();
          if (!fired) CHECK(all.done.has_value());
          if (!all.done) CHECK(all.done.failure().code == errc::device);
          if (all.done) CHECK(all.read() == dense_bytes_of(values.view()));
        } else {
          fired = device.fired();
        }
        CHECK(device.due_operations() == 0);
        device.recover();
        faults += fired ? 1 : 0;
      }
      CHECK(device.live_allocations() == 0);
      CHECK(device.pinned_ranges() == 0);
      if (!fired) break;
    }
  }
  CHECK(faults > 40);
}

TEST_CASE("a stopped write that the device encodes leaves nothing under way") {
  random_source random(7);
  const one_case of;
  const tensor values = weights(of.type, of.shape, random);
  fake_device device(1);
  const on_device there({&device}, values.view());
  stop_source stop;
  context how;
  how.stop = stop.token();
  how.executor = {};
  how.progress = [&](const progress_event& at) {
    if (at.bytes_done > 0) stop.request_stop();
  };
  {
    const auto source = source_of(there.view(), 2, 512 << 10);
    const written all(of, *source, how);
    REQUIRE_FALSE(all.done);
    CHECK(all.done.failure().code == errc::cancelled);
    CHECK(device.count().kernels.encode_symbols > 0);
  }
  CHECK(device.due_operations() == 0);
  CHECK(device.pinned_ranges() == 0);
}

TEST_CASE("a save of a tensor on a device that encodes, loaded by the host") {
  fake_device device(1);
  random_source random(8);
  const std::vector<std::size_t> shape{512, 2048};
  std::vector<bfloat16> values;
  std::normal_distribution<float> normal(0, 0.02F);
  for (int i = 0; i < 512 * 2048; ++i) values.push_back(bfloat16(normal(random)));
  device_tensor<bfloat16> there({&device}, shape);
  there.upload(values);
  for (const bool device_copy : {false, true}) {
    for (const bool encodes : {false, true}) {
      const memory_store store;
      const auto before = device.count();
      const save_options options{.rules = {{.codecs = blosc_codecs()}},
                                 .device_copy = device_copy,
                                 .device_encode = encodes};
      if (device_copy) {
        std::vector<leaf> leaves;
        leaves.emplace_back("w", there);
        save_async(store, std::move(leaves), options).get().value();
      } else {
        save(store, {{"w", there}}, options).value();
      }
      const auto after = device.count();
      CHECK((after.kernels.encode_symbols > before.kernels.encode_symbols) == encodes);
      CHECK((after.bytes_to_host - before.bytes_to_host < values.size() * 3 / 2) == encodes);
      const checkpoint read = open(store).value();
      const tensor seen = read.load<tensor>("w").value();
      CHECK(std::memcmp(seen.view().data, values.data(), 2 * values.size()) == 0);
      CHECK(verify(read).value().result() == verdict::ok);
    }
  }
}

}  // namespace device_encode_test
