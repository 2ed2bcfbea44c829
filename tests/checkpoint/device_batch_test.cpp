// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/device_batch.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/fake_device.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace device_batch_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// `count` vectors of `length` int32, and targets for them in memory of a device.
struct batch {
  recording_store store;
  std::vector<mutable_tensor_view<fake_space>> views;
  std::vector<load_target> targets;

  batch(std::size_t count, std::size_t length) : batch(std::vector<std::size_t>(count, length)) {}
  explicit batch(const std::vector<std::size_t>& lengths, const save_options& options = {}) {
    std::deque<std::vector<std::int32_t>> values;
    std::vector<leaf> leaves;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      values.emplace_back(lengths[i], static_cast<std::int32_t>(i));
      leaves.emplace_back(std::to_string(i), values.back());
    }
    save(store, leaves, options).value();
  }
  void add(const fake_space& space, std::size_t length, index_t stride = 4) {
    mutable_tensor_view<fake_space> view{
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
    return detail::device_batch<fake_space>({from, {}, bound}).run();
  }
  /// Whether every element of every target is its number.
  bool is_right() const {
    for (std::size_t i = 0; i < views.size(); ++i) {
      const mutable_tensor_view<fake_space>& view = views[i];
      const auto length = static_cast<std::size_t>(view.shape[0]);
      std::vector<std::int32_t> got(length);
      view.space
          .copy_to_host(reinterpret_cast<std::byte*>(got.data()), view.data,
                        {4, length, static_cast<std::size_t>(view.strides[0]), 4})
          .value();
      detail::wait_for_stream(view.space).value();
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
  batch many(40, 1000);
  context how;
  how.limit.memory = std::size_t{4} << 20;  // slots of 128 KiB
  const checkpoint from = open(many.store, how).value();
  for (std::size_t i = 0; i < 40; ++i) many.add({&device, 0}, 1000, i == 7 ? 8 : 4);
  many.load(from).value();
  CHECK(many.is_right());
  CHECK(device.count().kernels.scatter == 2);  // 39 tensors of 4 KB
  CHECK(device.count().kernels.move == 1);
}

TEST_CASE("tensors of different streams share nothing") {
  fake_device device(2);
  batch apart(20, 10);
  const checkpoint from = open(apart.store).value();
  for (std::size_t i = 0; i < 20; ++i)
    apart.add({&device, i % 2 == 0 ? 0 : device.new_stream()}, 10);
  apart.load(from).value();
  CHECK(apart.is_right());
  CHECK(device.count().kernels.scatter == 1);  // of stream 0; the others are alone on theirs
}

TEST_CASE("tensors up to a quarter of a slot share it, whose chunks are read at a time") {
  // Slots of 4 MiB; tensors of 600 KiB in chunks of 100 KiB, and among them some of 4 KB.
  const thread_pool pool(4);
  context how;
  how.limit.memory = std::size_t{128} << 20;
  how.executor = pool.executor();
  const save_options options{
      .rules = {{.chunk_shape = dims{25'600}, .shard_shape = dims{153'600}}}};
  std::vector<std::size_t> lengths(12, 153'600);
  lengths.insert(lengths.end(), 12, 1000);
  for (const bool has_kernels : {false, true}) {
    fake_device device(3);
    device.set_kernels(has_kernels);
    batch many(lengths, options);
    const checkpoint from = open(many.store, how).value();
    for (const std::size_t length : lengths) many.add({&device, 0}, length);
    many.store->opens = 0;
    many.load(from).value();
    CHECK(many.store->opens == lengths.size());  // each shard once
    CHECK(device.pinned_ranges() <= 2);          // 7.2 MB: that many slots were filled
    const auto count = device.count();
    CHECK(count.kernels.scatter == (has_kernels ? 1 : 0));
    CHECK(count.copies == (has_kernels ? 13 : 24));
    CHECK(count.kernels.move == 0);
    CHECK(many.is_right());
  }
}

TEST_CASE("what a kernel is to cast or to swap goes alone, unless it is small") {
  fake_device device(4);
  recording_store store;
  const std::vector<float> large(100'000, 1.5F);
  const std::vector<float> little{1, 2};
  save(store, {{"a", large}, {"b", large}, {"c", little}, {"d", little}}).value();
  const checkpoint from = open(store).value();
  device_tensor<double> a({&device, 0}, {large.size()});
  device_tensor<float> b({&device, 0}, {large.size()});
  device_tensor<double> c({&device, 0}, {2});
  device_tensor<float> d({&device, 0}, {2});
  const std::vector<load_target> targets{{"a", a}, {"b", b}, {"c", c}, {"d", d}};
  std::vector<const detail::bound_target*> bound;
  for (const load_target& one : targets) bound.push_back(&one.bound());
  const load_options options{.cast = true};
  detail::device_batch<fake_space>({from, options, bound}).run().value();
  CHECK(device.count().kernels.cast == 1);
  CHECK(device.count().kernels.scatter == 1);
  CHECK(a.download() == std::vector<double>(large.size(), 1.5));
  CHECK(b.download() == large);
  CHECK(c.download() == std::vector<double>{1, 2});
  CHECK(d.download() == little);
  CHECK((a.loaded() && b.loaded() && c.loaded() && d.loaded()));
  // One that fails afterwards takes nothing from those that shared the slot.
  for (const load_target& one : targets) one.bound().mark(false);
  recording_store::bytes damaged = store.at("a/c.0");
  damaged[100] ^= std::byte{1};
  store.set("a/c.0", std::move(damaged));
  const result<void> failed = detail::device_batch<fake_space>({from, options, bound}).run();
  REQUIRE_FALSE(failed);
  CHECK(failed.failure().code == errc::corrupt);
  CHECK(failed.failure().message.find("load \"a\"") == 0);
  CHECK((!a.loaded() && b.loaded() && c.loaded() && d.loaded()));
  CHECK(device.due_operations() == 0);
}

TEST_CASE("shuffled tensors are put together by the device, unless they are small") {
  fake_device device(5);
  context how;
  how.codecs = default_codecs::with<shuffle_codec>::table();
  std::vector<codec_spec> codecs = raw_codecs();
  codecs.push_back({"numcodecs.shuffle", json::object{{"elementsize", 4}}});
  codecs.push_back(zstd_codecs().back());
  std::vector<std::int32_t> large(800'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::int32_t>(i * i);
  const std::vector<std::int32_t> little(1000, 0x01020304);
  const std::vector<std::int32_t> mid(100'000, 0x01020304);
  recording_store store;
  const std::initializer_list<leaf> leaves{
      {"a", large}, {"b", little}, {"c", little}, {"d", mid}, {"e", mid}};
  const auto small_chunks = [](const char* name) {  // of 40 KB
    return leaf_rule{.glob = name, .chunk_shape = dims{10'000}};
  };
  save(store, leaves, {.rules = {{.codecs = codecs}, small_chunks("d"), small_chunks("e")}}, how)
      .value();
  const checkpoint from = open(store, how).value();
  device_tensor<std::int32_t> a({&device, 0}, {large.size()});
  device_tensor<std::int32_t> b({&device, 0}, {1000});
  device_tensor<std::int32_t> c({&device, 0}, {1000});
  device_tensor<std::int32_t> d({&device, 0}, {mid.size()});
  device_tensor<std::int32_t> e({&device, 0}, {mid.size()});
  const std::vector<load_target> targets{{"a", a}, {"b", b}, {"c", c}, {"d", d}, {"e", e}};
  std::vector<const detail::bound_target*> bound;
  for (const load_target& one : targets) bound.push_back(&one.bound());
  detail::device_batch<fake_space>({from, {}, bound}).run().value();
  // Those of small chunks are not work for the device: they share the slot, and its event.
  const auto computes = [&](const char* name, index_t length) {
    const mutable_tensor_view<fake_space> view{nullptr, dtype_kind::int32, {length},
                                               {4},     {&device, 0},      {}};
    return detail::device_read<fake_space>::computes(from.as_array(name).value(), view);
  };
  CHECK(computes("a", 800'000));
  CHECK_FALSE(computes("d", 100'000));
  const auto chunks = from.as_array("a").value().layout().inner_count();
  CHECK(chunks > 1);
  CHECK(device.count().kernels.unshuffle == chunks);
  CHECK(device.count().kernels.scatter == 1);
  CHECK(a.download() == large);
  CHECK(b.download() == little);
  CHECK(c.download() == little);
  CHECK(d.download() == mid);
  CHECK(e.download() == mid);
}

namespace {

/// Tensors of weights of several types, as `blosc_codecs` stores them, and what they are loaded to.
struct compressed {
  recording_store store;
  std::vector<std::vector<bfloat16>> halves;
  std::vector<std::vector<float>> floats;
  std::deque<device_tensor<bfloat16>> half_targets;
  std::deque<device_tensor<float>> float_targets;
  std::vector<load_target> targets;

  explicit compressed(std::size_t count,
                      const save_options& options = {.rules = {{.codecs = blosc_codecs()}}}) {
    std::mt19937 random(1);
    std::normal_distribution<float> values(0, 0.02F);
    std::vector<leaf> leaves;
    halves.reserve(count);
    floats.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<bfloat16>& half = halves.emplace_back(i % 3 == 0 ? 1000 : 200'000 * (1 + i % 4));
      for (bfloat16& one : half) one = bfloat16(values(random));
      std::vector<float>& whole = floats.emplace_back(i % 3 == 0 ? 500 : 100'000 * (1 + i % 5));
      for (float& one : whole) one = values(random);
      leaves.emplace_back("h" + std::to_string(i), half);
      leaves.emplace_back("f" + std::to_string(i), whole);
    }
    save(store, leaves, options).value();
  }
  void add_targets(const std::vector<fake_space>& spaces) {
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const fake_space& space = spaces[i % spaces.size()];
      half_targets.emplace_back(space, std::vector{halves[i].size()});
      float_targets.emplace_back(space, std::vector{floats[i].size()});
      targets.emplace_back("h" + std::to_string(i), half_targets.back());
      targets.emplace_back("f" + std::to_string(i), float_targets.back());
    }
  }
  result<void> load(const checkpoint& from, const load_options& options = {}) const {
    std::vector<const detail::bound_target*> bound;
    for (const load_target& one : targets) bound.push_back(&one.bound());
    for (const load_target& one : targets) one.bound().mark(false);
    return detail::device_batch<fake_space>({from, options, bound}).run();
  }
  /// How many are marked as loaded; all of those are right.
  std::size_t loaded() const {
    std::size_t out = 0;
    for (std::size_t i = 0; i < halves.size(); ++i) {
      if (half_targets[i].loaded()) {
        CHECK(half_targets[i].download() == halves[i]);
        ++out;
      }
      if (float_targets[i].loaded()) {
        CHECK(float_targets[i].download() == floats[i]);
        ++out;
      }
    }
    return out;
  }
};

}  // namespace

TEST_CASE("compressed tensors are decoded by the devices, and all at a time") {
  const thread_pool pool(4);
  fake_device first(1, std::size_t{256} << 20, 0);
  fake_device second(2, std::size_t{256} << 20, 1);
  compressed many(12);
  many.add_targets({{&first, 0}, {&second, 0}, {&first, first.new_stream()}});
  context how;
  how.executor = pool.executor();
  const checkpoint from = open(many.store, how).value();
  many.load(from, {.device_verify = true}).value();
  CHECK(many.loaded() == 24);
  for (const fake_device* device : {&first, &second}) {
    const auto count = device->count();
    CHECK(count.kernels.compare_crc32c == count.kernels.decode_literals);
    CHECK(count.kernels.decode_literals > 3);
    CHECK(count.kernels.join_planes == count.kernels.decode_literals);
    CHECK(count.due_operations == 0);
  }
}

TEST_CASE("a damaged frame is that of its tensor, by the device or the host") {
  std::string told;
  for (const load_options& options :
       {load_options{}, load_options{.device_verify = true}, load_options{.verify = false},
        load_options{.verify = false, .device_verify = true}}) {
    fake_device device(1, std::size_t{256} << 20);
    compressed many(6);
    many.add_targets({{&device, 0}});
    recording_store::bytes damaged = many.store.at("h1/c.0");
    damaged[40000] ^= std::byte{1};
    many.store.set("h1/c.0", std::move(damaged));
    const checkpoint from = open(many.store).value();
    std::vector<const detail::bound_target*> bound;
    for (const load_target& one : many.targets) bound.push_back(&one.bound());
    const result<void> done = detail::device_batch<fake_space>({from, options, bound}).run();
    REQUIRE_FALSE(done);
    CHECK(done.failure().code == errc::corrupt);
    CHECK(done.failure().message.find("load \"h1\"") == 0);
    // The host's words, no matter who found it.
    if (options.verify && told.empty()) told = done.failure().message;
    CHECK((!options.verify || done.failure().message == told));
    CHECK((device.count().kernels.compare_crc32c > 0) == options.device_verify);
    CHECK_FALSE(many.half_targets[1].loaded());
    CHECK(many.loaded() > 0);
    CHECK(device.due_operations() == 0);
  }
}

TEST_CASE("no fault of a device marks compressed tensors that are not there") {
  const thread_pool pool(2);
  compressed many(4);
  std::size_t faults = 0;
  for (const device_fault fault : device_faults) {
    for (std::uint64_t after = 0;; after += 1 + after / 8) {
      CAPTURE(std::string(to_string(fault)));
      CAPTURE(after);
      fake_device device(after, std::size_t{256} << 20);
      bool fired = false;
      {
        many.targets.clear();
        many.half_targets.clear();
        many.float_targets.clear();
        many.add_targets({{&device, 0}, {&device, device.new_stream()}});
        context how;
        how.limit.memory = std::size_t{64} << 20;
        if (after % 2 == 0) how.executor = pool.executor();
        const checkpoint from = open(many.store, how).value();
        device.arm(fault, after);
        const result<void> done = many.load(from, {.device_verify = after % 4 < 2});
        fired = device.fired();
        CHECK(device.due_operations() == 0);
        if (!fired) CHECK(done.has_value());
        if (!done) CHECK(done.failure().code == errc::device);
        device.recover();
        if (fault != device_fault::stream_gone) {
          const std::size_t loaded = many.loaded();
          if (done) CHECK(loaded == 8);
        }
        faults += fired ? 1 : 0;
      }
      many.targets.clear();
      many.half_targets.clear();
      many.float_targets.clear();
      CHECK(device.live_allocations() == 0);
      CHECK(device.pinned_ranges() == 0);
      if (!fired) break;
    }
  }
  CHECK(faults > 40);
}

TEST_CASE("a device without room for the staged copy gets the tensors one by one") {
  fake_device device(1, 20 * 4000 + 1000);
  batch many(20, 1000);
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
  batch many(12, 100'000);
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
  batch many(3, 100);
  context how = default_context();
  how.executor = {};  // one stream after the other
  const checkpoint from = open(many.store, how).value();
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
