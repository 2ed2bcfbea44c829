// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp/dcp_item.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/interop/dcp/dcp_store.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/interop/safetensors/safetensors_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "pickle_bytes.hpp"
#include "support/dcp_bytes.hpp"
#include "support/random_rounds.hpp"
#include "support/recording_store.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dcp_store_test {

using namespace zarrpoint;
using test::dcp_box;
using test::dcp_tensor;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/dcp/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

result<checkpoint> opened(const std::string& path) {
  return open(path, {.stores = formats<dcp::format>()});
}

result<dcp::state_store> state_of(const any_store& from) {
  return dcp::state_store::open(from, store_key::root());
}

/// What only metadata say.
result<dcp::state_store> told(const std::vector<dcp_tensor>& tensors) {
  const memory_store out;
  out.put(key(".metadata"), as_bytes(std::string_view(test::dcp_metadata(tensors)))).value();
  return state_of(out);
}

std::string text_of(const checkpoint& from, std::string_view name) {
  const tensor loaded = from.load<tensor>(name).value();
  const host_view view = loaded.view();
  const auto count = static_cast<std::size_t>(element_count(loaded.spec().shape).value());
  return {reinterpret_cast<const char*>(view.data), count * view.type.size()};
}

template <class T>
bool refuses(const result<T>& of, std::string_view text) {
  if (of) return false;
  INFO(to_string(of.failure()));
  CHECK(of.failure().message.find(text) != std::string::npos);
  return of.failure().message.find(text) != std::string::npos;
}

/// Whether all elements of a part are their places in the tensor.
bool are_places(const checkpoint& from, std::string_view name, const box& part) {
  const dims shape = from.metadata(name).value().spec.shape;
  const auto got = from.load<std::vector<float>>(name, part).value();
  const std::string item = test::dcp_item(shape, part);
  const memory_store store;
  store.put(key("item"), as_bytes(item)).value();
  const torch::file file = torch::open(store, key("item")).value();
  tensor wanted = tensor::make({dtype(dtype_kind::float32), part.shape}).value();
  file.read(file.tensor(file.root()).value(), wanted.mutable_view()).value();
  return std::equal(got.begin(), got.end(), wanted.data<float>().begin(),
                    wanted.data<float>().end());
}

TEST_CASE("dcp: every tensor of what PyTorch and Megatron-Core wrote has what was saved") {
  const json index = parse_json(as_bytes(test::read_file(golden + "index.json"))).value();
  int arrays = 0;
  for (const json& one : *index.find("cases")->if_array()) {
    const std::string name = *one.find("case")->if_string();
    const std::string expected = test::read_file(golden + name + ".bin");
    const auto from = opened(golden + name);
    REQUIRE(from);
    for (const json& leaf : *one.find("leaves")->if_array()) {
      const std::string leaf_name = *leaf.find("name")->if_string();
      INFO(name, ": ", leaf_name);
      const auto loaded = from->load<tensor>(leaf_name);
      REQUIRE(loaded);
      CHECK(to_string(loaded->spec().type) == *leaf.find("dtype")->if_string());
      const std::string text = text_of(*from, leaf_name);
      const auto offset = static_cast<std::size_t>(*leaf.find("offset")->to_int64());
      CHECK(text == expected.substr(offset, text.size()));
      REQUIRE(leaf.find("shape")->if_array()->size() == loaded->spec().shape.rank());
      for (std::size_t d = 0; d < loaded->spec().shape.rank(); ++d)
        CHECK((*leaf.find("shape")->if_array())[d].to_int64() == loaded->spec().shape[d]);
      ++arrays;
    }
  }
  CHECK(arrays == 13);
}

TEST_CASE("dcp: values that are not tensors") {
  const auto from = opened(golden + "one-process").value();
  CHECK(from.load<std::int64_t>("step").value() == 12);
  CHECK(from.load<std::string>("name").value() == "demo");
  CHECK(from.load<double>("opt.1.lr").value() == 0.2);
  const auto base = file_store::open(golden + "one-process", {.read_only = true}).value();
  const auto store = state_of(base).value();
  CHECK(*store.value("name").value().root().if_string() == "demo");
  CHECK(store.value("model.w").failure().code == errc::not_found);
  CHECK(dump_json(store.values().value()) ==
        R"({"name":"demo","opt":[{"lr":0.1},{"lr":0.2}],"step":12})");
  const dcp::metadata& told = store.metadata();
  REQUIRE(told.values.size() == 4);
  CHECK(told.values[1].path ==
        std::vector<dcp::path_step>{{"opt", false}, {"0", true}, {"lr", false}});
  CHECK(told.tensors[0].path == std::vector<dcp::path_step>{{"model", false}, {"e", false}});
  const auto megatron = opened(golden + "torch_dist-tp2-pp1-2ranks").value();
  CHECK(megatron.load<std::string>("optimizer.step/shard_0_1").value() == R"({"step":3})");
  CHECK(megatron.load<std::string>("common").value() == R"({"iteration":7})");
}

