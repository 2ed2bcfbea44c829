// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/shard/device_shards.hpp>
#include <zarrpoint/distributed/shard/narrow.hpp>
#include <zarrpoint/distributed/state/split_factory.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/fake_device.hpp"
#include "../support/random_rounds.hpp"
#include "../support/random_sharding.hpp"
#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace device_shards_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

using numbers = device_tensor<std::int16_t>;

/// A device, a stream and host memory for each process; all is given back at the end.
class fake_machine {
 public:
  explicit fake_machine(std::uint64_t seed, int ranks = 1) {
    for (int rank = 0; rank < ranks; ++rank) {
      devices_.emplace_back(seed + static_cast<std::uint64_t>(rank), std::size_t{256} << 20, rank);
      devices_.back().set_kernels((seed + static_cast<std::uint64_t>(rank)) % 2 == 0);
      streams_.push_back(devices_.back().new_stream());
      budgets_.emplace_back(std::size_t{1} << 30);
    }
  }
  ~fake_machine() {
    for (const fake_device& one : devices_) {
      CHECK(one.live_allocations() == 0);
      CHECK(one.pinned_ranges() == 0);
      CHECK(one.due_operations() == 0);
    }
    for (const limited_resource& one : budgets_) CHECK(one.in_use() == 0);
  }

  fake_device& device(int rank) { return devices_[static_cast<std::size_t>(rank)]; }
  limited_resource& memory(int rank) { return budgets_[static_cast<std::size_t>(rank)]; }
  fake_space space(int rank) { return {&device(rank), streams_[static_cast<std::size_t>(rank)]}; }

  /// Works on its own thread, within `bytes`.
  process_group group(const any_communicator& ranks, std::size_t bytes = SIZE_MAX) {
    process_group out = group_of(ranks);
    out.how.resource = &memory(ranks.rank());
    out.how.limit.memory = bytes;
    return out;
  }

 private:
  std::deque<fake_device> devices_;
  std::vector<std::size_t> streams_;
  std::deque<limited_resource> budgets_;
};

std::vector<std::size_t> extents_of(const shard_metadata& about) {
  const dims shape = about.data_shape();
  return {shape.begin(), shape.end()};
}

/// A shard on a device, whose upload is under way.
struct device_shard {
  tensor values;
  std::shared_ptr<numbers> on_device;
  sharded_tensor tensor_of;

  static device_shard with_values(const fake_space& space, const shard_metadata& about,
                                  std::uint64_t seed) {
    tensor values = values_of(about, seed);
    auto made = std::make_shared<numbers>(space, extents_of(about));
    made->upload(std::as_const(values).data<std::int16_t>());
    sharded_tensor shard = sharded<numbers>::borrow(about, *made).value();
    return {std::move(values), std::move(made), std::move(shard)};
  }
  static device_shard with_room(const fake_space& space, const shard_metadata& about) {
    auto made = std::make_shared<numbers>(space, extents_of(about));
    sharded_tensor shard = sharded<numbers>::borrow(about, *made).value();
    return {{}, std::move(made), std::move(shard)};
  }

  /// What is wrong with what was loaded, as `wrong_in` has it.
  std::string wrong(std::uint64_t seed) const {
    return wrong(seed, tensor_of.metadata().global_shape, shard_padding::zeros);
  }
  std::string wrong(std::uint64_t seed, const dims& stored, shard_padding padding) const {
    tensor found = tensor::make(tensor_of.metadata().data_spec()).value();
    const std::vector<std::int16_t> loaded = on_device->download();
    std::copy(loaded.begin(), loaded.end(), found.data<std::int16_t>().begin());
    return wrong_in(sharded<tensor>::make(tensor_of.metadata(), std::move(found)).value(), seed,
                    stored, padding);
  }
};

shard_metadata rows_of(index_t rank, index_t ranks, const dims& global) {
  shard_metadata out{.key = "w",
                     .type = dtype_kind::int16,
                     .local_shape = global,
                     .global_shape = global,
                     .global_offset = dims(global.rank(), 0),
                     .fragmentation = dims(global.rank(), 1)};
  out.local_shape[0] = global[0] / ranks;
  out.global_offset[0] = rank * out.local_shape[0];
  (*out.fragmentation)[0] = ranks;
  return out;
}

