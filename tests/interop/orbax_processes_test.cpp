// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

// Loads by many processes, here threads, of what Orbax saved.

namespace orbax_processes_test {

using namespace zarrpoint;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/";

process_group group_of(any_communicator ranks) {
  process_group out;
  out.ranks = std::move(ranks);
  out.how = context{.stores = formats<orbax::format>()};
  return out;
}

/// A float32 tensor of `shape`, of which this process wants `part`.
sharded_tensor wanted(const std::string& key, const dims& shape, const box& part) {
  shard_metadata of;
  of.key = key;
  of.type = dtype_kind::float32;
  of.global_shape = shape;
  of.local_shape = part.shape;
  of.global_offset = part.offset;
  return sharded<tensor>::make(of, tensor::make(of.data_spec()).value()).value();
}

std::vector<float> elements(const tensor& from) {
  const auto* const first = reinterpret_cast<const float*>(from.view().data);
  return {first, first + element_count(from.spec().shape).value()};
}

/// What a process that reads alone gets.
std::vector<float> alone(const std::string& path, const std::string& key, const box& part) {
  const auto from = open(path, {.stores = formats<orbax::format>()}).value();
  return elements(from.load<tensor>(key, part).value());
}

/// All of a tensor is loaded by `ranks` threads, each its part; the bytes that each has read.
std::vector<std::uint64_t> load_parts(const std::string& path, const std::string& key,
                                      const dims& shape, const std::vector<box>& parts,
                                      const group_load_options& how = {}) {
  const int ranks = static_cast<int>(parts.size());
  std::vector<std::uint64_t> bytes(parts.size());
  const auto results =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        const auto rank = static_cast<std::size_t>(self.rank());
        const sharded_tensor mine = wanted(key, shape, parts[rank]);
        ZARRPOINT_TRY(report, load(path, state{{key, mine}}, group_of(self), how));
        bytes[rank] = report.bytes_read;
        const tensor* const loaded = report.loaded.find(key)->if_tensor()->get<tensor>();
        if (elements(*loaded) == alone(path, key, parts[rank])) return {};
        return error{errc::corrupt, "rank " + std::to_string(rank) + " has other elements"};
      });
  for (const auto& each : results) {
    INFO((each ? std::string() : to_string(each.failure())));
    CHECK(each);
  }
  return bytes;
}

TEST_CASE("orbax: many processes load a leaf in another sharding than it was saved in") {
  const orbax::device_mesh mesh{{2, 3}, {"a", "b"}, {}};
  const dims shape{16, 12};
  for (const char* name : {"sharded-8-devices-zarr2", "sharded-8-devices-zarr3", "two-processes"}) {
    for (const orbax::partition_spec& by :
         {orbax::partition_spec{{"a"}, {"b"}}, {{}, {"b", "a"}}, {{"a"}, {}}}) {
      INFO(name, " ", orbax::to_string(by));
      const auto parts = orbax::device_boxes(mesh, by, shape).value();
      // Where all is cut each element is asked for once; else there are replicas.
      load_parts(golden + name, "w", shape, parts, {.validate = by.back().empty() ? false : true});
    }
  }
}

TEST_CASE("orbax: many processes load a leaf as it was saved") {
  const auto base =
      file_store::open(golden + "sharded-8-devices-zarr3", {.read_only = true}).value();
  const auto saved = orbax::tree_store::open(base, store_key::root()).value();
  for (const auto& [name, how] : saved.shardings().value()) {
    const dims shape = name == "r" ? dims{4, 12} : dims{16, 12};
    const auto parts = orbax::device_boxes(how.mesh, how.partition, shape).value();
    load_parts(golden + "sharded-8-devices-zarr3", name, shape, parts, {.validate = false});
  }
}

TEST_CASE("orbax: one process reads what all want, and sends it to the others") {
  const dims shape{16, 12};
  const std::vector<box> whole(4, box::whole(shape));
  const std::uint64_t size = 16 * 12 * 4;
  const auto each = load_parts(golden + "sharded-8-devices-zarr3", "w", shape, whole,
                               {.validate = false, .read_once = false});
  CHECK(each == std::vector<std::uint64_t>(4, size));
  const auto once = load_parts(golden + "sharded-8-devices-zarr3", "w", shape, whole,
                               {.validate = false, .read_once = true});
  CHECK(std::accumulate(once.begin(), once.end(), std::uint64_t{0}) == size);
  CHECK(std::count(once.begin(), once.end(), size) == 1);
}

}  // namespace orbax_processes_test
