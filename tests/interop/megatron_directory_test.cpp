// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <set>

namespace megatron_directory_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/megatron/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

/// One of the directories of Megatron-Core, and what cases.json says of it.
struct fixture {
  std::string path;
  json leaves;
  std::string elements;
};

std::vector<fixture> fixtures() {
  std::vector<fixture> out;
  const json index = parse_json(as_bytes(test::read_file(golden + "cases.json"))).value();
  for (const json& one : *index.find("cases")->if_array()) {
    const std::string name = *one.find("case")->if_string();
    if (!name.starts_with("zarr-")) continue;
    out.push_back({golden + name, *one.find("leaves"), test::read_file(golden + name + ".bin")});
  }
  REQUIRE(out.size() == 2);
  return out;
}

/// Calls `f(key, spec, bytes)` for each tensor of a fixture.
template <class F>
void for_each_tensor(const fixture& of, F&& f) {
  for (const json& leaf : *of.leaves.if_array()) {
    const json* type = leaf.find("dtype");
    if (type == nullptr) continue;
    tensor_spec spec{parse_dtype(*type->if_string()).value(), {}};
    for (const json& extent : *leaf.find("shape")->if_array())
      spec.shape.push_back(*extent.to_int64());
    const auto offset = static_cast<std::size_t>(*leaf.find("offset")->to_int64());
    f(*leaf.find("name")->if_string(), spec,
      std::string_view(of.elements).substr(offset, byte_count(spec).value()));
  }
}

std::string content(const tensor& of) {
  return {reinterpret_cast<const char*>(of.view().data), of.size() * of.type().size()};
}

TEST_CASE("megatron_directory: what Megatron-Core wrote in 2 and 4 processes, read by one") {
  for (const fixture& one : fixtures()) {
    CAPTURE(one.path);
    const auto directory = megatron::directory::open(one.path).value();
    CHECK(directory.written_by() == megatron::backends{});
    const megatron::contents there = directory.list().value();
    std::vector<std::string> expected;
    for_each_tensor(one,
                    [&](const std::string& name, const tensor_spec& spec, std::string_view bytes) {
                      expected.push_back(name);
                      const tensor read = directory.read(name).value();
                      CHECK(read.spec() == spec);
                      CHECK(content(read) == bytes);
                      // The last row alone, as another process of another number would ask for it.
                      selection last = box::whole(spec.shape);
                      last.offset[0] = spec.shape[0] - 1;
                      last.shape[0] = 1;
                      tensor row = tensor::make({spec.type, last.shape}).value();
                      directory.read(name, last, row.mutable_view()).value();
                      CHECK(content(row) == bytes.substr(bytes.size() - content(row).size()));
                    });
    std::sort(expected.begin(), expected.end());
    CHECK(there.tensors == expected);  // no optimizer.flat.sync
    REQUIRE(there.objects == std::vector<megatron::object_id>{{"optimizer.step", {0}, {1}}});
    const torch::file object = directory.object(there.objects[0]).value();
    CHECK(torch::to_json(object.root()).value() == json(json::object{{"step", 3}}));
    CHECK(directory.common_json().value() == json(json::object{{"iteration", 7}}));
  }
}

std::set<std::string> files_of(const any_store& store, const store_key& at = store_key::root()) {
  std::set<std::string> out;
  for (const list_entry& entry : store.list(at).value()) {
    const store_key child = at.child(entry.name).value();
    if (entry.is_prefix) {
      out.merge(files_of(store, child));
    } else {
      out.insert(std::string(child.str()));
    }
  }
  return out;
}

std::string bytes_of(const any_store& store, const std::string& name) {
  return std::string(as_text(get(store, key(name), 1 << 20).value().value()));
}