TEST_CASE("dcp: values at their paths in a document") {
  json document;
  std::size_t gaps = 10;
  const auto put = [&](std::vector<dcp::path_step> path, int value) {
    return dcp::detail::put_at(document, path, json(value), gaps);
  };
  CHECK(put({{"a", false}, {"3", true}}, 5));
  CHECK(put({{"a", false}, {"1", true}, {"b", false}}, 6));
  CHECK(dump_json(document) == R"({"a":[null,{"b":6},null,5]})");
  CHECK(gaps == 7);
  CHECK(refuses(put({{"a", false}, {"b", false}}, 7), "through another value, at \"b\""));
  CHECK(refuses(put({{"a", false}, {"3", true}, {"0", true}}, 7), "through another value"));
  CHECK(refuses(put({{"a", false}, {"11", true}}, 7), "too far"));
  CHECK(refuses(put({{"a", false}, {"-1", true}}, 7), "too far"));
}

TEST_CASE("dcp: what torch.save holds as an array") {
  const auto made = [](const torch::value& what, const char* name = "x") {
    const memory_store store;
    torch::save(store, key("v"), what).value();
    return dcp::detail::to_array(torch::open(store, key("v")).value(), name).value();
  };
  const auto text = [&](const torch::value& what, const char* name = "x") {
    return dump_json(made(what, name).document);
  };
  CHECK(text(json(true)).find(R"("bool")") != std::string::npos);
  CHECK(text(json(UINT64_MAX)).find(R"("uint64")") != std::string::npos);
  CHECK(text(json()).find("application/json") != std::string::npos);
  CHECK(text(json("text")).find("application/json") == std::string::npos);
  const json list(json::array{json(5)});
  CHECK(text(list).find(R"("string")") != std::string::npos);
  CHECK(text(list, "k/shard_0_1").find(R"("int64")") != std::string::npos);
  tensor three = tensor::make({dtype(dtype_kind::int16), {3, 0}}).value();
  const auto empty = made(torch::value(as_const(three.mutable_view())));
  CHECK(dump_json(empty.document).find(R"("shape":[3,0])") != std::string::npos);
  CHECK(empty.chunk.empty());
}

TEST_CASE("dcp: an object with tensors is a group of them, whatever its name") {
  const std::string file = test::read_file(golden + "../torch/rebuild/module.pt");
  const std::string name = "net\n1";
  const auto saved = [&](std::string_view bytes) {
    const memory_store out;
    out.put(key("f"), as_bytes(bytes)).value();
    const dcp_box item{{}, {}, "f", 0, file.size()};
    out.put(key(".metadata"),
            as_bytes(test::dcp_metadata({{name, {}, {item}, "float32", "BytesStorageMetadata"},
                                         {"net", {}, {item}, "float32", "BytesStorageMetadata"}})))
        .value();
    return open(state_of(out).value());
  };
  const checkpoint from = saved(file).value();
  for (const std::string& above : {std::string("net/"), std::string("net%0A1/")}) {
    CHECK(from.metadata(above + "first/weight").value().spec.type == dtype_kind::float32);
    const std::string text = from.load<std::string>(above + "@object").value();
    CHECK(text.find(R"("weight":{"__array__":"first/weight"})") != text.npos);
  }
  CHECK(from.names().size() % 2 == 0);
  std::mt19937 random(8);
  for (int i = 0; i < zarrpoint_test::random_rounds(200); ++i) {
    std::string damaged = file;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    const auto again = saved(damaged);
    if (!again) continue;
    for (const std::string& each : again->names()) static_cast<void>(again->load<tensor>(each));
  }
}

TEST_CASE("dcp: boxes as a regular grid, a rectilinear one, or the parts of one chunk") {
  const auto store = test::dcp_checkpoint({
      {"regular", {10, 7}, {{{0, 0}, {4, 7}}, {{4, 0}, {4, 7}}, {{8, 0}, {2, 7}}}},
      {"edges", {5, 6}, {{{0, 0}, {2, 5}}, {{2, 5}, {3, 1}}, {{0, 5}, {2, 1}}, {{2, 0}, {3, 5}}}},
      {"loose", {4, 6}, {{{0, 0}, {1, 6}}, {{1, 0}, {3, 2}}, {{1, 2}, {3, 4}}}},
      {"replicas", {3}, {{{0}, {3}}, {{0}, {3}, ""}}},
      {"scalar", {}, {{{}, {}}}},
      {"a/b.c/d", {2, 2}, {{{0, 0}, {2, 2}}}},
  });
  const auto state = state_of(store).value();
  const auto from = open(state).value();
  CHECK(from.names() ==
        std::vector<std::string>{"a/b.c/d", "edges", "loose", "regular", "replicas", "scalar"});
  for (const std::string& name : from.names())
    CHECK(are_places(from, name, box::whole(from.metadata(name).value().spec.shape)));
  CHECK(are_places(from, "loose", {{0, 1}, {4, 3}}));
  CHECK(are_places(from, "edges", {{1, 4}, {3, 2}}));
  const auto grid = [&](const char* name) {
    return array::open(any_store(state), key(name), default_context()).value().metadata();
  };
  CHECK(grid("regular").chunk_shape == dims{4, 7});
  CHECK(grid("regular").edges.empty());
  CHECK(grid("edges").edges.size() == 2);
  CHECK(grid("loose").chunk_shape == dims{4, 6});
  std::vector<std::string> chunks;
  for (const list_entry& one : state.list(key("regular/c")).value()) chunks.push_back(one.name);
  CHECK(chunks == std::vector<std::string>{"0", "1", "2"});
  CHECK(state.list(key("regular/c/1")).value() == std::vector<list_entry>{{"0", false}});
  CHECK(state.open(key("regular/c/3/0")).value() == nullptr);
  CHECK(state.open(key("regular/c/0")).value() == nullptr);
}

