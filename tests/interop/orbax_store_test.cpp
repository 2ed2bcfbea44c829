// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace orbax_store_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<orbax::format>()});
}

/// The elements of a leaf, one after another.
std::string text_of(const checkpoint& from, std::string_view name) {
  const tensor loaded = from.load<tensor>(name).value();
  const host_view view = loaded.view();
  const auto count = static_cast<std::size_t>(element_count(loaded.spec().shape).value());
  return {reinterpret_cast<const char*>(view.data), count * view.type.size()};
}

bool contains(const error& failure, std::string_view text) {
  INFO(to_string(failure));
  return failure.message.find(text) != std::string::npos;
}

/// A tree in memory, of files beneath "x".
result<orbax::tree_store> tree_of(
    std::initializer_list<std::pair<const char*, const char*>> files) {
  memory_store out;
  for (const auto& [name, text] : files)
    out.put(key(std::string("x/") + name), as_bytes(std::string_view(text))).value();
  return orbax::tree_store::open(out, key("x"));
}

TEST_CASE("orbax: every leaf of what Orbax wrote has the elements that were saved") {
  const json index = parse_json(as_bytes(test::read_file(golden + "index.json"))).value();
  int arrays = 0;
  for (const json& one : *index.find("cases")->if_array()) {
    const std::string name = *one.find("case")->if_string();
    const std::string expected = test::read_file(golden + name + ".bin");
    for (const json& leaf : *one.find("leaves")->if_array()) {
      const json* const offset = leaf.find("offset");
      if (offset == nullptr) continue;
      std::string path = golden + name;
      std::string leaf_name = *leaf.find("name")->if_string();
      if (name == "manager-composite") {  // the item of a step is a directory
        path += '/' + leaf_name.substr(0, 7);
        leaf_name.erase(0, 8);
      }
      INFO(path, ": ", leaf_name);
      const auto from = opened(path);
      REQUIRE(from);
      const auto loaded = from->load<tensor>(leaf_name);
      REQUIRE(loaded);
      CHECK(to_string(loaded->spec().type) == *leaf.find("dtype")->if_string());
      const std::string text = text_of(*from, leaf_name);
      CHECK(text == expected.substr(static_cast<std::size_t>(*offset->to_int64()), text.size()));
      ++arrays;
    }
  }
  CHECK(arrays == 63);
}

TEST_CASE("orbax: texts, empty values and the tree as it was saved") {
  const auto from = opened(golden + "strings-and-none").value();
  CHECK(from.load<std::string>("name").value() == "gemma");
  CHECK(from.load<std::int64_t>("py/i").has_value());
  CHECK(from.names() == std::vector<std::string>{"name", "py/f", "py/i", "tup/0", "tup/1"});
  CHECK(from.empty_groups() == std::vector<std::string>{"empty"});
  const auto base = file_store::open(golden + "strings-and-none", {.read_only = true}).value();
  const auto store = orbax::tree_store::open(base, store_key::root()).value();
  const auto& leaves = store.tree().leaves;
  REQUIRE(leaves.size() == 7);
  CHECK(leaves[0].value_type == "Dict");
  CHECK(leaves[2].name == "nothing");
  CHECK(leaves[2].is_empty());
  CHECK(leaves[5].path == std::vector<orbax::tree_key>{{"tup", false}, {"0", true}});
  CHECK(leaves[5].storage == "tup.0");
}

TEST_CASE("orbax: the newest step of a manager, and the one item of a step") {
  const auto root = opened(golden + "manager-composite").value();
  const auto step = opened(golden + "manager-composite/5").value();
  const auto item = opened("orbax://" + golden + "manager-composite/5/state").value();
  const auto other = opened(golden + "manager-composite/1").value();
  CHECK(text_of(root, "step") == text_of(item, "step"));
  CHECK(text_of(step, "step") == text_of(item, "step"));
  CHECK(text_of(other, "step") != text_of(item, "step"));
  const auto base = file_store::open(golden + "manager-composite", {.read_only = true}).value();
  CHECK(orbax::find_tree({base, store_key::root()}).value().path == "5/state");
  CHECK(opened(golden + "v1-save-pytree").value().contains("params/dense/kernel"));
}