/// Saves and loads random shards of random tensors, some on devices and some not; what is wrong.
std::string reshard(std::uint64_t seed) {
  test_support::random_source random(seed);
  const auto below = [&](index_t n) { return test_support::pick(random, 0, n - 1); };
  const int savers = static_cast<int>(1 + below(3));
  const int loaders = static_cast<int>(1 + below(3));
  fake_machine machine(seed, std::max(savers, loaders));
  std::vector<std::vector<shard_metadata>> saved(static_cast<std::size_t>(savers));
  std::vector<std::vector<shard_metadata>> wanted(static_cast<std::size_t>(loaders));
  for (index_t n = 1 + below(3); n > 0; --n) {
    const std::string key = "t" + std::to_string(n);
    const auto shards = test_support::random_tensor(random, key);
    for (const auto& one : test_support::spread(random, shards, savers))
      saved[static_cast<std::size_t>(one.rank)].push_back(one.shard);
    // In the same global shape, cut in another way.
    std::vector<box> parts;
    test_support::cut(random, box::whole(shards.front().global_shape), static_cast<int>(below(3)),
                      parts);
    for (const box& part : parts) {
      shard_metadata one = test_support::irregular(key, shards.front().global_shape, part);
      const index_t count = element_count(part.shape).value();
      if (count > 1 && below(3) == 0) one.range = flat_range{below(count), count};
      wanted[static_cast<std::size_t>(below(loaders))].push_back(one);
    }
  }
  const bool once = below(2) == 0;
  const bool later = below(2) == 0;
  const std::size_t memory = below(4) == 0 ? SIZE_MAX : std::size_t{4} << 20;  // large rings, small
  const auto tree_of = [](const std::vector<sharded_tensor>& shards) {
    state::list out;
    for (const sharded_tensor& one : shards) out.push_back(one);
    return state{{"shards", std::move(out)}};
  };
  const memory_store store;
  const std::string done =
      outcome(thread_world::run(savers, [&](const thread_communicator& self) -> result<void> {
        const int rank = self.rank();
        std::vector<device_shard> kept;
        std::vector<sharded_tensor> shards;
        for (const shard_metadata& one : saved[static_cast<std::size_t>(rank)]) {
          if (shards.size() % 3 == 2) {
            shards.push_back(with_values(one, seed));
          } else {
            kept.push_back(device_shard::with_values(machine.space(rank), one, seed));
            shards.push_back(kept.back().tensor_of);
          }
        }
        const process_group group = machine.group(self, memory);
        if (!later) {
          auto report = save(location(store), tree_of(shards), group);
          for (const device_shard& one : kept) one.on_device->download();  // replicas are not saved
          return std::move(report).transform([](auto&&) {});
        }
        async_saves saves(group);
        ZARRPOINT_CHECK(saves.schedule(location(store), tree_of(shards)));
        for (device_shard& one : kept) {  // what is staged may change
          const std::vector<std::int16_t> other(one.on_device->size(), 7);
          one.on_device->upload(other);
          one.on_device->download();
        }
        return saves.finalize().transform([](auto&&) {});
      }));
  if (done != "done") return "save: " + done;
  return outcome(thread_world::run(loaders, [&](const thread_communicator& self) -> result<void> {
    const int rank = self.rank();
    std::vector<device_shard> kept;
    std::vector<sharded_tensor> shards;
    for (const shard_metadata& one : wanted[static_cast<std::size_t>(rank)]) {
      kept.push_back(device_shard::with_room(machine.space(rank), one));
      shards.push_back(kept.back().tensor_of);
    }
    ZARRPOINT_CHECK(load(location(store), tree_of(shards), machine.group(self, memory),
                         {.validate = false, .read_once = once}));
    std::string wrong;
    for (const device_shard& one : kept) {
      wrong += one.wrong(seed);
      if (!one.on_device->loaded()) wrong += "not marked; ";
    }
    if (wrong.empty()) return {};
    return error{errc::corrupt, "wrong: " + wrong};
  }));
}

}  // namespace

TEST_CASE("device shards: random tensors go from devices and hosts to devices in other shards") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    CHECK(reshard(seed) == "done");
  }
}