/// Cuts a box in two, again and again.
void cut(const box& whole, std::mt19937& random, std::vector<dcp_box>& out) {
  const std::size_t axis = random() % whole.rank();
  const index_t extent = whole.shape[axis];
  if (extent < 2 || random() % 4 == 0) {
    out.push_back({whole.offset, whole.shape});
    return;
  }
  const auto first = 1 + static_cast<index_t>(random() % static_cast<unsigned>(extent - 1));
  box part = whole;
  part.shape[axis] = first;
  cut(part, random, out);
  part.offset[axis] += first;
  part.shape[axis] = extent - first;
  cut(part, random, out);
}

TEST_CASE("dcp: any boxes that fill a tensor, and any part of it") {
  std::mt19937 random(11);
  for (int round = 0; round < zarrpoint_test::random_rounds(120); ++round) {
    dims shape;
    for (std::size_t rank = 1 + random() % 3; shape.rank() < rank;)
      shape.push_back(1 + static_cast<index_t>(random() % 9));
    dcp_tensor made{"t", shape, {}};
    cut(box::whole(shape), random, made.boxes);
    std::shuffle(made.boxes.begin(), made.boxes.end(), random);
    CAPTURE(round);
    const auto from = open(state_of(test::dcp_checkpoint({made})).value()).value();
    CHECK(are_places(from, "t", box::whole(shape)));
    box part = box::whole(shape);
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      part.offset[d] = static_cast<index_t>(random() % static_cast<unsigned>(shape[d]));
      part.shape[d] =
          1 + static_cast<index_t>(random() % static_cast<unsigned>(shape[d] - part.offset[d]));
    }
    CHECK(are_places(from, "t", part));
    if (made.boxes.size() == 1) continue;
    made.boxes.pop_back();
    CHECK_FALSE(told({made}).has_value());
  }
}

TEST_CASE("dcp: a tensor that is one box can be mapped, and large ones are read by ranges") {
  const test::temp_directory made;
  const dims shape{300, 200};
  auto item = test::dcp_item(shape, box::whole(shape));
  const std::string front(64 - 1, 'x');  // so that its elements are not aligned, and then are
  for (const std::size_t at : {front.size(), front.size() + 1}) {
    std::ofstream(made / "f.distcp") << std::string(at, 'x') << item;
    std::ofstream(made / ".metadata")
        << test::dcp_metadata({{"t", shape, {{{0, 0}, shape, "f.distcp", at, item.size()}}}});
    const auto from = opened(made.path().string()).value();
    const mapped_tensor<float> view = from.view<float>("t").value();
    CHECK(view.is_zero_copy() == (at % 64 == 0));
    CHECK(view[60000 - 1] == 59999.0F);
    CHECK(are_places(from, "t", {{299, 3}, {1, 190}}));
  }
}

TEST_CASE("dcp: a large box is opened once for all threads, with a read of each of its ends") {
  const dims shape{3000, 700};
  const memory_store made = test::dcp_checkpoint({{"t", shape, {{{0, 0}, shape}}}});
  const zarrpoint_test::recording_store counted;
  for (const char* name : {".metadata", "__0_0.distcp"})
    counted.put(key(name), as_bytes(test::dcp_bytes(made, name))).value();
  thread_pool pool(4);
  const auto from = open(state_of(counted).value(), {.executor = pool.executor()}).value();
  const std::uint64_t opens = counted->opens;
  std::uint64_t bytes = counted->bytes_read;
  const std::uint64_t reads = counted->reads;
  CHECK(are_places(from, "t", box::whole(shape)));
  CHECK(counted->opens - opens == 1);
  CHECK(counted->bytes_read - bytes == 2048 + 3000 * 700 * 4);
  CHECK(counted->reads - reads <= 2 + 5);
  bytes = counted->bytes_read;
  CHECK(are_places(from, "t", {{2999, 0}, {1, 700}}));
  CHECK(counted->bytes_read - bytes == 2048 + 700 * 4);
}