TEST_CASE("orbax: what was not finished, or has several items, is refused by name") {
  const test::temp_directory made;
  const std::string step = made / "7";
  fs::copy(golden + "manager-composite/5", step, fs::copy_options::recursive);
  fs::copy(golden + "manager-composite/5/state", step + "/other", fs::copy_options::recursive);
  CHECK(contains(opened(step).failure(), "\"other\" \"state\""));
  CHECK(opened(step + "/other"));
  fs::rename(step + "/other", step + "/other.orbax-checkpoint-tmp");
  CHECK(opened(step));
  CHECK(contains(opened(step + "/other.orbax-checkpoint-tmp").failure(), "not finished"));
  fs::rename(step, made / "8.orbax-checkpoint-tmp-1");
  CHECK(opened(made.path().string()).failure().code == errc::not_found);
  fs::remove(made / "8.orbax-checkpoint-tmp-1/state/manifest.ocdbt");
  fs::rename(made / "8.orbax-checkpoint-tmp-1", step);
  CHECK(contains(opened(step).failure(), "there is no manifest.ocdbt"));
}

TEST_CASE("orbax: steps that are trees themselves, of which the newest counts") {
  const test::temp_directory made;
  for (const char* step : {"9", "10"})
    fs::copy(golden + "pytree-files-zarr2", made / step, fs::copy_options::recursive);
  fs::copy(golden + "strings-and-none", made / "8", fs::copy_options::recursive);
  const auto base = file_store::open(made.path().string(), {.read_only = true}).value();
  CHECK(orbax::find_tree({base, store_key::root()}).value().path == "10");
  CHECK(opened(made.path().string()).value().contains("params/mask"));
  fs::copy(golden + "strings-and-none", made / "checkpoint_11", fs::copy_options::recursive);
  CHECK(opened(made.path().string()).value().contains("py/i"));
}

TEST_CASE("orbax: steps without _CHECKPOINT_METADATA, as today's Orbax restores them") {
  const test::temp_directory made;
  const std::string root = made / "run";
  fs::copy(golden + "manager-composite", root, fs::copy_options::recursive);
  const std::string value = text_of(opened(root).value(), "step");
  for (const char* step : {"/1", "/5"}) fs::remove(root + step + "/_CHECKPOINT_METADATA");
  CHECK(text_of(opened(root).value(), "step") == value);
  CHECK(text_of(opened(root + "/5").value(), "step") == value);
  CHECK(text_of(opened(root + "/1").value(), "step") != value);
  CHECK(opened(root + ":extra"));
}

TEST_CASE("orbax: a step that lost its _METADATA is damaged, and no older one is taken for it") {
  const test::temp_directory made;
  const std::string root = made / "run";
  fs::copy(golden + "manager-composite", root, fs::copy_options::recursive);
  fs::remove(root + "/5/state/_METADATA");
  for (const char* path : {"", "/5", ":state"}) {
    const auto lost = opened(root + path);
    REQUIRE(!lost);
    CHECK(lost.failure().code == errc::corrupt);
    CHECK(contains(lost.failure(), "5/state: its _METADATA is missing"));
  }
  fs::remove_all(root + "/5/state");
  CHECK(opened(root).failure().code == errc::corrupt);
  CHECK(contains(opened(root + ":state").failure(), "its item \"state\" is missing"));
  CHECK(opened(root + ":extra"));
  CHECK(opened(root + "/1"));
  fs::copy(golden + "in-text", made / "c", fs::copy_options::recursive);
  fs::remove(made / "c/_METADATA");
  CHECK(opened(made / "c").failure().code == errc::corrupt);
}

TEST_CASE("orbax: a chunk or an array that is gone is an error, not the fill value") {
  const test::temp_directory made;
  const std::string copy = made / "c";
  fs::copy(golden + "pytree-files-zarr2", copy, fs::copy_options::recursive);
  fs::remove(copy + "/params.mask/0");
  const auto from = opened(copy).value();
  const auto lost = from.load<tensor>("params/mask");
  REQUIRE(!lost);
  CHECK(lost.failure().code == errc::not_found);
  CHECK(contains(lost.failure(), "params.mask/0"));
  CHECK(from.load<tensor>("params/ids"));
  // An array that is gone keeps no other from being read.
  fs::remove_all(copy + "/params.mask");
  const auto without = opened(copy).value();
  CHECK(without.names() == from.names());
  CHECK(without.load<tensor>("params/mask").failure().code == errc::corrupt);
  CHECK(contains(without.load<tensor>("params/mask").failure(), "params.mask is missing"));
  CHECK(text_of(without, "params/ids") == text_of(from, "params/ids"));
}

