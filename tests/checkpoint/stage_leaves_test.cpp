// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/executors.hpp"
#include "../support/random_rounds.hpp"
#include "../support/strided_device.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Saves of tensors that live on devices.

namespace stage_leaves_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

/// Tensors of any layout on one device or two, and their values on the host.
struct model {
  std::vector<std::unique_ptr<strided_device>> tensors;
  std::vector<leaf> leaves;
  std::vector<std::vector<std::byte>> wanted;

  model(random_source& random, std::vector<fake_device*> devices, std::size_t count) {
    constexpr dtype_kind kinds[] = {dtype_kind::int8, dtype_kind::bfloat16, dtype_kind::float32,
                                    dtype_kind::complex64};
    for (std::size_t i = 0; i < count; ++i) {
      const dtype type(kinds[pick(random, 4)]);
      const dims shape = random_shape(random, 3, 30);
      fake_device* const device = devices[i % devices.size()];
      const bool dense = pick(random, 2) == 0;
      const layout places = dense ? dense_layout(shape, type.size())
                                  : random_layout(random, shape, type.size(), true);
      tensors.push_back(
          std::make_unique<strided_device>(fake_space{device}, type, shape, places, random));
      // Those of one stream may share slots.
      const std::size_t stream = pick(random, 3) == 0 ? device->new_stream() : 0;
      leaves.emplace_back("d/" + std::to_string(i), tensors.back()->view(stream));
      wanted.push_back(dense_bytes_of(tensors.back()->on_host()));
    }
  }

  void check(const checkpoint& saved) const {
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      CAPTURE(i);
      const tensor read = saved.load<tensor>(leaves[i].name()).value();
      CHECK(read.spec() == leaves[i].spec().value());
      CHECK(dense_bytes_of(read.view()) == wanted[i]);
    }
  }
  /// What was on the devices is no more.
  void free() { tensors.clear(); }
};

save_options random_options(random_source& random) {
  save_options out{.zarr_format = pick(random, 3) == 0 ? 2 : 3, .sync = false};
  leaf_rule rule;
  if (pick(random, 2) == 0) rule.codecs = zstd_codecs();
  if (out.zarr_format == 3) rule.chunk_byte_size = 1 + pick(random, 2000);
  out.rules = {rule};
  out.elide_fill = pick(random, 2) == 0;
  return out;
}

/// A source in host memory, of which so many threads must wait for a part at a time.
class met_source final : public element_source {
 public:
  met_source(const host_view& all, unsigned threads)
      : all_(all), spec_(all.spec()), all_of_(threads) {}

  const tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override { return std::size_t{16} << 20; }
  const void* lane() const noexcept override { return this; }
  double pin_seconds() const override { return 0; }
  result<std::unique_ptr<source_part>> begin(const box& part, bool) override {
    ++parts;
    return std::unique_ptr<source_part>(std::make_unique<met_part>(subview(all_, part), all_of_));
  }
  result<owned_elements> read(const box&, memory_resource&) override {
    return error{errc::unsupported, "read"};
  }

  int parts = 0;

 private:
  class met_part final : public source_part {
   public:
    met_part(const host_view& view, unsigned threads) : view_(view), missing_(threads) {}

    result<host_view> wait() override {
      std::unique_lock lock(mutex_);
      if (missing_ != 0) --missing_;
      met_.notify_all();
      const auto all_here = [&] { return missing_ == 0; };
      if (!met_.wait_for(lock, std::chrono::seconds(60), all_here))
        return error{errc::device, "too few threads"};
      return view_;
    }
    bytes_view memory() const override { return {}; }

   private:
    const host_view view_;
    std::mutex mutex_;
    std::condition_variable met_;
    unsigned missing_;
  };

  const host_view all_;
  const tensor_spec spec_;
  const unsigned all_of_;
};

void check_clean(const fake_device& device, std::size_t tensors) {
  CHECK(device.live_allocations() == tensors);
  CHECK(device.pinned_ranges() == 0);
}

}  // namespace