TEST_CASE("device shards: many tensors, many threads and next to no memory") {
  constexpr index_t tensors = 10;
  for (const unsigned threads : {1U, 3U, 8U}) {
    for (const std::size_t kib : {512U, 1024U, 4096U}) {
      CAPTURE(threads);
      CAPTURE(kib);
      fake_machine machine(threads + kib, 2);
      const memory_store store;
      const auto about = [](index_t n, index_t rank) {
        shard_metadata out = rows_of(rank, 2, {64 + 32 * n, 100 + n});
        out.key = "t" + std::to_string(n);
        return out;
      };
      const std::string done =
          outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
            const int rank = self.rank();
            const thread_pool pool(threads);
            process_group group = machine.group(self, kib << 10);
            group.how.executor = pool.executor();
            std::vector<device_shard> kept;
            state::map tree;
            state::map request;
            for (index_t n = 0; n < tensors; ++n) {
              kept.push_back(device_shard::with_values(machine.space(rank), about(n, rank), 8));
              tree[about(n, rank).key] = kept.back().tensor_of;
              kept.push_back(device_shard::with_room(machine.space(rank), about(n, 1 - rank)));
              request[about(n, rank).key] = kept.back().tensor_of;
            }
            ZARRPOINT_CHECK(save(location(store), state(tree), group));
            ZARRPOINT_CHECK(load(location(store), state(request), group));
            for (std::size_t i = 1; i < kept.size(); i += 2) {
              const std::string wrong = kept[i].wrong(8);
              if (!wrong.empty()) return error{errc::corrupt, wrong};
            }
            return {};
          }));
      CHECK(done == "done");
    }
  }
}

TEST_CASE("device shards: fused weights are parts of one tensor on a device") {
  fake_machine machine(12, 2);
  const memory_store store;
  const auto rows = [](int rank) {
    return from_rank_offsets("wv", {dtype_kind::int16, {10, 30}}, {.offsets = {{0, rank, 2}}})
        .value();
  };
  const std::string done =
      outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
        const int rank = self.rank();
        device_shard mine = device_shard::with_values(machine.space(rank), rows(rank), 9);
        const auto fused = sharded<numbers>::borrow(rows(rank), *mine.on_device).value();
        ZARRPOINT_TRY(factory, split_factory(fused));
        ZARRPOINT_CHECK(save(location(store), state{{"wv", factory}}, machine.group(self)));
        device_shard room = device_shard::with_room(machine.space(rank), rows(rank));
        const auto target = sharded<numbers>::borrow(rows(rank), *room.on_device).value();
        ZARRPOINT_TRY(into, split_factory(target));
        ZARRPOINT_TRY(report, load(location(store), state{{"wv", into}}, machine.group(self)));
        const bool in_place =
            report.loaded.find("wv")->if_tensor()->get<numbers>() == room.on_device.get();
        if (in_place && room.on_device->loaded() && room.wrong(9).empty()) return {};
        return error{errc::corrupt, room.wrong(9)};
      }));
  CHECK(done == "done");
}

TEST_CASE("device shards: what is narrowed is a part of the tensor on the device") {
  // Rows 2 to 6 of 10, or columns 5 to 25 of 30, of each of 2 processes.
  for (const axis_range to : {axis_range{0, 2, 4}, axis_range{1, 5, 20}}) {
    fake_machine machine(14, 2);
    const memory_store store;
    const std::string done =
        outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
          const int rank = self.rank();
          const shard_metadata about = rows_of(rank, 2, {20, 30});
          const device_shard mine = device_shard::with_values(machine.space(rank), about, 9);
          const auto whole = sharded<numbers>::borrow(about, *mine.on_device).value();
          ZARRPOINT_TRY(part, narrow(whole, to));
          ZARRPOINT_CHECK(save(location(store), state{{"w", *part}}, machine.group(self)));
          const device_shard room = device_shard::with_room(machine.space(rank), about);
          const std::vector<std::int16_t> before(300, 7);
          room.on_device->upload(before);
          ZARRPOINT_TRY(target, narrow(room.tensor_of, to));
          CHECK_FALSE(target->host_accessible());
          ZARRPOINT_CHECK(load(location(store), state{{"w", *target}}, machine.group(self)));
          const std::vector<std::int16_t> found = room.on_device->download();
          for (index_t i = 0; i < 300; ++i) {
            const index_t at = to.axis == 0 ? i / 30 : i % 30;
            const bool inside = at >= to.start && at < to.start + to.length;
            const auto n = static_cast<std::size_t>(i);
            const std::int16_t wanted =
                inside ? std::as_const(mine.values).data<std::int16_t>()[n] : std::int16_t{7};
            if (found[n] != wanted) return error{errc::corrupt, "element " + std::to_string(i)};
          }
          return {};
        }));
    CHECK(done == "done");
  }
}

