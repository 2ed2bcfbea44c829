// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/write_leaves.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_step.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>
#include <zarrpoint/interop/orbax_save/orbax_records.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>
#include <zarrpoint/members.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/failing_publisher.hpp"
#include "support/fake_device.hpp"
#include "support/hooked_publisher.hpp"
#include "support/orbax_folders.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace orbax_save_test {

using namespace zarrpoint;
using orbax::empty_value;
using orbax::tree_item;
using orbax::tree_path;
using zarrpoint_test::files_in;
using zarrpoint_test::layouts;
using zarrpoint_test::tree_options;
namespace fs = std::filesystem;

store_key key(std::string_view text) { return store_key::parse(text).value(); }

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<orbax::format>()});
}

orbax::tree_store tree_at(const std::string& path) {
  return orbax::tree_store::open(file_store::open(path, {.read_only = true}).value(),
                                 store_key::root())
      .value();
}

bool contains(const error& failure, std::string_view text) {
  INFO(to_string(failure));
  return failure.message.find(text) != std::string::npos;
}

std::vector<float> numbers(std::size_t count, float first = 0) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = first + static_cast<float>(i);
  return out;
}

tensor tensor_of(const dims& shape, dtype type = dtype_kind::float32, float first = 0) {
  const auto values = numbers(static_cast<std::size_t>(element_count(shape).value()), first);
  tensor from = tensor::make({dtype_kind::float32, shape}).value();
  if (!values.empty())
    std::memcpy(from.mutable_view().data, values.data(), values.size() * sizeof(float));
  memory_store at;
  save(at, {{"x", from}}, {.rules = {{.cast = type}}}).value();
  return open(at).value().load<tensor>("x").value();
}

bool same(const tensor& a, const tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::memcmp(a.view().data, b.view().data, byte_count(a.spec()).value()) == 0;
}

std::map<std::string, std::string> texts_in(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      out[fs::relative(entry.path(), folder).string()] = test::read_file(entry.path());
  return out;
}

json json_of(const std::string& path) {
  return parse_json(as_bytes(test::read_file(path))).value();
}

TEST_CASE("orbax save: every leaf is read back in every layout") {
  for (const tree_options& how : layouts(true)) {
    CAPTURE(how.all.zarr_format);
    CAPTURE(how.own.ocdbt);
    const test::temp_directory folder;
    const std::string path = folder / "ckpt";
    const tensor kernel = tensor_of({8, 6});
    const tensor bias = tensor_of({6}, dtype_kind::bfloat16);
    const std::vector<std::int64_t> ids{1, -2, 3};
    tree_options options = how;
    options.own.custom_metadata = json::object{{"by", "us"}};
    const save_report report = orbax::save(path,
                                           {{"params/dense/kernel", kernel},
                                            {"params/dense/bias", bias},
                                            {{"params", "blocks", 0, "w"}, ids},
                                            {{"params", "blocks", 1}, empty_value::none},
                                            {{"params", "blocks", 2}, empty_value::list},
                                            {"empty/dict", empty_value::dict},
                                            {"empty/tuple", empty_value::tuple},
                                            {"step", 1200},
                                            {"lr", 0.5},
                                            {"is_done", true},
                                            {"note", "a text \u00fc"},
                                            {"a key/it's", std::vector<float>{1}}},
                                           options)
                                   .value();
    CHECK(report.leaves.size() == 7);
    CHECK(report.bytes == 48 * 4 + 6 * 2 + 24 + 4 + 8 + 1 + 4);
    CHECK(report.stored_bytes > 0);
    CHECK(report.warnings.empty());

    const checkpoint from = opened(path).value();
    CHECK(same(from.load<tensor>("params/dense/kernel").value(), kernel));
    CHECK(same(from.load<tensor>("params/dense/bias").value(), bias));
    CHECK(from.load<std::vector<std::int64_t>>("params/blocks/0/w").value() == ids);
    CHECK(from.load<std::string>("note").value() == "a text \u00fc");
    CHECK(from.load<int>("step").value() == 1200);
    CHECK(from.names().size() == 8);

    const orbax::tree_store tree = tree_at(path);
    CHECK(tree.tree().is_ocdbt == how.own.ocdbt);
    CHECK(tree.tree().has_all_chunks);
    CHECK(tree.tree().custom_metadata == json(json::object{{"by", "us"}}));
    CHECK(orbax::read_scalar(tree, "lr").value() == json(0.5));
    CHECK(orbax::read_scalar(tree, "is_done").value() == json(true));
    std::map<std::string, std::string> types;
    for (const orbax::tree_leaf& leaf : tree.tree().leaves) types[leaf.name] = leaf.value_type;
    CHECK(types == std::map<std::string, std::string>{{"params/dense/kernel", "np.ndarray"},
                                                      {"params/dense/bias", "np.ndarray"},
                                                      {"params/blocks/0/w", "np.ndarray"},
                                                      {"params/blocks/1", "None"},
                                                      {"params/blocks/2", "List"},
                                                      {"empty/dict", "Dict"},
                                                      {"empty/tuple", "Tuple"},
                                                      {"step", "scalar"},
                                                      {"lr", "scalar"},
                                                      {"is_done", "scalar"},
                                                      {"note", "string"},
                                                      {"a key/it's", "np.ndarray"}});
    const orbax::tree_value value = orbax::to_value(tree.tree()).value();
    const auto member = [](const orbax::tree_value& of, std::string_view name) {
      const auto at = std::find_if(of.members.begin(), of.members.end(),
                                   [&](const auto& one) { return one.first == name; });
      REQUIRE(at != of.members.end());
      return at->second;
    };
    const orbax::tree_value blocks = member(member(value, "params"), "blocks");
    CHECK(blocks.kind == orbax::value_kind::list);
    CHECK(blocks.members.size() == 3);

    const auto facts =
        orbax::read_checkpoint_facts(as_bytes(test::read_file(path + "/_CHECKPOINT_METADATA")))
            .value();
    CHECK(facts.begin_time.value() <= facts.commit_time.value());
    CHECK(*facts.item_handlers.if_string() ==
          std::string(orbax::detail::handler_name(orbax::tree_handler::standard)));
    CHECK(test::read_file(path + "/commit_success.txt") ==
          "Checkpoint commit was successful to " + path);
    CHECK(json_of(path + "/_METADATA").find("use_zarr3")->to_int64().has_value() == false);
    CHECK(*json_of(path + "/_METADATA").find("use_zarr3")->if_bool() == (how.all.zarr_format == 3));
  }
}