TEST_CASE("dcp: damage at the ends of a large box") {
  const dims shape{200, 100};
  std::string item = test::dcp_item(shape, box::whole(shape));
  const auto load = [&](std::string_view bytes) {
    const memory_store out;
    out.put(key("f"), as_bytes(bytes)).value();
    out.put(key(".metadata"),
            as_bytes(test::dcp_metadata({{"t", shape, {{{0, 0}, shape, "f", 0, bytes.size()}}}})))
        .value();
    return open(state_of(out).value()).value().load<tensor>("t");
  };
  const tensor sound = load(item).value();
  std::mt19937 random(6);
  int refused = 0;
  for (int i = 0; i < zarrpoint_test::random_rounds(300); ++i) {
    std::string damaged = item;
    const std::size_t at = random() % 1100;
    damaged[random() % 2 == 0 ? at : item.size() - 1 - at] ^= static_cast<char>(1U << random() % 8);
    const auto got = load(damaged);
    if (got) {
      int wrong =
          0;  // elements lie there, too, and damage is not noticed where they are read by parts
      for (std::size_t e = 0; e < sound.size(); ++e)
        wrong += got->data<float>()[e] == sound.data<float>()[e] ? 0 : 1;
      CHECK(wrong <= 1);
    } else {
      ++refused;
    }
    CHECK_FALSE(load(item.substr(0, item.size() - 1 - random() % 1100)));
    CHECK_FALSE(load(item.substr(1 + random() % 1100)));
  }
  CHECK(refused > 0);
}

TEST_CASE("dcp: items that were compressed") {
  const dims shape{50, 60};
  const std::string item = test::dcp_item(shape, box::whole(shape));
  std::string packed(ZSTD_compressBound(item.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), item.data(), item.size(), 1));
  const auto state = [&](const std::string& bytes, std::vector<std::string> transforms) {
    const memory_store out;
    out.put(key("f"), as_bytes(bytes)).value();
    const std::string text = test::dcp_metadata(
        {{"t", shape, {{{0, 0}, shape, "f", 0, bytes.size(), std::move(transforms)}}}});
    out.put(key(".metadata"), as_bytes(text)).value();
    return open(state_of(out).value()).value();
  };
  CHECK(are_places(state(packed, {"stream.zstd/1"}), "t", {{3, 1}, {40, 50}}));
  const auto load = [](const checkpoint& from) { return from.load<tensor>("t"); };
  CHECK(refuses(load(state(packed, {"stream.lz4/1"})), "\"stream.lz4/1\" is not known"));
  CHECK(refuses(load(state(packed.substr(0, 900), {"stream.zstd/1"})), "cut short"));
  CHECK(refuses(load(state("damaged" + packed, {"stream.zstd/1"})), "damaged"));
  const std::string zeros(std::size_t{8} << 20, '\0');
  std::string bomb(ZSTD_compressBound(zeros.size()), '\0');
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 1));
  const auto burst = load(state(bomb, {"stream.zstd/1"}));
  CHECK(refuses(burst, "bytes that are expected"));
}

TEST_CASE("dcp: what the processes saved each for itself") {
  const dims shape{4, 3};
  const auto part = [&](index_t first) {
    return test::dcp_checkpoint(
        {{"t", shape, {{{first, 0}, {2, 3}}}}, {"r" + std::to_string(first), {2}, {{{0}, {2}}}}});
  };
  const memory_store both;
  for (const index_t rank : {0, 1}) {
    const memory_store one = part(2 * rank);
    const std::string number = std::to_string(rank);
    std::string metadata = test::dcp_bytes(one, ".metadata");
    for (std::size_t at = 0; (at = metadata.find("__0_0", at)) != metadata.npos; ++at)
      metadata.replace(at + 2, 1, number);
    both.put(key("__" + number + ".metadata"), as_bytes(metadata)).value();
    both.put(key("__" + number + "_0.distcp"), as_bytes(test::dcp_bytes(one, "__0_0.distcp")))
        .value();
  }
  const auto from = open(state_of(both).value()).value();
  CHECK(from.names() == std::vector<std::string>{"r0", "r2", "t"});
  CHECK(are_places(from, "t", box::whole(shape)));
  both.put(key("__2.metadata"), as_bytes(test::dcp_metadata({{"t", {9}, {{{0}, {9}, "f", 0, 9}}}})))
      .value();
  CHECK(refuses(state_of(both), "to different processes"));
  CHECK(state_of(memory_store()).failure().code == errc::not_found);
}

/// A box of a tensor of float32 whose elements are their places, in a safetensors file.
void put_safetensors(const any_store& to, const char* name, const dims& shape, const box& part,
                     const safetensors::metadata_map& metadata) {
  const memory_store store;
  store.put(key("item"), as_bytes(test::dcp_item(shape, part))).value();
  const torch::file file = torch::open(store, key("item")).value();
  const torch::tensor_in_file view = file.view(file.tensor(file.root()).value()).value();
  safetensors::save(to, key(name), std::vector<safetensors::named_view>{{"t", view.elements}},
                    metadata)
      .value();
}

TEST_CASE("dcp: boxes in safetensors files, as torch writes them for Hugging Face") {
  const dims shape{5, 6};
  const auto of = [&](const std::string& offsets) {
    const memory_store out;
    put_safetensors(out, "shard-00001-model-00001-of-00001.safetensors", shape, {{0, 0}, {5, 4}},
                    {});
    put_safetensors(out, "shard-00002-model-00001-of-00001.safetensors", shape, {{0, 4}, {5, 2}},
                    {{"DCP_SHARDING_INFO", R"({"t":{"saved_offsets":)" + offsets + "}}"}});
    return state_of(out);
  };
  const auto from = open(of("[0,4]").value()).value();
  CHECK(from.metadata("t").value().spec.shape == shape);
  CHECK(are_places(from, "t", box::whole(shape)));
  CHECK(are_places(from, "t", {{1, 3}, {2, 2}}));
  CHECK(refuses(of("[0,3]"), "overlap"));
  CHECK(refuses(of("[0,5]"), "\"t\": its boxes have 30 of its 35 elements"));
  CHECK(refuses(of("[0]"), "not of its rank"));
  CHECK(refuses(of("[0,-1]"), "integers of 0 or more"));
  CHECK(refuses(of("[0,9223372036854775807]"), "\"t\""));
  CHECK(refuses(of("[0,4]x"), "DCP_SHARDING_INFO"));
}