TEST_CASE("device shards: padding is put there part by part, zeros or the last elements") {
  const dims stored{200, 3000};
  for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
    for (const bool once : {false, true}) {
      fake_machine machine(15, 2);
      const memory_store store;
      CHECK(save_by(2, store, [&](int rank) {
              return state{{"w", with_values(rows_of(rank, 2, stored), 9)}};
            }) == "done");
      const std::string done =
          outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
            const int rank = self.rank();
            // Blocks so small that some parts have padding alone.
            const process_group group = machine.group(self, std::size_t{4} << 20);
            shard_metadata about = rows_of(once ? 0 : rank, once ? 1 : 2, {500, 3500});
            about.replica = once ? rank : 0;
            about.allow_shape_mismatch = true;
            const device_shard room = device_shard::with_room(machine.space(rank), about);
            ZARRPOINT_CHECK(load(location(store), state{{"w", room.tensor_of}}, group,
                                 {.read_once = once, .padding = padding}));
            const std::string wrong = room.wrong(9, stored, padding);
            if (wrong.empty()) return {};
            return error{errc::corrupt, wrong};
          }));
      CHECK(done == "done");
    }
  }
}

TEST_CASE("device shards: in the layout of Megatron-Core, too") {
  const test::temp_directory dir;
  fake_machine machine(13, 2);
  const dims global = {40, 30};
  const std::string done =
      outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
        const int rank = self.rank();
        process_group group = machine.group(self);
        group.known = megatron::strategies::table();
        const device_shard mine =
            device_shard::with_values(machine.space(rank), rows_of(rank, 2, global), 10);
        ZARRPOINT_CHECK(
            save(dir / "m", state{{"w", mine.tensor_of}}, group, {.sharded = {"zarr", 1}}));
        const device_shard room =
            device_shard::with_room(machine.space(rank), rows_of(1 - rank, 2, global));
        ZARRPOINT_CHECK(load(dir / "m", state{{"w", room.tensor_of}}, group));
        if (room.wrong(10).empty()) return {};
        return error{errc::corrupt, room.wrong(10)};
      }));
  CHECK(done == "done");
}

TEST_CASE("device shards: parts are whole units, a large unit goes through blocks") {
  fake_machine machine(1);
  limited_resource small(1 << 20);
  context how = with_scratch({.limit = {.memory = std::size_t{1} << 20}, .resource = &small});
  const shard_metadata about = rows_of(1, 2, {2000, 300});
  const device_shard room = device_shard::with_room(machine.space(0), about);
  const tensor values = values_of(about, 3);
  const auto fill = [&](const dims& unit, std::vector<box>& parts) {
    return room.tensor_of.fill(
        [&](const box& part, const mutable_host_view& into) -> result<void> {
          parts.push_back(part);
          copy_elements(into, subview(values.view(), selection(part)));
          return {};
        },
        how, unit);
  };
  for (const index_t unit : {1, 64, 100, 300}) {
    std::vector<box> parts;
    REQUIRE(fill({unit, 300}, parts));
    CHECK(room.wrong(3) == "");
    CHECK(parts.size() > 3);
    for (std::size_t i = 1; i < parts.size(); ++i) CHECK((1000 + parts[i].offset[0]) % unit == 0);
  }
  how.scratch.reset();
  CHECK(small.in_use() == 0);
  CHECK(small.peak() <= (128 << 10) + 300 * 600);
}