TEST_CASE("megatron_directory: what we write is the same, file for file") {
  for (const fixture& one : fixtures()) {
    const auto theirs = megatron::directory::open(one.path).value();
    const memory_store ours;
    for_each_tensor(one, [&](const std::string& name, const tensor_spec& spec, std::string_view) {
      const megatron::detail::tensor_layout layout{
          spec, theirs.tensor(name).value().metadata().chunk_shape};
      megatron::detail::put_array_document(ours, name, layout).value();
      const array to =
          array::from_metadata(ours, key(name), megatron::detail::to_metadata(layout).value())
              .value();
      const tensor whole = theirs.read(name).value();
      to.write(box::whole(spec.shape), whole.view(), {.elide_fill = false}).value();
    });
    megatron::detail::put_object(ours, "optimizer.step/shard_0_1", json(json::object{{"step", 3}}))
        .value();
    megatron::detail::write_common(ours, json(json::object{{"iteration", 7}})).value();
    megatron::detail::write_metadata(ours).value();

    std::set<std::string> expected = files_of(theirs.store());
    std::erase_if(expected,
                  [](const std::string& name) { return name.find(".sync/") != std::string::npos; });
    CHECK(files_of(ours) == expected);
    for (const std::string& name : expected) {
      CAPTURE(name);
      if (!name.ends_with(".pt")) {
        CHECK(bytes_of(ours, name) == bytes_of(theirs.store(), name));
        continue;
      }
      // The archive holds less, but the pickle and the names are the same.
      const auto a = zip_store::open(ours, key(name)).value();
      const auto b = zip_store::open(theirs.store(), key(name)).value();
      const std::string stem = fs::path(name).stem().string();
      for (const char* member : {"/data.pkl", "/version", "/byteorder"})
        CHECK(bytes_of(a, stem + member) == bytes_of(b, stem + member));
    }
    const auto again = megatron::directory::open(ours).value();
    CHECK(again.list().value().tensors == theirs.list().value().tensors);
    CHECK(again.common_json().value() == theirs.common_json().value());
  }
}

TEST_CASE("SER-8: what is missing is told as Megatron-Core tells it") {
  const test::temp_directory dir;
  const auto refusal = [](const location& where) {
    const auto opened = megatron::directory::open(where);
    REQUIRE_FALSE(opened);
    return opened.failure();
  };
  const error missing = refusal(dir / "none");
  CHECK(missing.code == errc::not_found);
  CHECK(missing.message.find("directory " + (dir / "none") + " does not exist") !=
        std::string::npos);
  fs::create_directory(dir / "empty");
  const error empty = refusal(dir / "empty");
  CHECK(empty.code == errc::not_found);
  CHECK(empty.message.find("is not a distributed checkpoint") != std::string::npos);
  const any_store store = file_store::open(dir.path().string()).value();
  CHECK(refusal({store, key("empty")}).message.find("is not a distributed checkpoint") !=
        std::string::npos);
  CHECK(refusal({store, key("gone")}).message.find("does not exist") != std::string::npos);
  CHECK(refusal({store, key("gone/below")}).message.find("does not exist") != std::string::npos);

  const auto directory = megatron::directory::open(fixtures()[0].path).value();
  CHECK(directory.read("decoder.unknown").failure().message.find("decoder.unknown not found") !=
        std::string::npos);
  CHECK(
      directory.object({"ObjX", {0}, {1}}).failure().message.find("ObjX/shard_0_1.pt not found") !=
      std::string::npos);
}

TEST_CASE("megatron_directory: a chunk that is lost or short is an error, never zeros") {
  const test::temp_directory dir;
  fs::copy(fixtures()[0].path, dir / "c", fs::copy_options::recursive);
  const std::string chunk = dir / "c/decoder.weight/0.1";
  const std::string good = test::read_file(chunk);
  const auto directory = megatron::directory::open(dir / "c").value();
  REQUIRE(directory.read("decoder.weight"));
  fs::permissions(dir / "c/decoder.weight", fs::perms::owner_all);
  fs::remove(chunk);
  error failure = directory.read("decoder.weight").failure();
  CHECK(failure.code == errc::not_found);
  CHECK(failure.message.find("0.1") != std::string::npos);
  tensor left = tensor::make({dtype_kind::float32, {8, 6}}).value();
  CHECK(directory.read("decoder.weight", box{{0, 0}, {8, 6}}, left.mutable_view()));
  CHECK(directory.read("decoder.weight", box{{0, 6}, {8, 6}}, left.mutable_view()).failure().code ==
        errc::not_found);
  for (const std::string& wrong : {good.substr(0, good.size() - 4), std::string(), good + "abcd"}) {
    test::write_file(chunk, wrong);
    failure = directory.read("decoder.weight").failure();
    CHECK(failure.code == errc::corrupt);
    CHECK(failure.message.find("0.1") != std::string::npos);
  }
  // With a fill value a chunk may be missing: so Zarr has it.
  const std::string document = test::read_file(dir / "c/decoder.weight/.zarray");
  fs::remove(dir / "c/decoder.weight/.zarray");
  std::string filled = document;
  filled.replace(filled.find("\"fill_value\": null"), 18, "\"fill_value\": 1.5");
  test::write_file(dir / "c/decoder.weight/.zarray", filled);
  fs::remove(chunk);
  CHECK(directory.read("decoder.weight").value().data<float>()[11] == 1.5F);
}