TEST_CASE("what is saved from devices is what the host would have saved") {
  const thread_pool pool(3);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    fake_device first(seed);
    fake_device second(seed + 1, std::size_t{64} << 20, 1);
    first.set_kernels(seed % 2 == 0);
    model made(random, {&first, &second}, 6);
    save_options options = random_options(random);
    options.device_copy = seed % 3 == 0;
    context how;
    if (pick(random, 2) == 0) how.executor = pool.executor();
    if (pick(random, 2) == 0) how.limit.bytes_in_flight = 1 + pick(random, 5000);
    const test::temp_directory dir;
    if (seed % 4 < 2) {
      const save_report report = save(dir / "m.zarr", made.leaves, options, how).value();
      CHECK(report.blocked_seconds == report.seconds);
    } else {
      const std::vector<leaf> leaves = made.leaves;
      pending<save_report> saving = save_async(dir / "m.zarr", leaves, options, how);
      made.free();  // nobody needs them any more
      const save_report report = saving.get().value();
      CHECK(report.blocked_seconds > 0);
      CHECK(report.leaves.size() == 6);
    }
    made.check(open(dir / "m.zarr").value());
    made.free();
    check_clean(first, 0);
    check_clean(second, 0);
  }
}

TEST_CASE("a copy on the device returns before anything goes to the host") {
  random_source random(1);
  fake_device device(1);
  fake_device full(2, 300000);
  const test::temp_directory dir;
  const testing::manual_executor later;
  context how{.executor = later};
  const dims shape{256, 256};
  auto tensor = std::make_unique<strided_device>(fake_space{&device}, dtype_kind::float32, shape,
                                                 dense_layout(shape, 4), random);
  tensor->wait();
  const std::vector<std::byte> wanted = dense_bytes_of(tensor->on_host());
  auto saving = save_async(dir / "m.zarr", {{"w", tensor->view()}},
                           {.sync = false, .device_copy = true}, how);
  CHECK(device.count().bytes_to_host == 0);
  CHECK(device.live_allocations() == 2);
  tensor.reset();
  const auto waits = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - waits;
  later.run_all();
  const save_report report = saving.get().value();
  CHECK(report.warnings.empty());
  CHECK(report.blocked_seconds > 0);
  CHECK(report.seconds >= report.blocked_seconds + waited.count());  // it is from the call on
  CHECK(dense_bytes_of(open(dir / "m.zarr").value().load<zp::tensor>("w").value().view()) ==
        wanted);
  check_clean(device, 0);

  // Where the device has no room, the host has.
  tensor = std::make_unique<strided_device>(fake_space{&full}, dtype_kind::float32, shape,
                                            dense_layout(shape, 4), random);
  saving = save_async(dir / "n.zarr", {{"w", tensor->view()}}, {.sync = false, .device_copy = true},
                      how);
  CHECK(full.count().bytes_to_host == 256 * 256 * 4);
  later.run_all();
  const std::vector<std::string> warnings = saving.get().value().warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("\"w\": it was copied by way of the host, not on the device: "
                         "fake:0: no memory") == 0);
}

TEST_CASE("a save from a device keeps to the budget, and never has the tensor on the host") {
  random_source random(3);
  fake_device device(3);
  const thread_pool pool(4);
  const dims shape{4096, 1024};
  const strided_device tensor({&device}, dtype_kind::float32, shape, dense_layout(shape, 4),
                              random);  // 16 MiB
  tensor.wait();
  for (const std::vector<codec_spec>& codecs : {raw_codecs(), zstd_codecs()}) {
    for (const std::size_t chunk : {std::size_t{64} << 10, std::size_t{512} << 10}) {
      // Many workers have contexts of zstd of their own, which this budget has no room for.
      context how;
      if (codecs == raw_codecs()) how.executor = pool.executor();
      how.limit.memory = std::size_t{8} << 20;
      limited_resource counted(std::size_t{1} << 30);
      how.resource = &counted;
      const memory_store store;
      const auto report =
          save(any_store(store), {{"w", tensor.view()}},
               {.rules = {{.chunk_byte_size = chunk, .codecs = codecs}}, .sync = false}, how);
      REQUIRE(report);
      CHECK(counted.peak() <= how.limit.memory);
      CHECK(counted.in_use() == 0);
      CHECK(dense_bytes_of(open(any_store(store)).value().load<zp::tensor>("w").value().view()) ==
            dense_bytes_of(tensor.on_host()));
    }
  }
  check_clean(device, 1);
}

