// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/interop/orbax/orbax_sharding.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace orbax_sharding_test {

using namespace zarrpoint;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

orbax::tree_store tree_of(const std::string& path) {
  const auto base = file_store::open(path, {.read_only = true}).value();
  return orbax::tree_store::open(base, store_key::root()).value();
}

/// `_sharding` with one array, "a/b" in base64.
result<std::vector<std::pair<std::string, orbax::sharding>>> read(const std::string& value) {
  return orbax::read_shardings(
      as_bytes(dump_json(json::object{{detail::to_base64(as_bytes("a/b")), value}})));
}

bool fails(const std::string& value, std::string_view text) {
  const auto made = read(value);
  if (made) return false;
  INFO(to_string(made.failure()));
  return made.failure().message.find(text) != std::string::npos;
}

dims dims_of(const json& from) {
  dims out;
  for (const json& each : *from.if_array()) out.push_back(*each.to_int64());
  return out;
}

TEST_CASE("orbax: the part of each device is JAX's, and from the parts comes the partition") {
  const json cases = parse_json(as_bytes(test::read_file(golden + "shardings.json"))).value();
  REQUIRE(cases.if_array()->size() == 12);
  for (const json& one : *cases.if_array()) {
    const auto [name, saved] = read(*one.find("sharding")->if_string()).value().at(0);
    CHECK(name == "a/b");
    const dims shape = dims_of(*one.find("shape"));
    INFO(orbax::to_string(saved.partition), " of ", to_string(box::whole(shape)));
    std::vector<box> expected;
    for (const json& part : *one.find("boxes")->if_array()) {
      box& made = expected.emplace_back();
      made.offset = made.shape = dims_of((*part.if_array())[0]);
      const dims end = dims_of((*part.if_array())[1]);
      for (std::size_t i = 0; i < end.rank(); ++i) made.shape[i] = end[i] - made.offset[i];
    }
    const auto boxes = orbax::device_boxes(saved.mesh, saved.partition, shape).value();
    CHECK(boxes == expected);
    const auto found = orbax::find_partition(saved.mesh, boxes, shape).value();
    CHECK(orbax::device_boxes(saved.mesh, found, shape).value() == expected);
    // But for axes of one device, and dimensions at the end that are whole, it is the same.
    orbax::partition_spec written = saved.partition;
    for (auto& axes : written) std::erase(axes, saved.mesh.shape.back() == 1 ? "m" : "-");
    while (!written.empty() && written.back().empty()) written.pop_back();
    CHECK(found == written);
  }
}

TEST_CASE("orbax: the shardings that a checkpoint was saved with") {
  const auto from = tree_of(golden + "sharded-8-devices-zarr2");
  const auto known = from.shardings().value();
  REQUIRE(known.size() == 3);
  CHECK(known[0].first == "col");
  CHECK(known[2].first == "w");
  const orbax::sharding& w = known[2].second;
  CHECK(w.type == "NamedSharding");
  CHECK(w.mesh ==
        orbax::device_mesh{
            {4, 2}, {"x", "y"}, {0, 1, 2, 3, 4, 5, 6, 7}, {"AxisType.Auto", "AxisType.Auto"}});
  CHECK(orbax::to_string(w.partition) == "PartitionSpec('x', 'y')");
  CHECK(orbax::to_string(known[0].second.partition) == "PartitionSpec(None, 'x')");
  const auto facts = from.array_facts().value();
  REQUIRE(facts.size() == 3);
  CHECK(facts[2].name == "w");
  const auto boxes = orbax::device_boxes(w.mesh, w.partition, {8, 12}).value();
  CHECK(boxes[3] == box({2, 6}, {2, 6}));

  const auto merged = tree_of(golden + "two-processes");
  CHECK(merged.shardings().value().at(2).second.mesh.devices ==
        std::vector<std::int64_t>{0, 1, 2048, 2049});
  CHECK(merged.array_facts().value().size() == 3);
  // Leaves by their paths; none where the files are not there.
  CHECK(tree_of(golden + "pytree-ocdbt-zarr3").shardings().value().at(0).first ==
        "params/blocks/0/w");
  CHECK(tree_of(golden + "strings-and-none").shardings().value().empty());
  CHECK(tree_of(golden + "strings-and-none").array_facts().value().empty());
  const auto random = tree_of(golden + "rich-types").array_facts().value();
  REQUIRE(random.size() == 1);
  CHECK(random[0].name == "key");
  CHECK(random[0].random_key == "threefry2x32");
  CHECK(random[0].write_shape == dims{2});
}