TEST_CASE("dcp: an index without parts of tensors is that of safetensors") {
  const test::temp_directory made;
  const any_store folder = file_store::open(made.path().string()).value();
  const dims shape{200, 100};
  put_safetensors(folder, "model-00001-of-00002.safetensors", shape, box::whole(shape), {});
  const auto index = [&](const std::string& map) {
    folder.put(key("model.safetensors.index.json"), as_bytes(R"({"weight_map":)" + map + "}"))
        .value();
    return open(made.path().string(), formats<dcp::format, safetensors::format>());
  };
  const auto from = index(R"({"t":"model-00001-of-00002.safetensors"})");
  REQUIRE(from);
  CHECK(from->format() == "safetensors in files");
  CHECK(are_places(*from, "t", box::whole(shape)));
  CHECK(from->view<float>("t").value().is_zero_copy());
  CHECK(refuses(
      index(R"({"t":"model-00001-of-00002.safetensors","u":"model-00001-of-00002.safetensors"})"),
      "tensor \"u\" is not in \"model-00001-of-00002.safetensors\""));
  CHECK(refuses(index(R"({"t":"other.safetensors"})"), "no such file"));
  CHECK(refuses(index(R"({"t":"../other.safetensors"})"), "not in the directory"));
  CHECK(refuses(index(R"({"t":5})"), "not in the directory"));
  CHECK(refuses(index("5"), "weight_map"));
}

TEST_CASE("dcp: safetensors of an index that are packed, or of an unknown dtype") {
  const memory_store folder;
  const std::string header = R"({"f4":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]},)"
                             R"("new":{"dtype":"F9","shape":[3],"data_offsets":[2,7]}})";
  std::string file(8, '\0');
  store_le<std::uint64_t>(reinterpret_cast<std::byte*>(file.data()), header.size());
  file += header + "\x21\x43" + "abcde";
  folder.put(key("m.safetensors"), as_bytes(file)).value();
  folder
      .put(key("model.safetensors.index.json"),
           as_bytes(
               std::string_view(R"({"weight_map":{"f4":"m.safetensors","new":"m.safetensors"}})")))
      .value();
  const dcp::state_store store = state_of(folder).value();
  const auto from = open(store).value();
  const tensor packed = from.load<tensor>("f4").value();
  CHECK(packed.spec() == tensor_spec{dtype_kind::float4_e2m1fn, {2, 2}});
  for (int i = 0; i < 4; ++i) CHECK(packed.view().data[i] == std::byte(i + 1));
  CHECK(from.load<tensor>("new").failure().code == errc::unsupported);
  CHECK(test::dcp_bytes(store, "new/c/0") == "abcde");
}

TEST_CASE("dcp: a tensor in two files is that of the file that the index names") {
  const memory_store folder;
  const dims old_shape{2};
  const dims shape{3};
  put_safetensors(folder, "shard-1-model-1.safetensors", old_shape, box::whole(old_shape), {});
  put_safetensors(folder, "shard-2-model-1.safetensors", shape, box::whole(shape), {});
  CHECK(refuses(state_of(folder),
                "it is in \"shard-1-model-1.safetensors\" and in \"shard-2-model-1.safetensors\""));
  for (const auto& [file, wanted] : {std::pair("shard-1-model-1.safetensors", old_shape),
                                     std::pair("shard-2-model-1.safetensors", shape)}) {
    memory_store more;
    for (const char* const name : {"shard-1-model-1.safetensors", "shard-2-model-1.safetensors"})
      REQUIRE(more.put(key(name), get(folder, key(name), 1 << 20).value().value()));
    REQUIRE(more.put(key("model.safetensors.index.json"),
                     as_bytes(R"({"weight_map":{"t":")" + std::string(file) + "\"}}")));
    const auto from = open(state_of(more).value()).value();
    CHECK(from.metadata("t").value().spec.shape == wanted);
  }
}