TEST_CASE("casts, attributes of other leaves and empty tensors go along") {
  random_source random(4);
  fake_device device(4);
  const strided_device numbers({&device}, dtype_kind::int16, {50, 7},
                               random_layout(random, {50, 7}, 2), random);
  const strided_device none({&device}, dtype_kind::int16, {0, 7}, dense_layout({0, 7}, 2), random);
  const std::vector<double> host{1, 2, 3};
  const memory_store store;
  save(any_store(store),
       {{"n", numbers.view()}, {"none", none.view()}, {"host", host}, {"step", 7}},
       {.rules = {{.glob = "n", .cast = dtype(dtype_kind::float64)}}})
      .value();
  const checkpoint saved = open(any_store(store)).value();
  CHECK(saved.load<std::vector<double>>("host").value() == host);
  CHECK(saved.load<int>("step").value() == 7);
  CHECK(saved.load<zp::tensor>("none").value().spec() == tensor_spec{dtype_kind::int16, {0, 7}});
  const tensor read = saved.load<zp::tensor>("n").value();
  tensor wanted = tensor::make({dtype_kind::float64, {50, 7}}).value();
  REQUIRE(detail::cast_elements(wanted.mutable_view(), numbers.on_host()));
  CHECK(dense_bytes_of(read.view()) == dense_bytes_of(wanted.view()));
}

TEST_CASE(
    "each fault of a device fails the save, names leaf and device, keeps the old checkpoint") {
  const thread_pool pool(3);
  const test::temp_directory dir;
  const std::vector<float> old{1, 2, 3};
  save(dir / "m.zarr", {{"old", old}}, {.sync = false}).value();
  int failures = 0;
  for (const device_fault fault : device_faults) {
    for (std::uint64_t at = 0; at < 36; at += zarrpoint_test::is_thinned ? 5 : 1) {
      CAPTURE(to_string(fault));
      CAPTURE(at);
      random_source random(at);
      fake_device device(at);
      context how;
      if (at % 2 == 0) how.executor = pool.executor();
      how.limit.memory = std::size_t{1} << 20;
      const dims shape{64, 1024};
      const layout places =
          at % 4 < 2 ? dense_layout(shape, 4) : layout{dims{1024 * 8, 8}, 0, 64 * 1024 * 8};
      {
        const strided_device a({&device}, dtype_kind::float32, shape, places, random);
        const strided_device b({&device}, dtype_kind::float32, shape, places, random);
        const std::vector<leaf> leaves{{"net/a", a.view(device.new_stream())},
                                       {"net/b", b.view(device.new_stream())}};
        const save_options options{
            .rules = {{.chunk_byte_size = 16384}}, .sync = false, .device_copy = at % 3 == 0};
        device.arm(fault, at);
        const location where = dir / (at % 5 == 0 ? "new.zarr" : "m.zarr");
        const auto status = at % 2 == 0 ? save(where, leaves, options, how)
                                        : save_async(where, leaves, options, how).get();
        // The device may refuse to pin, and to have memory for copies of its own.
        const bool is_spared = fault == device_fault::pin || fault == device_fault::allocation;
        if (device.fired() && !is_spared) {
          ++failures;
          REQUIRE_FALSE(status);
          CHECK(status.failure().code == errc::device);
          CHECK(status.failure().message.find("save \"net/") != std::string::npos);
          CHECK(status.failure().message.find("fake:0: ") != std::string::npos);
          CHECK(open(dir / "m.zarr").value().load<std::vector<float>>("old").value() == old);
          CHECK_FALSE(open(dir / "new.zarr"));
        } else {
          REQUIRE(status);
          const auto read = open(where).value().load<zp::tensor>("net/b").value();
          CHECK(dense_bytes_of(read.view()) == dense_bytes_of(b.on_host()));
          save(dir / "m.zarr", {{"old", old}}, {.sync = false}).value();
          std::filesystem::remove_all(dir / "new.zarr");
        }
        device.recover();
      }
      check_clean(device, 0);
    }
  }
  CHECK(failures > (zarrpoint_test::is_thinned ? 10 : 80));
}