TEST_CASE("orbax save: the files are those of Orbax") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(600);
  orbax::save(folder / "db", {{"a/w", w}, {"note", "x"}}).value();
  CHECK(files_in(folder / "db") ==
        std::set<std::string>{"_CHECKPOINT_METADATA", "_METADATA", "_strings.json",
                              "commit_success.txt", "d", "manifest.ocdbt", "ocdbt.process_0",
                              "ocdbt.process_0/d", "ocdbt.process_0/manifest.ocdbt"});
  orbax::save(folder / "v3", {{"a/w", w}}, {.format = orbax::format{.ocdbt = false}}).value();
  CHECK(files_in(folder / "v3") == std::set<std::string>{"_CHECKPOINT_METADATA", "_METADATA",
                                                         "commit_success.txt", "a.w",
                                                         "a.w/zarr.json", "a.w/c", "a.w/c/0"});
  orbax::save(
      folder / "v2", {{"a/w", w}, {"s", 1}},
      {.zarr_format = 2, .format = orbax::format{.ocdbt = false, .arrays = orbax::array_kind::jax}})
      .value();
  CHECK(files_in(folder / "v2") ==
        std::set<std::string>{"_CHECKPOINT_METADATA", "_METADATA", "commit_success.txt", "a.w",
                              "a.w/.zarray", "a.w/0", "s", "s/.zarray", "s/0", "array_metadatas",
                              "array_metadatas/process_0"});
  // As TensorStore writes it.
  const json zarray = json_of(folder / "v2/a.w/.zarray");
  CHECK(zarray.find("fill_value")->is_null());
  CHECK(zarray.find("filters")->is_null());
  CHECK(*zarray.find("dtype")->if_string() == "<f4");
  CHECK(*zarray.find("compressor")->find("id")->if_string() == "zstd");
  CHECK(tree_at(folder / "v2").array_facts().value()[0].write_shape == dims{600});
}

TEST_CASE("orbax save: a tree of one leaf, members, and a tree without arrays") {
  for (const tree_options& how : layouts(true)) {
    const test::temp_directory folder;
    const std::vector<float> w = numbers(5);
    orbax::save(folder / "one", {{tree_path(), w}}, how).value();
    CHECK(opened(folder / "one").value().load<std::vector<float>>("").value() == w);
    CHECK(json_of(folder / "one/_METADATA").find("tree_metadata")->find("()") != nullptr);

    const std::map<std::string, std::vector<float>> members{{"a", w}, {"b", {7}}};
    const std::map<std::string, std::vector<float>> none;
    orbax::save(folder / "members", {{{"list", 0}, members}, {"none", none}}, how).value();
    const auto tree = tree_at(folder / "members").tree();
    REQUIRE(tree.leaves.size() == 3);
    CHECK(tree.leaves[0].path ==
          std::vector<orbax::tree_key>{{"list", false}, {"0", true}, {"a", false}});
    CHECK(tree.leaves[2].value_type == "Dict");
    CHECK(opened(folder / "members").value().load<std::vector<float>>("list/0/b").value() ==
          std::vector<float>{7});

    orbax::save(folder / "text", {{"note", "only this"}}, how).value();
    CHECK(opened(folder / "text").value().load<std::string>("note").value() == "only this");
  }
}