TEST_CASE("device shards: as many parts are read at the same time as there are blocks") {
  fake_machine machine(7);
  const thread_pool pool(4);
  const context how = with_scratch({.executor = pool.executor(),
                                    .limit = {.memory = std::size_t{1} << 20},
                                    .resource = &machine.memory(0)});
  const shard_metadata about = rows_of(1, 2, {2000, 300});
  const device_shard room = device_shard::with_room(machine.space(0), about);
  const tensor values = values_of(about, 3);
  std::mutex mutex;
  std::condition_variable changed;
  int now = 0;
  int most = 0;
  REQUIRE(room.tensor_of.fill(
      [&](const box& part, const mutable_host_view& into) -> result<void> {
        std::unique_lock lock(mutex);
        most = std::max(most, ++now);
        changed.notify_all();
        // The first waits for a second.
        changed.wait_for(lock, std::chrono::seconds(60), [&] { return most >= 2; });
        copy_elements(into, subview(values.view(), selection(part)));
        --now;
        return {};
      },
      how));
  CHECK(most == 2);  // an eighth of 1 MiB is two blocks
  CHECK(room.wrong(3) == "");
}

TEST_CASE("device shards: a load takes a few blocks of host memory, whatever the tensor takes") {
  fake_machine machine(2, 2);
  constexpr index_t rows = random_rounds(index_t{4096});
  const dims global = {rows, 2048};  // 16 MiB, and a quarter under sanitizers
  const memory_store store;
  REQUIRE(save_by(1, location(store), [&](int) {
            return state{{"w", with_values(rows_of(0, 1, global), 5)}};
          }) == "done");
  const std::string done =
      outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
        const device_shard room =
            device_shard::with_room(machine.space(self.rank()), rows_of(self.rank(), 2, global));
        ZARRPOINT_CHECK(load(location(store), state{{"w", room.tensor_of}},
                             machine.group(self, std::size_t{16} << 20)));
        const std::string wrong = room.wrong(5);
        if (wrong.empty()) return {};
        return error{errc::corrupt, wrong};
      }));
  CHECK(done == "done");
  for (const int rank : {0, 1}) {
    CHECK(machine.memory(rank).peak() <= std::size_t{5} << 20);
    // By way of pinned memory, but for what the test itself downloaded.
    CHECK(machine.device(rank).count().pageable_bytes == std::size_t{2048} * rows);
  }
}

TEST_CASE("device shards: each fault in a load is the error of all, and the target is not loaded") {
  const dims global = {64, 100};
  const memory_store store;
  REQUIRE(save_by(1, location(store), [&](int) {
            return state{{"w", with_values(rows_of(0, 1, global), 5)}};
          }) == "done");
  for (const device_fault fault : device_faults) {
    bool fired = true;
    for (std::uint64_t n = 0; fired; ++n) {
      CAPTURE(std::string(to_string(fault)));
      CAPTURE(n);
      fake_machine machine(n, 2);
      const auto loaded =
          thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
            device_shard room = device_shard::with_room(machine.space(self.rank()),
                                                        rows_of(self.rank(), 2, global));
            room.on_device->mark_loaded(true);
            if (self.rank() == 1) machine.device(1).arm(fault, n);
            const auto done = load(location(store), state{{"w", room.tensor_of}},
                                   machine.group(self, std::size_t{4} << 20));
            if (room.on_device->loaded() != static_cast<bool>(done))
              return error{errc::corrupt, "marked as what it is not"};
            if (!done) return done.failure();
            if (self.rank() == 1) machine.device(1).recover();
            if (!room.wrong(5).empty()) return error{errc::corrupt, "wrong"};
            return {};
          });
      fired = machine.device(1).fired();
      const std::string text = outcome(loaded);
      const bool harmless = fault == device_fault::pin || fault == device_fault::allocation;
      CAPTURE(text);
      if (!fired || harmless) {
        CHECK(text == "done");
      } else if (fault != device_fault::lost || text != "done") {  // lost when all was there
        CHECK(text.find("device: rank 1: load \"w\": ") == 0);
        CHECK(text.find("fake:1: ") != std::string::npos);
      }
      machine.device(1).recover();
    }
  }
}