TEST_CASE("megatron_directory: keys with slashes, no axes, old names and locks") {
  const memory_store store;
  megatron::detail::write_metadata(store).value();
  const tensor one = [] {
    tensor out = tensor::make({dtype_kind::int64, {}}).value();
    out.data<std::int64_t>()[0] = 42;
    return out;
  }();
  for (const char* name : {"a", "a/b", "x.sync"}) {
    const megatron::detail::tensor_layout layout{one.spec(), {}};
    megatron::detail::put_array_document(store, name, layout).value();
    array::from_metadata(store, key(name), megatron::detail::to_metadata(layout).value())
        .value()
        .write(box::whole({}), one.view(), {.elide_fill = false})
        .value();
  }
  CHECK(bytes_of(store, "a/b/0").size() == 8);
  store.put(key("a.sync/.zarray"), {}).value();
  store.put(key("a.sync/0"), {}).value();
  store.put(key("a/notes.pt"), {}).value();
  store.put(key("shard_0_1.pt"), {}).value();
  megatron::detail::put_object(store, "o/p/shard_0.0_1.3", json("first")).value();
  torch::save(store, key("o/p/shard_0.2_1.pt"), json("old")).value();
  megatron::detail::put_object(store, "scalar/shard__", json("s")).value();

  const auto directory = megatron::directory::open(store).value();
  const megatron::contents there = directory.list().value();
  CHECK(there.tensors == std::vector<std::string>{"a", "a/b", "x.sync"});
  CHECK(there.objects == std::vector<megatron::object_id>{
                             {"o/p", {0, 0}, {1, 3}}, {"o/p", {0, 2}, {1, 3}}, {"scalar", {}, {}}});
  CHECK(directory.read("a/b").value().data<std::int64_t>()[0] == 42);
  CHECK(*directory.object(there.objects[1]).value().root().if_string() == "old");
  CHECK(*directory.object(there.objects[2]).value().root().if_string() == "s");
  CHECK(directory.common().failure().code == errc::not_found);
  CHECK(directory.tensor("../a").failure().code == errc::invalid_argument);
  CHECK(directory.tensor("").failure().code == errc::invalid_argument);
}

TEST_CASE("megatron_directory: other backends and broken documents are named") {
  const memory_store store;
  megatron::detail::write_metadata(store, {"torch_dist", 1, "torch", 1}).value();
  const error other = megatron::directory::open(store).failure();
  CHECK(other.code == errc::unsupported);
  CHECK(other.message.find("(torch_dist, 1)") != std::string::npos);
  megatron::detail::write_metadata(store, {"zarr", 2, "torch", 1}).value();
  CHECK(megatron::directory::open(store).failure().code == errc::unsupported);
  megatron::detail::write_metadata(store, {"zarr", 1, "mine", 1}).value();
  CHECK(megatron::directory::open(store).value().common().failure().code == errc::unsupported);
  store.put(key("metadata.json"), as_bytes("{")).value();
  CHECK(megatron::directory::open(store).failure().code == errc::corrupt);

  megatron::detail::write_metadata(store).value();
  torch::save(store, key("common.pt"), torch::value::bytes{std::byte{1}}).value();
  store.put(key("t/.zarray"), as_bytes("")).value();
  const auto directory = megatron::directory::open(store).value();
  CHECK(directory.list().value().tensors == std::vector<std::string>{"t"});
  CHECK(directory.read("t").failure().code == errc::corrupt);
  CHECK(directory.common_json().value() == json(json::object{{"$", "text"}, {"base64", "AQ=="}}));
  CHECK(torch::to_bytes(directory.common().value().root()).value().size() == 1);
  std::string deep = "d";
  for (int i = 0; i < 70; ++i) deep += "/d";
  store.put(key(deep), {}).value();
  CHECK(directory.list().failure().code == errc::resource_limit);
}

}  // namespace megatron_directory_test