TEST_CASE("orbax save: chunks and codecs by rules") {
  const test::temp_directory folder;
  const tensor w = tensor_of({8, 1000, 64});
  const auto chunk_of = [&](const std::string& path) {
    const leaf_metadata told = opened(path).value().metadata("w").value();
    CHECK(same(opened(path).value().load<tensor>("w").value(), w));
    return std::pair(told.shard_shape, told.chunk_shape);
  };
  const std::vector<leaf_rule> bytes{{.chunk_byte_size = 100000}};
  orbax::save(folder / "2", {{"w", w}}, {.zarr_format = 2, .rules = bytes}).value();
  CHECK(chunk_of(folder / "2").second == dims{8, 50, 32});
  orbax::save(folder / "3", {{"w", w}}, {.rules = bytes}).value();
  CHECK(chunk_of(folder / "3") == std::pair(dims{8, 50, 32}, dims{8, 50, 32}));
  orbax::save(folder / "both", {{"w", w}},
              {.rules = {{.shard_shape = dims{8, 1000, 64}}, {.chunk_byte_size = 100000}}})
      .value();
  CHECK(chunk_of(folder / "both") == std::pair(dims{8, 1000, 64}, dims{8, 50, 32}));
  orbax::save(folder / "shape", {{"w", w}},
              {.zarr_format = 2, .rules = {{.chunk_shape = dims{3, 300, 64}}}})
      .value();
  CHECK(chunk_of(folder / "shape").second == dims{3, 300, 64});
  orbax::save(folder / "whole", {{"w", w}}, {.zarr_format = 2}).value();
  CHECK(chunk_of(folder / "whole").second == dims{8, 1000, 64});
  orbax::save(folder / "raw", {{"w", w}}, {.rules = {{.codecs = raw_codecs()}}}).value();
  CHECK(chunk_of(folder / "raw").first == dims{8, 1000, 64});

  const auto refused = [&](const save_options& how, std::string_view text) {
    const auto done = orbax::save(folder / "no", {{"w", w}}, how);
    REQUIRE(!done);
    CHECK(done.failure().code == errc::invalid_argument);
    CHECK(contains(done.failure(), "leaf \"w\""));
    CHECK(contains(done.failure(), text));
    CHECK(!fs::exists(folder / "no"));
  };
  refused({.zarr_format = 2, .rules = {{.chunk_shape = dims{3, 300}}}}, "does not fit");
  refused({.zarr_format = 2, .rules = {{.chunk_shape = dims{3, 0, 1}}}}, "does not fit");
  refused({.zarr_format = 2, .rules = {{.shard_shape = dims{3, 3, 1}}}}, "need Zarr v3");
  refused({.rules = {{.chunk_byte_size = 3}}}, "less than one element");
  refused({.zarr_format = 2, .rules = {{.chunk_byte_size = 3}}}, "less than one element");
}

TEST_CASE("orbax save: casts, and types that TensorStore does not have") {
  const test::temp_directory folder;
  const tensor w = tensor_of({7, 10});
  const std::vector<const char*> types{"bfloat16", "float8_e4m3fn", "int64", "complex64", "bool"};
  for (const tree_options& how : layouts(true)) {
    tree_options options = how;
    std::vector<tree_item> items;
    for (const char* const type : types) {
      items.push_back({{"types", type}, w});
      options.all.rules.push_back(
          {.glob = std::string("types/") + type, .cast = parse_dtype(type)});
    }
    options.all.overwrite = true;
    orbax::save(folder / "types", items, options).value();
    for (const char* const type : types)
      CHECK(
          same(opened(folder / "types").value().load<tensor>(std::string("types/") + type).value(),
               tensor_of({7, 10}, *parse_dtype(type))));
  }
  for (const char* const type : {"uint4", "float8_e4m3", "float6_e2m3fn", "complex_bfloat16"}) {
    const auto done =
        orbax::save(folder / "no", {{"w", w}}, {.rules = {{.cast = parse_dtype(type)}}});
    REQUIRE(!done);
    CHECK(done.failure().code == errc::unsupported);
    CHECK(contains(done.failure(), type));
  }
  const std::vector<std::string> words{"a", "b"};
  CHECK(orbax::save(folder / "no", {{"words", words}}).failure().code == errc::unsupported);
  CHECK(!fs::exists(folder / "no"));
}