TEST_CASE("orbax: leaves whose names begin others', or are not keys, are all there") {
  struct named {
    const char* shown;
    int value;
    const char* original;
  };
  const named all[] = {{"%", 4, ""},
                       {"%2E%2E", 7, ".."},
                       {"a/%/b", 6, "a//b"},
                       {"a/b", 101, nullptr},
                       {"a/b~2", 5, "a/b"},
                       {"e%2Ff", 11, "e/f"},
                       {"n/m", 10, nullptr},
                       {"scale", 1, nullptr},
                       {"scale%2Fema", 2, "scale/ema"},
                       {"w/a", 100, nullptr},
                       {"w/a%2Fv", 3, "w/a/v"},
                       {"x/%", 8, "x/"},
                       {"zarr%2Ejson", 9, "zarr.json"},
                       {"\xc3\xa9%01", 12, "\xc3\xa9\1"}};
  for (const char* form : {"odd-names", "odd-names-zarr3"}) {
    INFO(form);
    const auto from = opened(golden + form).value();
    std::vector<std::string> names;
    for (const named& one : all) {
      names.emplace_back(one.shown);
      INFO(one.shown);
      CHECK(from.load<std::vector<std::int32_t>>(one.shown).value() ==
            std::vector<std::int32_t>{one.value, one.value * one.value});
      const json told = from.attributes(one.shown).value();
      const json* const original = told.find("original_name");
      CHECK((original != nullptr) == (one.original != nullptr));
      if (original != nullptr) CHECK(*original == json(one.original));
    }
    CHECK(from.names() == names);
    CHECK(from.empty_groups() == std::vector<std::string>{"e"});
    const auto base = file_store::open(golden + form, {.read_only = true}).value();
    const auto store = orbax::tree_store::open(base, store_key::root()).value();
    CHECK(store.tree().leaves.size() == 16);  // with `None` and the empty dict
    // Of the leaf whose key is empty only what is its own is listed.
    CHECK(store.list(key("%")).value().size() == 2);
    CHECK(store.list(key("scale")).value().size() == 2);
  }
}

TEST_CASE("orbax: trees without arrays") {
  const auto texts = opened(golden + "in-text").value();
  CHECK(texts.load<std::string>("a").value() == "x");
  CHECK(texts.load<std::string>("b").value() == "y");
  CHECK(opened(golden + "in-none").value().names().empty());
  CHECK(opened(golden + "in-empty").value().empty_groups() == std::vector<std::string>{"a"});
}

TEST_CASE("orbax: a leaf of a user's own handler refuses itself only") {
  const auto from = opened(golden + "own-handler").value();
  CHECK(from.names() == std::vector<std::string>{"a", "p", "q/r"});
  CHECK(from.load<std::vector<std::int32_t>>("q/r").value() == std::vector<std::int32_t>{2, 4});
  CHECK(from.load<tensor>("p").failure().code == errc::unsupported);
  const auto base = file_store::open(golden + "own-handler", {.read_only = true}).value();
  const auto store = orbax::tree_store::open(base, store_key::root()).value();
  const auto told = get(any_store(store), key("p/.zattrs"), 4096).value().value();
  CHECK(parse_json(told).value().find("unread")->if_string()->find("my.Point") !=
        std::string::npos);
  CHECK(store.list(key("p")).value() == std::vector<list_entry>{{"c", true}});
  CHECK(store.list(key("p/c")).value() == std::vector<list_entry>{{"0", false}});
  CHECK(get(any_store(store), key("p/c/0"), 4096).value().value() ==
        std::vector<std::byte>{std::byte{'7'}});
  // Too many files of its are refused, and the tree is read all the same.
  const test::temp_directory made;
  fs::copy(golden + "own-handler", made / "c", fs::copy_options::recursive);
  for (const char* const folder : {"x", "y"})
    fs::create_directories((made / "c/p.point/") + folder);
  for (int i = 0; i < 1001; ++i) test::write_file((made / "c/p.point/x/") + std::to_string(i), "");
  const auto full = file_store::open(made / "c", {.read_only = true}).value();
  const auto many = orbax::tree_store::open(full, store_key::root()).value();
  CHECK(many.list(key("p")).failure().code == errc::resource_limit);
  CHECK(opened(made / "c").value().load<tensor>("a"));
  // A type that sounds like one of Zarr is none.
  const auto sounds =
      tree_of({{"_METADATA", R"({"tree_metadata":{"x":{"key_metadata":[{"key":"a"}],)"
                             R"("value_metadata":{"value_type":"<f4"}}}})"}});
  CHECK(open(*sounds).value().load<tensor>("a").failure().code == errc::unsupported);
  // The document of an array may have another name.
  const auto other = opened(golden + "metadata-key").value();
  CHECK(other.load<std::vector<std::int32_t>>("a").value() == std::vector<std::int32_t>{1, 1});
  CHECK(other.load<std::int64_t>("s").value() == 3);
}