TEST_CASE("small leaves share slots, and are waited for together") {
  random_source random(8);
  fake_device device(8);
  const thread_pool pool(4);
  const test::temp_directory dir;
  std::vector<std::unique_ptr<strided_device>> tensors;
  std::vector<leaf> leaves;
  std::size_t bytes = 0;
  const std::size_t streams[] = {device.new_stream(), device.new_stream()};
  for (std::size_t i = 0; i < 600; ++i) {
    // Up to a quarter of a slot of 64 KiB; rows or columns, and some that are not a run of bytes.
    const dims shape{static_cast<index_t>(pick(random, 64)), 64};
    const index_t rows = shape[0];
    const layout places = i % 50 == 7  ? layout{dims{512, 8}, 0, 64 * 512}
                          : i % 3 == 1 ? layout{dims{4, 4 * rows}, 0, 64 * 64 * 4}
                                       : dense_layout(shape, 4);
    tensors.push_back(std::make_unique<strided_device>(fake_space{&device}, dtype_kind::float32,
                                                       shape, places, random));
    tensors.back()->wait();
    leaves.emplace_back("s/" + std::to_string(i), tensors.back()->view(streams[i % 2]));
    bytes += byte_count(tensors.back()->view().spec()).value();
  }
  std::vector<std::vector<std::byte>> wanted;
  for (const auto& one : tensors) wanted.push_back(dense_bytes_of(one->on_host()));
  for (const bool threads : {false, true}) {
    context how;
    how.limit.memory = std::size_t{64} << 20;
    if (threads) how.executor = pool.executor();
    how = with_scratch(how);
    // A ring of small slots, which the save finds there.
    const fake_space space{&device};
    const auto ring = how.scratch->kept().get<detail::staging_ring<fake_space>>(0, [&] {
      return std::make_shared<detail::staging_ring<fake_space>>(
          space, detail::ring_options{.slots = 3, .slot_bytes = std::size_t{64} << 10});
    });
    const fake_device::counters before = device.count();
    const auto staged = detail::stage_leaves(std::span<const leaf>(leaves), {}, how).value();
    // Each slot but the last of a stream is full but for a leaf; each of 12 comes alone.
    const std::uint64_t slots = bytes / (48 << 10) + 2 + 12;
    CHECK(device.count().events - before.events <= slots);
    CHECK(device.count().pageable_bytes == before.pageable_bytes);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      REQUIRE(dense_bytes_of(staged.leaves[i].in_host->view) == wanted[i]);
  }
  check_clean(device, leaves.size());
}

TEST_CASE("leaves that repeat few bytes share no slot: to copy them on is work for all threads") {
  fake_device device(12);
  const fake_space space{&device};
  const float value = 1.5F;
  std::byte* const memory = device.allocate(4);
  space.copy_from_host(memory, reinterpret_cast<const std::byte*>(&value), {.width = 4}).value();
  detail::wait_for_stream(space).value();
  const tensor_view<fake_space> view{memory, dtype_kind::float32, {600, 1000}, {0, 0}, space, {}};
  const std::vector<leaf> leaves{{"a", view}, {"b", view}};
  const context how = with_scratch({});
  const auto before = device.count().events;
  const auto staged = detail::stage_leaves(std::span<const leaf>(leaves), {}, how).value();
  CHECK(device.count().events - before == 2);
  for (const detail::staged_leaf& one : staged.leaves) {
    const auto bytes = dense_bytes_of(one.in_host->view);
    REQUIRE(bytes.size() == 2'400'000);
    CHECK(std::memcmp(bytes.data(), &value, 4) == 0);
    CHECK(std::memcmp(bytes.data(), bytes.data() + 4, bytes.size() - 4) == 0);  // all the same
  }
  device.free(memory);
}

TEST_CASE("of small leaves in one slot the one whose copy is refused is named") {
  const thread_pool pool(3);
  for (const device_fault fault : device_faults) {
    for (std::uint64_t at = 0; at < 16; ++at) {
      CAPTURE(to_string(fault));
      CAPTURE(at);
      random_source random(at);
      fake_device device(at);
      context how;
      if (at % 2 == 0) how.executor = pool.executor();
      {
        std::vector<std::unique_ptr<strided_device>> tensors;
        std::vector<leaf> leaves;
        for (std::size_t i = 0; i < 10; ++i) {
          const dims shape{100, static_cast<index_t>(1 + i)};
          tensors.push_back(std::make_unique<strided_device>(
              fake_space{&device}, dtype_kind::int16, shape, dense_layout(shape, 2), random));
          tensors.back()->wait();
          leaves.emplace_back("s/" + std::to_string(i), tensors.back()->view());
        }
        device.arm(fault, at);
        const memory_store store;
        const auto status = save_async(any_store(store), leaves, {}, how).get();
        if (!device.fired() || fault == device_fault::pin || fault == device_fault::allocation) {
          REQUIRE(status);
          const checkpoint saved = open(any_store(store)).value();
          for (std::size_t i = 0; i < 10; ++i)
            CHECK(dense_bytes_of(saved.load<zp::tensor>(leaves[i].name()).value().view()) ==
                  dense_bytes_of(tensors[i]->on_host()));
        } else {
          REQUIRE_FALSE(status);
          CHECK(status.failure().code == errc::device);
          CHECK(status.failure().message.find("fake:0: ") != std::string::npos);
          const std::string named =
              fault == device_fault::copy ? "save \"s/" + std::to_string(at) + "\"" : "save \"s/";
          CHECK(status.failure().message.find(named) != std::string::npos);
        }
        device.recover();
      }
      check_clean(device, 0);
    }
  }
}