TEST_CASE("orbax save: shardings are read back, and arrays are cut as they say") {
  const orbax::device_mesh mesh{{4, 2}, {"x", "y"}, {7, 6, 5, 4, 3, 2, 1, 0}};
  const orbax::device_mesh unknown{{2}, {"x"}, {}};
  const std::vector<std::pair<std::string, orbax::sharding>> all{
      {"a/rows", {"NamedSharding", mesh, {{"x", "y"}}, {}}},
      {"a/w", {"NamedSharding", mesh, {{"x"}, {}, {"y"}}, {}}},
      {"one", {"SingleDeviceSharding", {}, {}, "cpu:0"}},
      {"some", {"NamedSharding", unknown, {{"x"}}, {}}}};
  for (const tree_options& how : layouts(true)) {
    const test::temp_directory folder;
    tree_options options = how;
    options.own.shardings = all;
    const tensor w = tensor_of({8, 3, 6});
    const tensor rows = tensor_of({16, 3});
    const std::vector<float> few = numbers(4);
    tree_options wrong = how;
    wrong.own.shardings = {
        {"a/w", {"NamedSharding", {{4, 2}, {"x", "y"}, {0}}, {{"x"}, {}, {"y"}}, {}}}};
    const auto refused = orbax::save(folder / "c", {{"a/w", w}}, wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(contains(refused.failure(), "a mesh of 8 devices and names 1"));
    orbax::save(folder / "c",
                {{"a/w", w}, {"a/rows", rows}, {"one", few}, {"some", few}, {"plain", few}},
                options)
        .value();
    const orbax::tree_store tree = tree_at(folder / "c");
    CHECK(tree.shardings().value() == all);
    for (const orbax::tree_leaf& leaf : tree.tree().leaves)
      CHECK(leaf.value_type == (leaf.name == "plain" ? "np.ndarray" : "jax.Array"));
    const checkpoint from = opened(folder / "c").value();
    CHECK(same(from.load<tensor>("a/w").value(), w));
    CHECK(same(from.load<tensor>("a/rows").value(), rows));
    CHECK(from.metadata("a/w").value().shard_shape == dims{2, 3, 3});
    CHECK(from.metadata("a/rows").value().shard_shape == dims{2, 3});
    CHECK(from.metadata("one").value().shard_shape == dims{4});
    const auto facts = tree.array_facts().value();
    REQUIRE(facts.size() == 4);
    CHECK(facts[1].name == "a/w");
    CHECK(facts[1].write_shape == dims{2, 3, 3});
  }
  const test::temp_directory folder;
  const std::vector<float> few = numbers(5);
  const auto refused = [&](const save_options& how, std::string_view text) {
    const auto done = orbax::save(folder / "no", {{"w", few}, {"note", "x"}}, how);
    REQUIRE(!done);
    CHECK(done.failure().code == errc::invalid_argument);
    CHECK(contains(done.failure(), text));
  };
  refused({.format = orbax::format{.shardings = {{"w", {"NamedSharding", mesh, {{"x"}}, {}}}}}},
          "\"w\"");
  refused({.format = orbax::format{.shardings = {{"w", {"NamedSharding", mesh, {{"z"}}, {}}}}}},
          "z");
  refused({.format = orbax::format{.shardings = {{"v", all[2].second}}}}, "\"v\"");
  refused({.format = orbax::format{.shardings = {{"note", all[2].second}}}}, "not an array");
  refused({.format = orbax::format{.shardings = {{"w", all[2].second}, {"w", all[2].second}}}},
          "two shardings");
  // A type that is not stored is told, and an array without a sharding beside it has an empty one.
  const save_report report =
      orbax::save(
          folder / "odd", {{"w", few}, {"v", few}},
          {.format = orbax::format{.shardings = {{"v", all[2].second},
                                                 {"w", {"PositionalSharding", {}, {}, {}}}}}})
          .value();
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].find("PositionalSharding") != std::string::npos);
  CHECK(json_of(folder / "odd/_sharding").find("dw==")->if_string()->empty());
}

TEST_CASE("orbax save: kinds of arrays") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(3);
  std::vector<tree_item> items{{"a", w}, {"b", w}, {"n", 1.5}, {"i", 2}};
  items[1].value_type = "np.ndarray";
  items[2].value_type = "np.ndarray";
  orbax::save(folder / "c", items, {.format = orbax::format{.arrays = orbax::array_kind::jax}})
      .value();
  std::string types;
  const orbax::tree tree = tree_at(folder / "c").tree();
  for (const orbax::tree_leaf& leaf : tree.leaves) types += leaf.value_type + ' ';
  CHECK(types == "jax.Array np.ndarray scalar np.ndarray ");
  const auto refused = [&](tree_item item, const char* type, std::string_view text) {
    item.value_type = type;
    const std::vector<tree_item> one{std::move(item)};
    const auto done = orbax::save(folder / "no", one);
    REQUIRE(!done);
    CHECK(done.failure().code == errc::invalid_argument);
    CHECK(contains(done.failure(), text));
  };
  refused({"a", w}, "scalar", "shape");
  refused({"a", w}, "string", "not one of an array");
  refused({"a", std::complex<double>(1, 2)}, "scalar", "none of complex128");
  orbax::save(folder / "z", {{"z", std::complex<double>(1, 2)}, {"b", bfloat16(1.5f)}}).value();
  for (const orbax::tree_store at = tree_at(folder / "z"); const auto& leaf : at.tree().leaves)
    CHECK(leaf.value_type == "np.ndarray");
  refused({"a", "text"}, "jax.Array", "is a text");
  refused({"a", empty_value::none}, "Dict", "is empty");
}