TEST_CASE("device shards: a save takes a few blocks of host memory, whatever the tensor takes") {
  constexpr index_t rows = random_rounds(index_t{4096});
  const dims global = {rows, 2048};  // 16 MiB, and a quarter under sanitizers
  for (const bool strided : {false, true}) {
    fake_machine machine(strided ? 4 : 3, 2);
    const memory_store store;
    const std::string done =
        outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
          const int rank = self.rank();
          shard_metadata about = rows_of(rank, 2, global);
          device_shard mine = device_shard::with_values(machine.space(rank), about, 6);
          state tree = {{"w", mine.tensor_of}};
          if (strided) {  // every other column, which is a tensor, too
            tensor_view<fake_space> view = handler_of<numbers>::view(*mine.on_device);
            view.shape[1] /= 2;
            view.strides[1] *= 2;
            about.local_shape[1] = about.global_shape[1] = view.shape[1];
            tree = {{"w", sharded<tensor_view<fake_space>>::make(about, view).value()}};
          }
          const auto saved =
              save(location(store), tree, machine.group(self, std::size_t{16} << 20));
          if (!saved) return saved.failure();
          CHECK(machine.device(rank).count().pageable_bytes ==
                std::size_t{2048} * rows);  // the upload
          return {};
        }));
    CHECK(done == "done");
    CHECK(machine.memory(0).peak() <= std::size_t{8} << 20);
    CHECK(machine.memory(1).peak() <= std::size_t{8} << 20);
    const dims stored = strided ? dims{rows, 1024} : global;
    CHECK(load_by(
              1, location(store),
              [&](int) {
                return state{{"w", with_room(rows_of(0, 1, stored))}};
              },
              [&](int, const group_load_report& report) {
                const sharded_tensor& found = *report.loaded.find("w")->if_tensor();
                if (!strided) return wrong_in(found, 6);
                const tensor all = values_of(rows_of(0, 1, global), 6);
                const auto* elements = all.data<std::int16_t>().data();
                std::string wrong;
                for (std::size_t n = 0; n < std::size_t{1024} * rows; ++n)
                  if (found.get<tensor>()->data<std::int16_t>()[n] != elements[2 * n]) wrong = "no";
                return wrong;
              }) == "done");
  }
}

TEST_CASE("device shards: each fault in a save is the error of all, and what was there stays") {
  const test::temp_directory dir;
  const std::string path = dir / "m.zarr";
  const dims global = {64, 100};
  const group_save_options options{.storage = {.overwrite = true, .sync = false}};
  REQUIRE(save_by(
              1, path,
              [&](int) {
                return state{{"w", with_values(rows_of(0, 1, global), 5)}};
              },
              options) == "done");
  for (const device_fault fault : device_faults) {
    for (const bool later : {false, true}) {
      bool fired = true;
      for (std::uint64_t n = 0; fired; ++n) {
        CAPTURE(std::string(to_string(fault)));
        CAPTURE(n);
        CAPTURE(later);
        fake_machine machine(n, 2);
        // Flat pieces that both have of each cell: one is sent.
        const auto saved =
            thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
              const int rank = self.rank();
              shard_metadata half = rows_of(0, 1, global);
              half.range = rank == 0 ? flat_range{0, 1700} : flat_range{1700, 6400};
              half.key = "flat";
              const device_shard rows =
                  device_shard::with_values(machine.space(rank), rows_of(rank, 2, global), 5);
              const device_shard flat = device_shard::with_values(machine.space(rank), half, 5);
              rows.on_device->download();
              flat.on_device->download();
              if (rank == 1) machine.device(1).arm(fault, n);
              const state tree = {{"w", rows.tensor_of}, {"flat", flat.tensor_of}};
              const process_group group = machine.group(self, std::size_t{4} << 20);
              if (!later) return save(path, tree, group, options).transform([](auto&&) {});
              async_saves saves(group);
              ZARRPOINT_CHECK(saves.schedule(path, tree, options));
              return saves.finalize().transform([](auto&&) {});
            });
        fired = machine.device(1).fired();
        const std::string text = outcome(saved);
        CAPTURE(text);
        const bool harmless = fault == device_fault::pin || fault == device_fault::allocation;
        if (!fired || harmless) {
          CHECK(text == "done");
        } else if (fault != device_fault::lost || text != "done") {  // lost when all was saved
          CHECK(text.find("device: ") == 0);
          CHECK(text.find("fake:1: ") != std::string::npos);
        }
        machine.device(1).recover();
      }
      CHECK(load_by(
                1, path,
                [&](int) {
                  return state{{"w", with_room(rows_of(0, 1, global))}};
                },
                [&](int, const group_load_report& report) {
                  return wrong_in(*report.loaded.find("w")->if_tensor(), 5);
                }) == "done");
    }
  }
}

}  // namespace device_shards_test