TEST_CASE("all threads copy on from one slot") {
  random_source random(6);
  const thread_pool pool(4);
  context how{.executor = pool.executor()};
  how = with_scratch(how);
  const std::vector<leaf> leaves{{"w", 1}};
  // 10 MiB, in parts of 4 MiB at most: of rows, and of parts of one row.
  for (const dims& shape : {dims{10, 1 << 20}, dims{1, 10 << 20}, dims{640, 16, 1024}}) {
    const std::vector<std::byte> values = random_bytes(random, std::size_t{10} << 20);
    const host_view all = dense_view(values.data(), {dtype_kind::uint8, shape});
    auto source = std::make_unique<met_source>(all, 2);
    met_source& met = *source;
    detail::staged_leaf out;
    detail::leaf_stager stager(leaves, how);
    stager.add(0, std::move(source), out).value();
    stager.run().value();
    CHECK(met.parts == 3);
    CHECK(out.spec() == all.spec());
    CHECK(dense_bytes_of(out.in_host->view) == values);
  }
  const std::vector<std::byte> values = random_bytes(random, std::size_t{4} << 20);
  const host_view all = dense_view(values.data(), {dtype_kind::uint8, {4 << 20}});
  detail::staged_leaf out;
  detail::leaf_stager stager(leaves, how);
  stager.add(0, std::make_unique<met_source>(all, pool.executor().concurrency()), out).value();
  REQUIRE(stager.run());
  CHECK(dense_bytes_of(out.in_host->view) == values);
}

TEST_CASE("once save_async has returned the tensors may be resized, moved or destroyed") {
  for (const bool device_copy : {false, true}) {
    fake_device device(7);
    const testing::manual_executor later;
    const context how{.executor = later};
    const std::vector<float> values[] = {std::vector<float>(1000, 1), std::vector<float>(1000, 2),
                                         std::vector<float>(1000, 3)};
    const auto make = [&](std::size_t i) {
      auto out = std::make_unique<device_tensor<float>>(fake_space{&device},
                                                        std::vector<std::size_t>{1000});
      out->upload(values[i]);
      return out;
    };
    const auto resized = make(0);
    const auto moved_from = make(1);
    auto destroyed = make(2);
    const memory_store store;
    auto saving =
        save_async(any_store(store), {{"r", *resized}, {"m", *moved_from}, {"d", *destroyed}},
                   {.device_copy = device_copy}, how);
    resized->resize({500});
    const device_tensor<float> elsewhere = std::move(*moved_from);
    destroyed.reset();
    later.run_all();
    REQUIRE(saving.get());
    const checkpoint saved = open(any_store(store)).value();
    CHECK(saved.load<std::vector<float>>("r").value() == values[0]);
    CHECK(saved.load<std::vector<float>>("m").value() == values[1]);
    CHECK(saved.load<std::vector<float>>("d").value() == values[2]);
  }
}

TEST_CASE("leaves of any size are staged, those whose elements no slot holds included") {
  random_source random(5);
  fake_device device(5);
  context how;
  how.limit.memory = std::size_t{1} << 20;  // slots of 64 KiB
  const dtype vast = dtype::raw_bytes(100000);
  const strided_device one({&device}, vast, {3}, dense_layout({3}, 100000), random);
  const strided_device small({&device}, dtype_kind::uint8, {}, dense_layout({}, 1), random);
  context shared = with_scratch(how);
  const std::vector<leaf> leaves{{"one", one.view()}, {"small", small.view()}, {"host", 5}};
  const detail::staged_leaves staged =
      detail::stage_leaves(std::span<const leaf>(leaves), {}, shared).value();
  REQUIRE(staged.leaves.size() == 3);
  CHECK(dense_bytes_of(staged.leaves[0].in_host->view) == dense_bytes_of(one.on_host()));
  CHECK(dense_bytes_of(staged.leaves[1].in_host->view) == dense_bytes_of(small.on_host()));
  CHECK_FALSE(staged.leaves[2].in_host);
  CHECK(staged.pin_seconds > 0);
}

}  // namespace stage_leaves_test