TEST_CASE("orbax save: keys of jax.random, and the user's metadata") {
  const test::temp_directory folder;
  const std::vector<std::uint32_t> key_data{0, 42};
  const std::vector<float> w = numbers(2);
  std::vector<tree_item> items{{"key", key_data}, {"w", w}};
  items[0].random_key = "threefry2x32";
  const json of_tree = json::object{{"by", "us"}};
  const json of_step = json::object{{"loss", 0.5}};
  orbax::save(folder / "c", items,
              {.format = orbax::format{.custom_metadata = of_tree, .step_metadata = of_step}})
      .value();
  const auto facts = tree_at(folder / "c").array_facts().value();
  REQUIRE(facts.size() == 1);
  CHECK(facts[0].name == "key");
  CHECK(facts[0].random_key == "threefry2x32");
  CHECK(tree_at(folder / "c").tree().custom_metadata == of_tree);
  const auto step_facts = [&](const char* path) {
    const std::string text = test::read_file(folder / path + "/_CHECKPOINT_METADATA");
    return orbax::read_checkpoint_facts(as_bytes(text)).value();
  };
  CHECK(step_facts("c").custom_metadata == of_step);
  orbax::save(folder / "run", items, {.format = orbax::format{.step_metadata = of_step, .step = 1}})
      .value();
  orbax::save(folder / "run", items,
              {.overwrite = true, .format = orbax::format{.step = 1, .item = "b"}})
      .value();
  CHECK(step_facts("run/1").custom_metadata == of_step);
  items[0] = {"key", w};
  items[0].random_key = "threefry2x32";
  CHECK(contains(orbax::save(folder / "no", items).failure(), "uint32"));
  items[0] = {"key", "text"};
  items[0].random_key = "threefry2x32";
  CHECK(contains(orbax::save(folder / "no", items).failure(), "is a text"));
}

TEST_CASE("orbax save: steps of a manager, and their items") {
  const test::temp_directory folder;
  const std::string root = folder / "run";
  const std::vector<float> w = numbers(3);
  const std::vector<float> ema = numbers(3, 10);
  orbax::save(root, {{"w", w}}, {.format = orbax::format{.step = 9}}).value();
  orbax::save(root, {{"w", ema}}, {.format = orbax::format{.step = 10}}).value();
  CHECK(fs::exists(root + "/10/default/_METADATA"));
  CHECK(fs::exists(root + "/10/_CHECKPOINT_METADATA"));
  CHECK(test::read_file(root + "/10/default/commit_success.txt") ==
        "Checkpoint commit was successful to " + root + "/10/default");
  CHECK(opened(root).value().load<std::vector<float>>("w").value() == ema);
  CHECK(opened(root + "/9").value().load<std::vector<float>>("w").value() == w);
  // A second item of a step that is there.
  CHECK(orbax::save(root, {{"w", ema}},
                    {.overwrite = false, .format = orbax::format{.step = 9, .item = "ema"}})
            .failure()
            .code == errc::already_exists);
  test::write_file(root + "/9/notes.txt", "mine");
  std::string about = test::read_file(root + "/9/_CHECKPOINT_METADATA");
  const std::string none = R"("metrics":{})";
  REQUIRE(about.find(none) != std::string::npos);
  about.replace(about.find(none), none.size(), R"("metrics":{"loss":0.5})");
  test::write_file(root + "/9/_CHECKPOINT_METADATA", about);
  const save_report report =
      orbax::save(root + "/9", {{"w", ema}},
                  {.overwrite = true, .format = orbax::format{.item = "ema"}})
          .value();
  CHECK(report.kept == std::vector<std::string>{"default/", "notes.txt"});
  CHECK(test::read_file(root + "/9/notes.txt") == "mine");
  CHECK(opened(root + "/9:ema").value().load<std::vector<float>>("w").value() == ema);
  CHECK(opened(root + "/9/default").value().load<std::vector<float>>("w").value() == w);
  const auto facts =
      orbax::read_checkpoint_facts(as_bytes(test::read_file(root + "/9/_CHECKPOINT_METADATA")))
          .value();
  REQUIRE(facts.item_handlers.if_object() != nullptr);
  CHECK(facts.metrics == json(json::object{{"loss", 0.5}}));  // of the step, as they were
  CHECK(facts.item_handlers.find("default") != nullptr);
  CHECK(facts.item_handlers.find("ema") != nullptr);
  // An item again, in another layout: nothing of the old one is left.
  orbax::save(root + "/9", {{"v", w}},
              {.overwrite = true, .format = orbax::format{.ocdbt = false, .item = "ema"}})
      .value();
  CHECK(files_in(root + "/9/ema") == std::set<std::string>{"_METADATA", "commit_success.txt", "v",
                                                           "v/zarr.json", "v/c", "v/c/0"});
  for (const char* const bad : {"a/b", "..", "d", "_METADATA", "x.orbax-checkpoint-tmp"})
    CHECK(orbax::save(root, {{"w", w}}, {.format = orbax::format{.step = 11, .item = bad}})
              .failure()
              .code == errc::invalid_argument);
  CHECK(!fs::exists(root + "/11"));
}