TEST_CASE("dcp: cells that Megatron-Core stored flat") {
  const auto entry = [](dims stored, dims whole, std::vector<box> boxes) {
    dcp::tensor_entry out{"t", {}, {dtype(dtype_kind::float32), stored}, {}, whole};
    for (const box& one : boxes) out.chunks.push_back({one, {}});
    return dcp::detail::tensor_grid::make(out);
  };
  const auto grid = entry({2, 1, 6}, {4, 3},
                          {{{0, 0, 0}, {1, 1, 6}}, {{1, 0, 0}, {1, 1, 2}}, {{1, 0, 2}, {1, 1, 4}}});
  REQUIRE(grid);
  CHECK(grid->shape() == dims{4, 3});
  CHECK(grid->chunk_shape() == dims{2, 3});
  CHECK(grid->chunk_box({1, 0}) == box{{1, 0, 0}, {1, 1, 6}});
  CHECK(grid->boxes_of({0, 0}).size() == 1);
  CHECK(grid->boxes_of({1, 0}).size() == 2);
  CHECK(refuses(entry({2, 1, 6}, {4, 3}, {{{0, 0, 0}, {1, 1, 6}}, {{1, 0, 0}, {1, 1, 2}}}),
                "a hole"));
  CHECK(refuses(entry({2, 1, 6}, {4, 3}, {{{0, 0, 0}, {1, 1, 5}}, {{1, 0, 0}, {1, 1, 6}}}),
                "a hole"));
  CHECK(refuses(entry({2, 1, 6}, {4, 3},
                      {{{0, 0, 0}, {1, 1, 6}}, {{1, 0, 0}, {1, 1, 4}}, {{1, 0, 2}, {1, 1, 4}}}),
                "overlap"));
  CHECK(refuses(entry({2, 1, 6}, {4, 3}, {{{0, 0, 0}, {2, 1, 6}}}), "several cells"));
  CHECK(refuses(entry({2, 1, 5}, {4, 3}, {}), "no grid"));
  CHECK(refuses(entry({3, 1, 6}, {4, 3}, {}), "no grid"));
  CHECK(refuses(entry({2, 6}, {4, 3}, {}), "no grid"));
}

TEST_CASE("dcp: Megatron-Core leaves out axes that it put in front") {
  const dims shape{2, 3, 4};
  std::string file;
  std::vector<dcp_box> boxes;
  for (const index_t layer : {0, 1}) {
    std::string item = test::dcp_item(shape, {{layer, 0, 0}, {1, 3, 4}});
    boxes.push_back({{layer, 0, 0}, {3, 4}, "f", file.size(), item.size()});
    file += item;
  }
  const memory_store out;
  out.put(key("f"), as_bytes(file)).value();
  out.put(key(".metadata"), as_bytes(test::dcp_metadata({{"t", shape, boxes}}))).value();
  CHECK(are_places(open(state_of(out).value()).value(), "t", box::whole(shape)));
}

TEST_CASE("dcp: boxes that overlap, leave holes or lie outside are refused by name") {
  const auto of = [](dims shape, std::vector<dcp_box> boxes) {
    return told({{"layer.w", shape, std::move(boxes)}});
  };
  CHECK(refuses(of({4, 4}, {{{0, 0}, {3, 4}}, {{2, 0}, {2, 4}}}), "\"layer.w\": its boxes [0:3"));
  CHECK(refuses(of({4, 4}, {{{0, 0}, {4, 4}}, {{0, 0}, {2, 4}}}), "overlap"));
  CHECK(refuses(of({4, 4}, {{{0, 0}, {2, 4}}}), "it has holes"));
  CHECK(refuses(of({4, 4}, {}), "it has holes"));
  CHECK(refuses(of({}, {}), "it has holes"));
  CHECK(refuses(of({4}, {{{2}, {3}}}), "lies outside of the shape [4]"));
  CHECK(refuses(of({4}, {{{5}, {0}}}), "lies outside of the shape [4]"));
  CHECK(refuses(of({4}, {{{0, 0}, {4, 1}}}), "its rank"));
  CHECK(refuses(of({4}, {{{0}, {4}, ""}}), "no item for [0:4]"));
  CHECK(of({0, 4}, {{{0, 0}, {0, 4}}}));
  CHECK(refuses(of({INT64_MAX, 4}, {}), "\"layer.w\""));
  CHECK(refuses(of({4}, {{{INT64_MAX}, {INT64_MAX}}}), "lies outside"));
}

TEST_CASE("dcp: a class or a dtype that is not known refuses itself and nothing else") {
  const dims shape{4};
  const std::string item = test::dcp_item(shape, box::whole(shape));
  const dcp_box whole{{0}, shape, "f", 0, item.size()};
  const dcp_box rest{{0}, shape, "f", 64, item.size() - 64};
  for (const auto& [dtype, kind, type, reason] :
       {std::tuple("quint8", "TensorStorageMetadata", "torch.quint8",
                   "its dtype is a \"torch.quint8\", which is not known"),
        std::tuple("float32", "OtherMetadata",
                   "torch.distributed.checkpoint.metadata.OtherMetadata",
                   "it is a \"torch.distributed.checkpoint.metadata.OtherMetadata\", which is not "
                   "known")}) {
    CAPTURE(type);
    memory_store out;
    out.put(key("f"), as_bytes(item)).value();
    const std::string told =
        test::dcp_metadata({{"known", shape, {whole}}, {"q", shape, {rest}, dtype, kind}});
    out.put(key(".metadata"), as_bytes(told)).value();
    const dcp::state_store store = state_of(out).value();
    const auto from = open(store).value();
    CHECK(from.names() == std::vector<std::string>{"known", "q"});
    CHECK(are_places(from, "known", box::whole(shape)));
    CHECK(from.load<tensor>("q").failure().code == errc::unsupported);
    REQUIRE(store.metadata().unknown.size() == 1);
    CHECK(store.metadata().unknown[0].type == type);
    const json document = parse_json(as_bytes(test::dcp_bytes(store, "q/zarr.json"))).value();
    CHECK(*document.find("data_type") == json(type));
    CHECK(*document.find("attributes")->find("unread") == json(reason));
    CHECK(test::dcp_bytes(store, "q/c/0") == item.substr(64));
    CHECK(store.open(key("q/c/1")).value() == nullptr);
  }
}