TEST_CASE("orbax: damaged and hostile shardings") {
  CHECK(!orbax::read_shardings(as_bytes("{")));
  CHECK(!orbax::read_shardings(as_bytes("[]")));
  CHECK(!orbax::read_shardings(as_bytes(R"({"a":""})")));
  CHECK(!orbax::read_shardings(as_bytes(R"({"YQ==":3})")));
  CHECK(read("").value().empty());
  CHECK(read(R"({"sharding_type":"SingleDeviceSharding","device_str":"cpu:0"})")
            .value()[0]
            .second.device == "cpu:0");
  const auto named = [](const std::string& rest) {
    return R"({"sharding_type":"NamedSharding",)" + rest + "}";
  };
  CHECK(fails("{", "\"a/b\""));
  CHECK(fails(named(R"("shape":3)"), "\"shape\""));
  CHECK(fails(named(R"("shape":[-1])"), "\"shape\""));
  CHECK(fails(named(R"("shape":[0])"), "has no devices"));
  CHECK(fails(named(R"("shape":[1000000,1000000])"), "more than 131072"));
  CHECK(fails(named(R"("shape":[2])"), "\"axis_names\""));
  CHECK(fails(named(R"("shape":[2],"axis_names":["x","y"])"), "\"axis_names\""));
  CHECK(fails(named(R"("shape":[2],"axis_names":["x"])"), "\"partition_spec\""));
  CHECK(fails(named(R"("shape":[2],"axis_names":["x"],"partition_spec":[3])"), "partition_spec"));
  const auto types = [&](const std::string& text) {
    return named(R"("shape":[2],"axis_names":["x"],"partition_spec":[],"axis_types":)" + text);
  };
  CHECK(read(types(R"(["AxisType.Explicit"])")).value()[0].second.mesh.axis_types ==
        std::vector<std::string>{"AxisType.Explicit"});
  CHECK(read(types("null")).value()[0].second.mesh.axis_types.empty());
  for (const char* wrong : {"3", "[3]", R"(["a","b"])"}) CHECK(fails(types(wrong), "axis_types"));
  const auto devices = [&](const std::string& mesh) {
    return named(R"("shape":[2],"axis_names":["x"],"partition_spec":[],"device_mesh":{"mesh":)" +
                 mesh + "}");
  };
  CHECK(read(devices(R"([{"id":4},{"id":1}])")));
  CHECK(fails(devices(R"([{"id":4}])"), "device_mesh"));
  CHECK(fails(devices("[1,2]"), "device_mesh"));
  CHECK(fails(devices(std::string(39, '[') + std::string(39, ']')), "device_mesh"));

  const orbax::device_mesh mesh{{2, 3}, {"x", "y"}, {}};
  using spec = orbax::partition_spec;
  const auto refused = [&](const spec& by, const dims& shape, std::string_view text) {
    const auto made = orbax::device_boxes(mesh, by, shape);
    REQUIRE(!made);
    INFO(to_string(made.failure()));
    CHECK(made.failure().code == errc::invalid_argument);
    CHECK(made.failure().message.find(text) != std::string::npos);
  };
  refused({{"z"}}, {6}, "no axis \"z\"");
  refused({{"x"}, {"x"}}, {6, 6}, "\"x\" twice");
  refused({{"x"}, {}}, {6}, "more entries");
  refused({{"x", "y"}}, {8}, "a length of 8 into 6");
  auto boxes = orbax::device_boxes(mesh, spec{{"y"}, {"x"}}, {3, 4}).value();
  CHECK(orbax::find_partition(mesh, boxes, {3, 4}).value() == spec{{"y"}, {"x"}});
  std::swap(boxes[0], boxes[1]);
  CHECK(!orbax::find_partition(mesh, boxes, {3, 4}));
  boxes.pop_back();
  CHECK(!orbax::find_partition(mesh, boxes, {3, 4}));
  CHECK(!orbax::find_partition(mesh, std::vector<box>(6), {3, 4}));
  CHECK(!orbax::find_partition(mesh, std::vector<box>(6, box({-1}, {0})), {3}));

  for (const char* bad :
       {"{}", R"({"array_metadatas":[{}]})", R"({"array_metadatas":[{"array_metadata":{}}]})",
        R"({"array_metadatas":[{"array_metadata":{"param_name":"a"}}]})"})
    CHECK(!orbax::read_array_facts(as_bytes(bad)));
  // Two processes that do not agree.
  memory_store made;
  const auto put = [&](const char* name, const std::string& text) {
    made.put(key(name), as_bytes(text)).value();
  };
  put("_METADATA", R"({"tree_metadata":{"x":{"key_metadata":[{"key":"a"}],)"
                   R"("value_metadata":{"value_type":"jax.Array"}}}})");
  for (const char* process : {"0", "1"})
    put((std::string("array_metadatas/process_") + process).c_str(),
        R"({"array_metadatas":[{"array_metadata":{"param_name":"a","write_shape":[)" +
            std::string(process) + "]}}]}");
  const auto facts = orbax::tree_store::open(made, store_key::root()).value().array_facts();
  REQUIRE(!facts);
  CHECK(facts.failure().message.find("do not agree on \"a\"") != std::string::npos);
}

TEST_CASE("orbax: shardings as docs/orbax.md has it") {
  namespace zp = zarrpoint;
  const auto saved = tree_of(golden + "sharded-8-devices-zarr2");
  for (const auto& [name, how] : saved.shardings().value()) {
    if (how.type != "NamedSharding") continue;
    const auto parts = zp::orbax::device_boxes(how.mesh, how.partition, {16, 12});
    std::printf("%s %s\n", name.c_str(), zp::orbax::to_string(how.partition).c_str());
    if (parts) std::printf("device 0 has %s\n", to_string((*parts)[0]).c_str());
  }
}

}  // namespace orbax_sharding_test