TEST_CASE("orbax save: what is at the target stays unless it may go") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(300);
  const std::string path = folder / "c";
  const auto refused = [&](const save_options& how, std::string_view text) {
    const auto before = texts_in(folder.path());
    const auto done = orbax::save(path, {{"w", w}}, how);
    REQUIRE(!done);
    CHECK(done.failure().code == errc::already_exists);
    CHECK(contains(done.failure(), text));
    CHECK(texts_in(folder.path()) == before);
  };
  orbax::save(path, {{"w", w}, {"old", w}}).value();
  refused({.overwrite = false}, "overwrite is false");
  refused({.format = orbax::format{.item = "x"}}, "is a tree of Orbax, not a step");
  test::write_file(path + "/notes.txt", "mine");
  // From each layout to each other.
  for (const tree_options& from : layouts(true)) {
    for (const tree_options& to : layouts(true)) {
      tree_options first = from, second = to;
      orbax::save(path, {{"w", w}, {"old", w}, {"note", "x"}}, first).value();
      const auto report = orbax::save(path, {{"w", w}}, second).value();
      CHECK(report.kept == std::vector<std::string>{"notes.txt"});
      CHECK(opened(path).value().names() == std::vector<std::string>{"w"});
      CHECK(opened(path).value().load<std::vector<float>>("w").value() == w);
      CHECK(!fs::exists(path + "/old"));
      CHECK(!fs::exists(path + "/_strings.json"));
      CHECK(fs::exists(path + "/manifest.ocdbt") == to.own.ocdbt);
    }
  }
  fs::remove_all(path);
  fs::create_directory(path);
  orbax::save(path, {{"w", w}}).value();  // an empty directory is a place
  fs::remove_all(path);
  orbax::save(folder / "c", {{"w", w}}, {.format = orbax::format{.item = "state"}}).value();
  refused({}, "is a step of Orbax with items, not a tree");
  fs::remove_all(path);
  save(path, {{"w", w}}).value();
  refused({}, "is a zarrpoint checkpoint, not an Orbax checkpoint");
  fs::remove_all(path);
  test::write_file(path, "a file");
  refused({}, "is a file");
}

