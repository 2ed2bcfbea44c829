// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/orbax/orbax_scheme.hpp>
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
  return open(path, {.stores = orbax_stores::table()});
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
  const node index = parse_json(as_bytes(test::read_file(golden + "index.json"))).value();
  int arrays = 0;
  for (const node& one : *index.find("cases")->if_array()) {
    const std::string name = *one.find("case")->if_string();
    const std::string expected = test::read_file(golden + name + ".bin");
    for (const node& leaf : *one.find("leaves")->if_array()) {
      const node* const offset = leaf.find("offset");
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
  fs::remove_all(copy + "/params.mask");
  CHECK(contains(opened(copy).failure(), "params.mask"));
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
  for (const char* bad : {"..", "a\\\\b", "x/../y", "x/"})
    CHECK(contains(with(R"("x":)" + leaf(R"({"key":")" + std::string(bad) + R"("})")).failure(),
                   "leaf"));
  CHECK(contains(
      with(R"("x":)" + leaf(a + "," + b) + R"(,"y":)" + leaf(R"({"key":"a/b"})")).failure(),
      "two leaves have the name \"a/b\""));
  CHECK(contains(with(R"("x":)" + leaf(a, "np.ndarray", "true")).failure(), "msgpack"));
  CHECK(contains(with(R"("x":)" + leaf(a, "string")).failure(), "_strings.json"));
  const std::string deep = R"({"key":")" + std::string(2000, '/') + R"("})";
  CHECK(contains(with(R"("x":)" + leaf(deep)).failure(), "more than 1024 bytes"));
  // What a partial save put in the place of a subtree.
  const auto partial = with(R"("x":)" + leaf(a, "None", "true") + R"(,"y":)" + leaf(a + "," + b));
  REQUIRE(partial);
  CHECK(partial->tree().leaves.size() == 1);
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
  const auto ckpt = zp::open(path, {.stores = zp::orbax_stores::table()}).value();
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
    return open(path, {.stores = orbax_stores::table(), .limit = {.memory = memory}});
  };
  CHECK(within(std::size_t{64} << 20).has_value());
  const test::temp_directory made;
  fs::copy(path, made / "x", fs::copy_options::recursive);
  const std::string whole = test::read_file(fs::path(made / "x") / "_METADATA");
  test::write_file(fs::path(made / "x") / "_METADATA", whole + std::string(200'000, ' '));
  CHECK(opened(made / "x").has_value());
  const auto tight =
      open(made / "x", {.stores = orbax_stores::table(), .limit = {.memory = 1 << 20}});
  REQUIRE_FALSE(tight);
  CAPTURE(tight.failure().message);
  CHECK(tight.failure().code == errc::resource_limit);
  CHECK(contains(tight.failure(), "_METADATA"));
}

}  // namespace orbax_store_test
