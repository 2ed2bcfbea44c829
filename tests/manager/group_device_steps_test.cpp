// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Steps of several processes whose shards live on devices.

#include <zarrpoint/all_codecs.hpp>
#include <zarrpoint/dcp_save.hpp>
#include <zarrpoint/devices.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/orbax.hpp>
#include <zarrpoint/stores.hpp>

#include "support/executors.hpp"
#include "support/fake_device.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace group_device_steps_test {

using namespace zarrpoint;
using zarrpoint_test::device_tensor;
using zarrpoint_test::fake_device;
using zarrpoint_test::fake_space;

constexpr int ranks = 2;
constexpr index_t rows = 256, columns = 256;  // of each process
constexpr std::size_t bytes = rows * columns * sizeof(float);

error wrong(const char* what) { return {errc::corrupt, what}; }

/// One text if all ranks have it: "done", or the error.
std::string run(const std::function<result<void>(const thread_communicator&)>& work) {
  std::vector<std::string> texts;
  for (const result<void>& one : thread_world::run(ranks, work))
    texts.push_back(one ? "done" : to_string(one.failure()));
  CHECK(texts == std::vector<std::string>(ranks, texts.front()));
  return texts.front();
}

/// Weights: bytes of which few are frequent.
std::vector<float> weights(int rank, std::int64_t step) {
  std::vector<float> out(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] =
        std::ldexp(1.0F + static_cast<float>((i * 7919) % 256) / 256, -static_cast<int>(i % 5)) +
        static_cast<float>(rank) + static_cast<float>(step);
  return out;
}

shard_metadata part_of(int rank) {
  return {.key = "w",
          .type = dtype_kind::float32,
          .local_shape = {rows, columns},
          .global_shape = {ranks * rows, columns},
          .global_offset = {rank * rows, 0}};
}

/// Saves two steps, whose tensors are gone as soon as `save` has returned.
result<void> save_steps(const thread_communicator& self, const std::string& path,
                        manager_options options, bool has_room) {
  fake_device device(1, has_room ? std::size_t{64} << 20 : bytes + 4096);
  const testing::manual_executor later;
  process_group group{.ranks = self};
  group.known = megatron::strategies::table();
  group.how.executor = later;
  {
    ZARRPOINT_TRY(manager, group_checkpoint_manager::open(path, group, options));
    for (std::int64_t step = 1; step <= 2; ++step) {
      const std::vector<float> values = weights(self.rank(), step);
      auto tensor = std::make_unique<device_tensor<float>>(fake_space{&device},
                                                           std::vector<std::size_t>{rows, columns});
      tensor->upload(values);
      const std::size_t before = device.count().bytes_to_host;
      ZARRPOINT_TRY(w, sharded<device_tensor<float>>::borrow(part_of(self.rank()), *tensor));
      ZARRPOINT_CHECK(manager.save(step, state{{"w", w}, {"step", step}}));
      tensor.reset();
      // What the device has no room for has gone to the host when `save` returns, else nothing.
      if (device.count().bytes_to_host - before != (has_room ? 0 : bytes))
        return wrong("other bytes went to the host");
      later.run_all();
      ZARRPOINT_CHECK(manager.wait());
      if (device.live_allocations() != 0) return wrong("the copy is still on the device");
      const bool is_encoded = has_room && options.storage.device_encode;
      if ((device.count().kernels.encode_symbols > 0) != is_encoded)
        return wrong("it was encoded elsewhere");
      if (is_encoded && device.count().bytes_to_host - before > bytes * 9 / 10)
        return wrong("more than what is stored went to the host");

      process_group reading{.ranks = self};
      reading.known = megatron::strategies::table();
      reading.how.stores = all_formats();
      ZARRPOINT_TRY(at, manager.place_of(step));
      ZARRPOINT_TRY(into, sharded<std::vector<float>>::make(part_of(self.rank()),
                                                            std::vector<float>(values.size())));
      ZARRPOINT_CHECK(load(at, state{{"w", into}}, reading));
      if (into.value() != values) return wrong("other values");
    }
    std::size_t told = 0;
    for (const std::string& one : manager.warnings())
      told += one.find("\"w\": it was copied by way of the host") != std::string::npos;
    if (told != (has_room ? 0U : 1U)) return wrong("what was copied by the host is not told");
    ZARRPOINT_CHECK(manager.close());
  }
  return {};
}

TEST_CASE("group manager: shards on devices are copied there, where there is room") {
  const test::temp_directory folder;
  struct one_format {
    const char* name;
    any_writable_format as;
  };
  for (const one_format& to :
       {one_format{"ours", {}}, one_format{"orbax", orbax::format{}},
        one_format{"dcp", dcp::format{}}, one_format{"zarr", megatron::format{}},
        one_format{"torch_dist", megatron::format{.writes = megatron::backend::torch_dist}}}) {
    CAPTURE(to.name);
    for (const bool has_room : {true, false}) {
      CAPTURE(has_room);
      manager_options options;
      options.storage.device_copy = true;
      options.storage.sync = false;
      options.storage.format = to.as;
      const std::string path = folder / (to.name + std::string(has_room ? "" : " without room"));
      CHECK(run([&](const thread_communicator& self) {
              return save_steps(self, path, options, has_room);
            }) == "done");
    }
  }
}

TEST_CASE("group manager: shards on devices are encoded there, where that is asked for") {
  const test::temp_directory folder;
  for (const bool is_orbax : {false, true}) {
    CAPTURE(is_orbax);
    manager_options options;
    options.storage.rules = {{.glob = "w", .chunk_shape = {64, 256}, .codecs = blosc_codecs()}};
    options.storage.device_copy = options.storage.device_encode = true;
    options.storage.sync = false;
    if (is_orbax) options.storage.format = orbax::format{};
    CHECK(run([&](const thread_communicator& self) {
            return save_steps(self, folder / (is_orbax ? "orbax" : "ours"), options, true);
          }) == "done");
  }
}

}  // namespace group_device_steps_test