TEST_CASE("orbax save: trees that are none") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(3);
  const auto refused = [&](std::vector<tree_item> items, std::string_view text, bool ocdbt = true) {
    CAPTURE(text);
    for (int turn = 0; turn < 2; ++turn) {  // in any order
      const auto done =
          orbax::save(folder / "no", items, {.format = orbax::format{.ocdbt = ocdbt}});
      REQUIRE(!done);
      CHECK(done.failure().code == errc::invalid_argument);
      CHECK(contains(done.failure(), text));
      std::reverse(items.begin(), items.end());
    }
    CHECK(fs::is_empty(folder.path()));
  };
  refused({}, "without leaves");
  refused({{"a", w}, {"a", w}}, "two leaves have the path \"a\"");
  refused({{{"a", 0}, w}, {{"a", "0"}, w}}, "two leaves have the path \"a/0\"");
  refused({{"a", w}, {"a/b", w}}, "\"a\" cannot be a leaf");
  refused({{"a", empty_value::none}, {"a/b", w}}, "\"a\" cannot be a leaf");
  refused({{tree_path(), w}, {"a", w}}, "\"\" cannot be a leaf");
  refused({{{"a", 0}, w}, {{"a", 2}, w}}, "no element 1");
  refused({{{"a", 1}, w}}, "no element 0");
  refused({{{"a", 0, 1}, w}, {{"a", 1, 0}, w}}, "no element 0");
  refused({{{"a", -1}, w}}, "not an index");
  refused({{std::vector<orbax::tree_key>{{"01", true}}, w}}, "not an index");
  refused({{{"a", ""}, w}}, "empty key");
  refused({{"a//b", w}}, "empty key");
  refused({{"a/", w}}, "empty key");
  refused({{"/a", w}}, "empty key");
  refused({{{"a", ".."}, w}}, "..");
  refused({{{"a", "../b"}, w}}, "..");
  refused({{{"a", "b\\c"}, w}}, "backslash");
  refused({{{"a", "b\n"}, w}}, "control character");
  refused({{{"a", "\xff"}, w}}, "UTF-8");
  refused({{{"a", std::string(300, 'x')}, w}}, "255");
  refused({{{"a.b"}, w}, {"a/b", w}}, "Orbax stores leaves");
  refused({{{"a/b"}, w}, {"a/b", w}}, "\"a/b\"");
  refused({{{"a", "b/c"}, w}, {{"a.b"}, w}}, "Orbax stores leaves", false);
  refused({{{"a", "b/c"}, "text"}, {{"a.b"}, "text"}}, "Orbax stores leaves");
  refused({{{"a"}, w}, {{"a/b"}, w}}, "\"a", false);
  refused({{{"a~b"}, "text"}}, "'~'");
  for (const char* const own : {"d", "_METADATA", "manifest.ocdbt", "checkpoint", "_sharding",
                                "ocdbt.process_7", "array_metadatas", "commit_success.txt"})
    refused({{{own}, w}}, "file of its own", false);
  refused({{{"ocdbt", "process_0"}, w}}, "file of its own", false);
  refused({{{"d/x"}, w}}, "file of its own", false);
  // In a database they are keys like others.
  orbax::save(folder / "yes", {{{"d"}, w}, {{"a~b"}, w}, {{"x/y"}, "text"}}).value();
  CHECK(opened(folder / "yes").value().load<std::vector<float>>("d").value() == w);
  CHECK(opened(folder / "yes").value().load<std::string>("x/y").value() == "text");
  // There one may begin another, as in Orbax, and is read under a name that is told.
  const std::vector<float> v = numbers(3, 10);
  for (const int zarr_format : {2, 3}) {
    const std::string path = folder / ("begins-" + std::to_string(zarr_format));
    orbax::save(path, {{{"scale"}, w}, {{"scale/ema"}, v}, {{"w", "a"}, w}, {{"w/a/v"}, v}},
                {.zarr_format = zarr_format})
        .value();
    const auto begins = opened(path).value();
    CHECK(begins.names() == std::vector<std::string>{"scale", "scale%2Fema", "w/a", "w/a%2Fv"});
    CHECK(begins.load<std::vector<float>>("scale").value() == w);
    CHECK(begins.load<std::vector<float>>("scale%2Fema").value() == v);
    CHECK(begins.load<std::vector<float>>("w/a").value() == w);
    CHECK(begins.load<std::vector<float>>("w/a%2Fv").value() == v);
  }
  CHECK(orbax::save(folder / "no", {{"a", w}}, {.zarr_format = 4}).failure().code ==
        errc::invalid_argument);
  CHECK(orbax::save(folder / "no", {{"a", w}}, {.format = orbax::format{.custom_metadata = 3}})
            .failure()
            .code == errc::invalid_argument);
}

TEST_CASE("orbax save: until it is done it is in a directory that Orbax does not take for one") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(300);
  std::vector<std::string> seen;
  const auto look = [&] {
    for (const auto& entry : fs::directory_iterator(folder.path()))
      seen.push_back(entry.path().filename().string());
  };
  const test::hooked_publisher store{file_store::open(folder.path().string()).value(),
                                     {.before_commit = look}};
  orbax::save(location(any_store(store), key("c")), {{"w", w}}).value();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].starts_with(".c.orbax-checkpoint-tmp.tmp."));
  CHECK(files_in(folder.path()).count("c/_METADATA") == 1);
  // What a process that was killed left goes with the next save.
  fs::create_directory(folder / seen[0]);
  test::write_file(folder / (seen[0] + "/x"), "");
  orbax::save(folder / "other", {{"w", w}}).value();
  CHECK(!fs::exists(folder / seen[0]));
}

TEST_CASE("orbax save: whatever write fails, the old checkpoint is whole and nothing is left") {
  const std::vector<float> w = numbers(3000);
  for (const tree_options& layout : layouts(true)) {
    const test::temp_directory folder;
    tree_options how = layout;
    how.all.overwrite = true;
    how.own.arrays = orbax::array_kind::jax;
    how.own.shardings = {{"w", {"SingleDeviceSharding", {}, {}, "cpu:0"}}};
    const auto left = std::make_shared<std::atomic<int>>(0);
    const zarrpoint_test::failing_publisher store{file_store::open(folder.path().string()).value(),
                                                  left};
    const location where(any_store(store), key("c"));
    int writes = 0;
    for (const bool is_new : {true, false}) {
      const auto before = texts_in(folder.path());
      for (writes = 0;; ++writes) {
        *left = writes;
        const auto done = orbax::save(where, {{"w", w}, {"v", w}, {"note", "x"}}, how);
        if (done) break;
        REQUIRE(writes < 100);
        CHECK(contains(done.failure(), "no space left"));
        CHECK(texts_in(folder.path()) == before);
        CHECK(files_in(folder.path()).size() >= (is_new ? 0U : 1U));
      }
      CHECK(writes >= 8);
      CHECK(opened(folder / "c").value().load<std::vector<float>>("w").value() == w);
    }
  }
}