TEST_CASE("dcp: names that are not valid keys are shown in another way") {
  const dims shape{4};
  const std::string item = test::dcp_item(shape, box::whole(shape));
  const dcp_box whole{{0}, shape, "f", 0, item.size()};
  const std::vector<std::string> names{"", "..", "a//b", "/a", "a/../b", "a\\b", "a", "a/b"};
  memory_store out;
  out.put(key("f"), as_bytes(item)).value();
  std::vector<test::dcp_tensor> tensors;
  for (const std::string& name : names) tensors.push_back({name, shape, {whole}});
  out.put(key(".metadata"), as_bytes(test::dcp_metadata(tensors))).value();
  const dcp::state_store store = state_of(out).value();
  const auto from = open(store).value();
  std::set<std::string> found;
  REQUIRE(from.names().size() == names.size());
  for (const std::string& shown : from.names()) {
    CHECK(are_places(from, shown, box::whole(shape)));
    const json attributes = from.attributes(shown).value();
    const json* const original = attributes.find("original_name");
    found.insert(original == nullptr ? shown : *original->if_string());
  }
  CHECK(found == std::set<std::string>(names.begin(), names.end()));
  for (const dcp::tensor_entry& one : store.metadata().tensors)
    CHECK((one.name == "a") == (one.shown == one.name));
  CHECK(refuses(told({{std::string(3000, 'a'), {4}, {whole}}}), "more than 1024 bytes"));
  for (const char* file : {"../f", "/etc/passwd", "a/../../f"})
    CHECK(refuses(told({{"a", {4}, {{{0}, {4}, file}}}}), "the file of its item"));
}

TEST_CASE("dcp: metadata that disagree with the archives") {
  const dims shape{4, 4};
  const std::string item = test::dcp_item(shape, box::whole(shape));
  const auto load = [&](const dcp_box& where, std::string_view bytes,
                        const char* dtype = "float32") {
    const memory_store out;
    out.put(key("f"), as_bytes(bytes)).value();
    out.put(key(".metadata"), as_bytes(test::dcp_metadata({{"t", shape, {where}, dtype}}))).value();
    return open(state_of(out).value()).value().load<tensor>("t");
  };
  const dcp_box whole{{0, 0}, shape, "f", 0, item.size()};
  CHECK(load(whole, item));
  CHECK(refuses(load(whole, item.substr(0, 900)), "run past the end of the file"));
  CHECK(refuses(load({{0, 0}, shape, "f", UINT64_MAX - 4, 4}, item), "run past"));
  CHECK(refuses(load({{0, 0}, shape, "f", 0, item.size() - 1}, item), "zip"));
  CHECK(refuses(load({{0, 0}, shape, "f", 1, item.size() - 1}, item), "f at 1"));
  CHECK(refuses(load({{0, 0}, shape, "g", 0, item.size()}, item), "g: the file is missing"));
  CHECK(
      refuses(load(whole, item, "int32"), "its item holds float32[4, 4], the metadata say int32"));
  const std::string other = test::dcp_item({4, 5}, box::whole({4, 5}));
  CHECK(refuses(load({{0, 0}, shape, "f", 0, other.size()}, other), "float32[4, 5]"));
  const memory_store text;
  torch::save(text, key("f"), torch::value(json("no tensor"))).value();
  const std::string words = test::dcp_bytes(text, "f");
  CHECK(refuses(load({{0, 0}, shape, "f", 0, words.size()}, words), "holds no tensor"));
}

TEST_CASE("dcp: pickles that ask for calls, and ones that are huge") {
  const auto read = [](std::string_view bytes, const torch::pickle_limits& limits = {}) {
    return dcp::read_metadata(as_bytes(bytes), limits);
  };
  using namespace std::string_literals;
  CHECK(refuses(read("\x80\x02"
                     "cposix\nsystem\nX\x02\0\0\0ls\x85R."s),
                "\"posix.system\""));
  CHECK(refuses(read("\x80\x02N."), "without a state_dict_metadata"));
  const std::string sound = test::dcp_metadata({{"t", {4}, {{{0}, {4}}, {{0}, {4}}}}});
  CHECK(read(sound));
  CHECK(refuses(read(sound, {.max_values = 20}), "more than 20 values"));
  CHECK(refuses(read(sound, {.max_bytes = 20}), "more than the limit of 20"));
  // One box that a list has many times: two bytes each.
  std::string many =
      "\x80\x02"
      "cm\nMetadata\n(}X\1\0\0\0tcm\nTensorStorageMetadata\n("s
      "cm\nTensorProperties\nctorch\nfloat32\n\x85RK\4\x85]("s
      "cm\nChunkStorageMetadata\nK\0\x85K\4\x85\x86Rq\1"s;
  for (int i = 0; i < 900; ++i) many += "h\1";
  many += "etRsN}tR.";
  CHECK(refuses(read(many), "no item for [0:4]"));
  CHECK(refuses(read(many, {.max_values = 1000}), "more than 125 boxes"));
}