TEST_CASE("orbax: a missing directory, missing metadata and another directory are told apart") {
  CHECK(contains(tree_of({}).failure(), "no such directory"));
  CHECK(tree_of({}).failure().code == errc::not_found);
  CHECK(contains(tree_of({{"a", ""}}).failure(), "no _METADATA"));
  CHECK(tree_of({{"a", ""}}).failure().code == errc::not_found);
  const auto lost = tree_of({{"manifest.ocdbt", ""}, {"d/x", ""}});
  CHECK(contains(lost.failure(), "its _METADATA is missing"));
  CHECK(lost.failure().code == errc::corrupt);
}

TEST_CASE("orbax: damaged and hostile trees") {
  CHECK(contains(tree_of({{"_METADATA", "{"}}).failure(), "_METADATA"));
  CHECK(contains(tree_of({{"_METADATA", "{}"}}).failure(), "tree_metadata"));
  CHECK(contains(tree_of({{"a", ""}}).failure(), "no _METADATA"));
  const auto leaf = [](const std::string& keys, const char* type = "jax.Array",
                       const char* skipped = "false") {
    return R"({"key_metadata":[)" + keys + R"(],"value_metadata":{"value_type":")" + type +
           R"(","skip_deserialize":)" + skipped + "}}";
  };
  const auto with = [&](const std::string& leaves) {
    return tree_of({{"_METADATA", (R"({"tree_metadata":{)" + leaves + "}}").c_str()}});
  };
  const std::string a = R"({"key":"a","key_type":2})";
  const std::string b = R"({"key":"b","key_type":2})";
  CHECK(contains(with(R"("x":{})").failure(), "key_metadata"));
  CHECK(contains(with(R"("x":)" + leaf(R"({"key_type":2})")).failure(), "\"key\""));
  for (const char* odd : {"..", "a\\\\b", "x/../y", "x/"})
    CHECK(with(R"("x":)" + leaf(R"({"key":")" + std::string(odd) + R"("})")));
  const std::string deep = R"({"key":")" + std::string(2000, '/') + R"("})";
  CHECK(with(R"("x":)" + leaf(deep)));
  // What is stored nowhere is damage of that leaf.
  const auto lost = [&](const std::string& entry, std::string_view why) {
    const auto tree = with(R"("x":)" + entry + R"(,"y":)" + leaf(b, "None", "true"));
    const auto told = get(any_store(*tree), key("a/zarr.json"), 4096).value().value();
    CHECK(parse_json(told).value().find("attributes")->find("unread")->if_string()->find(why) !=
          std::string::npos);
    return open(*tree).value().load<tensor>("a").failure().code == errc::corrupt;
  };
  CHECK(lost(leaf(a, "np.ndarray", "true"), "msgpack"));
  CHECK(lost(leaf(a, "string"), "_strings.json"));
  // What a partial save put in the place of a subtree.
  const auto partial = with(R"("x":)" + leaf(a, "None", "true") + R"(,"y":)" + leaf(a + "," + b));
  REQUIRE(partial);
  CHECK(partial->tree().leaves.size() == 1);
  // `None` beside a key that has its name and a slash.
  const auto beside = with(R"("x":)" + leaf(a, "None", "true") + R"(,"y":)" +
                           leaf(R"({"key":"a/b","key_type":2})" + ("," + b)));
  CHECK(open(beside.value()).value().names() == std::vector<std::string>{"a/b/b"});
  // An array is none of them.
  CHECK(
      with(R"("x":)" + leaf(a, "scalar") + R"(,"y":)" + leaf(a + "," + b))->tree().leaves.size() ==
      2);
}