TEST_CASE("orbax save: stopped, without memory, and where nothing can be published") {
  const test::temp_directory folder;
  const std::vector<float> w = numbers(3000);
  stop_source stop;
  stop.request_stop();
  context how;
  how.stop = stop.token();
  CHECK(orbax::save(folder / "c", {{"w", w}}, {}, how).failure().code == errc::cancelled);
  context small;
  small.limit.memory = 100;
  CHECK(orbax::save(folder / "c", {{"w", w}}, {}, small).failure().code == errc::resource_limit);
  CHECK(fs::is_empty(folder.path()));
  const zarrpoint_test::recording_store plain;
  CHECK(orbax::save(plain, {{"w", w}}).failure().code == errc::unsupported);
  CHECK(plain.keys().empty());
  CHECK(orbax::save(folder / "c.zip", {{"w", w}}).failure().code == errc::unsupported);
  CHECK(fs::is_empty(folder.path()));

  const memory_store memory;
  orbax::save(location(memory, key("run")), {{"w", w}}, {.format = orbax::format{.step = 3}})
      .value();
  const auto tree = orbax::tree_store::open(memory, key("run/3/default")).value();
  CHECK(open(tree).value().load<std::vector<float>>("w").value() == w);
}

TEST_CASE("orbax save: tensors on a device") {
  using zarrpoint_test::fake_device;
  using zarrpoint_test::fake_space;
  fake_device device(1);
  const std::vector<float> w = numbers(5000);
  zarrpoint_test::device_tensor<float> on_device(fake_space{&device, 0}, {50, 100});
  on_device.upload(w);
  for (const tree_options& how : layouts(true)) {
    const test::temp_directory folder;
    orbax::save(folder / "c", {{"w", on_device}}, how).value();
    const tensor loaded = opened(folder / "c").value().load<tensor>("w").value();
    CHECK(loaded.shape() == dims{50, 100});
    CHECK(std::memcmp(loaded.view().data, w.data(), w.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("orbax save: names as Python writes them") {
  const auto repr = [](const tree_path& path) { return orbax::detail::python_tuple(path.keys()); };
  CHECK(repr({}) == "()");
  CHECK(repr("a") == "('a',)");
  CHECK(repr({"a", 0, "b"}) == "('a', '0', 'b')");
  CHECK(repr({"it's"}) == "(\"it's\",)");
  CHECK(repr({"say \"hi\""}) == "('say \"hi\"',)");
  CHECK(repr({"both ' and \""}) == "('both \\' and \"',)");
  CHECK(tree_path({"a", 3}).joined('.') == "a.3");
  CHECK(tree_path(std::string("a/b")).keys() ==
        std::vector<orbax::tree_key>{{"a", false}, {"b", false}});
}

TEST_CASE("orbax save: the example of docs/orbax.md") {
  namespace zp = zarrpoint;
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  const zp::tensor kernel = tensor_of({8, 6});
  const std::vector<float> w = numbers(4);
  // clang-format off
  zp::orbax::save(path, {{"params/dense/kernel", kernel},         // keys of dicts
                         {{"params", "blocks", 0, "w"}, w},       // a number is an index of a list
                         {"step", 1200},                          // a number of Python
                         {"note", "a text"},
                         {"ema", zp::orbax::empty_value::none}})
      .value();
  // clang-format on
  CHECK(opened(path).value().names() ==
        std::vector<std::string>{"note", "params/blocks/0/w", "params/dense/kernel", "step"});
  CHECK(tree_at(path).tree().leaves.size() == 5);
}

TEST_CASE("orbax save: many leaves, in nodes of a limited size") {
  const test::temp_directory folder;
  std::vector<tree_item> items;
  for (int i = 0; i < 3000; ++i) items.push_back({{"layers", i, "w"}, static_cast<float>(i)});
  tree_options how;
  how.own.database = {.node_bytes = 20000, .inline_bytes = 0};
  orbax::save(folder / "c", items, how).value();
  const checkpoint from = opened(folder / "c").value();
  CHECK(from.names().size() == 3000);
  CHECK(from.load<float>("layers/2999/w").value() == 2999);
  const auto tree = tree_at(folder / "c").tree();
  // The order of a list in Python, not that of texts.
  const std::string text = test::read_file(folder / "c/_METADATA");
  CHECK(text.find("('layers', '9', 'w')") < text.find("('layers', '10', 'w')"));
}

}  // namespace orbax_save_test