TEST_CASE("dcp: damaged metadata and files are errors or what they say, and nothing worse") {
  const memory_store sound =
      test::dcp_checkpoint({{"t", {4, 6}, {{{0, 0}, {1, 6}}, {{1, 0}, {3, 2}}, {{1, 2}, {3, 4}}}},
                            {"u", {3}, {{{0}, {3}}}}});
  const auto try_all = [&](const char* damaged, const std::string& bytes) {
    const memory_store out;
    for (const char* name : {".metadata", "__0_0.distcp"})
      out.put(key(name), as_bytes(test::dcp_bytes(sound, name))).value();
    out.put(key(damaged), as_bytes(bytes)).value();
    const auto state = state_of(out);
    if (!state) return false;
    const auto from = open(*state);
    if (!from) return false;
    bool all = true;
    for (const std::string& name : from->names()) {
      const auto leaf = from->metadata(name);
      if (!leaf || byte_count(leaf->spec).value_or(1 << 20) >= 1 << 20) continue;
      all = from->load<tensor>(name).has_value() && all;
    }
    return all;
  };
  for (const char* name : {".metadata", "__0_0.distcp"}) {
    const std::string whole = test::dcp_bytes(sound, name);
    CHECK(try_all(name, whole));
    std::mt19937 random(5);
    for (int i = 0; i < zarrpoint_test::random_rounds(600); ++i) {
      std::string damaged = whole;
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
      try_all(name, damaged);
      CHECK_FALSE(try_all(name, whole.substr(0, random() % whole.size())));
    }
  }
}

TEST_CASE("dcp: directories, their parts, and the newest iteration of a run") {
  const test::temp_directory made;
  const std::string step = made / "iter_0000120";
  fs::copy(golden + "torch_dist-tp2-pp1-2ranks", step, fs::copy_options::recursive);
  CHECK_FALSE(opened(made.path().string()).has_value());
  std::ofstream(made / "latest_checkpointed_iteration.txt") << "120\n";
  CHECK(opened(made.path().string()).value().contains("decoder.weight"));
  CHECK(opened("dcp://" + step).value().contains("decoder.weight"));
  const store_table table = formats<dcp::format>();
  const stored_place one = table.open(step + "/optimizer.flat/", {}).value();
  CHECK(one.key.str() == "optimizer.flat");
  CHECK(one.format == "Megatron-Core torch_dist checkpoint");
  std::ofstream(step + "/zarr.json") << R"({"zarr_format":3,"node_type":"group"})";
  CHECK(table.open(step, {}).value().format.empty());
}

TEST_CASE("dcp: as docs/torch.md has it") {
  namespace zp = zarrpoint;
  const std::string path = golden + "one-process";
  const auto ckpt = zp::open(path, zp::formats<zp::dcp::format>()).value();
  for (const std::string& name : ckpt.names()) std::puts(name.c_str());
  const auto w = ckpt.load<std::vector<float>>("model.w", zp::box({0, 0}, {8, 3}));
  const auto step = ckpt.load<std::int64_t>("step");
  CHECK(w.value().size() == 24);
  CHECK(step.value() == 12);
  const auto base = zp::file_store::open(path, {.read_only = true}).value();
  const auto saved = zp::dcp::state_store::open(base, zp::store_key::root()).value();
  for (const zp::dcp::tensor_entry& tensor : saved.metadata().tensors)
    std::printf("%s: %zu boxes\n", tensor.name.c_str(), tensor.chunks.size());
}

TEST_CASE("dcp: metadata take no more than the budget of the caller") {
  CHECK(dcp::metadata_limits.within(UINT64_MAX).max_bytes == dcp::metadata_limits.max_bytes);
  CHECK(dcp::metadata_limits.within(UINT64_MAX).max_values == dcp::metadata_limits.max_values);
  CHECK(dcp::metadata_limits.within(1 << 20).max_bytes == (144 << 10));
  CHECK(dcp::metadata_limits.within(1 << 20).max_values == 5120);

  dcp_tensor tensor{"w", {4000, 1}, {}};
  for (index_t i = 0; i < 4000; ++i) tensor.boxes.push_back({{i, 0}, {1, 1}});
  const test::temp_directory made;
  test::write_file(made / ".metadata", test::dcp_metadata({tensor}));
  for (const std::string& path : {made.path().string(), "dcp://" + made.path().string()}) {
    CHECK(opened(path).value().contains("w"));
    const auto tight =
        open(path, {.stores = formats<dcp::format>(), .limit = {.memory = std::size_t{1} << 20}});
    REQUIRE_FALSE(tight);
    CAPTURE(tight.failure().message);
    CHECK(tight.failure().code == errc::resource_limit);
  }
}

}  // namespace dcp_store_test