TEST_CASE("orbax: a tree that is one array, and keys with dots and slashes") {
  const char* const array_document =
      R"({"chunks":[2],"compressor":null,"dtype":"|u1","fill_value":null,"filters":null,)"
      R"("order":"C","shape":[2],"zarr_format":2})";
  const char* const single =
      R"x({"tree_metadata":{"()":{"key_metadata":[],"value_metadata":{"value_type":"scalar"}}}})x";
  const auto one = tree_of({{"_METADATA", single}, {".zarray", array_document}, {"0", "ab"}});
  REQUIRE(one);
  const auto whole = open(*one).value();
  CHECK(whole.names() == std::vector<std::string>{""});
  CHECK(text_of(whole, "") == "ab");
  // A key that is empty beside one that could be a chunk.
  const char* const beside =
      R"x({"tree_metadata":{"a":{"key_metadata":[{"key":""}],"value_metadata":{"value_type":"scalar"}},)x"
      R"x("b":{"key_metadata":[{"key":"0"}],"value_metadata":{"value_type":"scalar"}}}})x";
  const auto two = tree_of({{"_METADATA", beside},
                            {".zarray", array_document},
                            {"1", "cd"},
                            {"0/.zarray", array_document},
                            {"0/0", "ab"}});
  REQUIRE(two);
  for (const list_entry& each : two->list(key("%")).value()) CHECK_FALSE(each.name == "0");
  CHECK(text_of(open(*two).value(), "0") == "ab");
  const char* const odd_keys =
      R"({"tree_metadata":{"x":{"key_metadata":[{"key":"a.b"},{"key":"c/d"}],"value_metadata":)"
      R"({"value_type":"np.ndarray"}}},"custom_metadata":{"by":"us"}})";
  const auto odd =
      tree_of({{"_METADATA", odd_keys}, {"a.b.c/d/.zarray", array_document}, {"a.b.c/d/0", "xy"}});
  REQUIRE(odd);
  const auto from = open(*odd).value();
  CHECK(from.names() == std::vector<std::string>{"a.b/c/d"});
  CHECK(text_of(from, "a.b/c/d") == "xy");
  CHECK(*from.attributes().find("by")->if_string() == "us");
}

TEST_CASE("orbax: as docs/orbax.md has it") {
  namespace zp = zarrpoint;
  const std::string path = golden + "pytree-ocdbt-zarr3";
  const auto ckpt = zp::open(path, zp::formats<zp::orbax::format>()).value();
  for (const std::string& name : ckpt.names()) std::puts(name.c_str());
  const auto kernel = ckpt.load<std::vector<float>>("params/dense/kernel", zp::box({0, 0}, {8, 6}));
  CHECK(kernel.value().size() == 48);
  const auto base = zp::file_store::open(path, {.read_only = true}).value();
  const auto saved = zp::orbax::tree_store::open(base, zp::store_key::root()).value();
  for (const zp::orbax::tree_leaf& leaf : saved.tree().leaves)
    std::printf("%s %s\n", leaf.name.c_str(), leaf.value_type.c_str());
}

TEST_CASE("orbax: documents and nodes take no more than the budget of the caller") {
  const std::string path = golden + "pytree-ocdbt-zarr3";
  const auto within = [&](std::size_t memory) {
    return open(path, {.stores = formats<orbax::format>(), .limit = {.memory = memory}});
  };
  CHECK(within(std::size_t{64} << 20).has_value());
  const test::temp_directory made;
  fs::copy(path, made / "x", fs::copy_options::recursive);
  const std::string whole = test::read_file(fs::path(made / "x") / "_METADATA");
  test::write_file(fs::path(made / "x") / "_METADATA", whole + std::string(200'000, ' '));
  CHECK(opened(made / "x").has_value());
  const auto tight =
      open(made / "x", {.stores = formats<orbax::format>(), .limit = {.memory = 1 << 20}});
  REQUIRE_FALSE(tight);
  CAPTURE(tight.failure().message);
  CHECK(tight.failure().code == errc::resource_limit);
  CHECK(contains(tight.failure(), "_METADATA"));
}

}  // namespace orbax_store_test
