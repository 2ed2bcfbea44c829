// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/torch.hpp>

#include "support/store_texts.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace torch_store_test {

namespace zp = zarrpoint;
using namespace zarrpoint;
using test::key;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/torch";

context reading() {
  context out = default_context();
  out.stores = formats<torch::format>();
  return out;
}

std::vector<std::byte> bytes_of(const host_view& view) {
  tensor out = tensor::make(view.spec()).value();
  copy_elements(out.mutable_view(), view);
  const std::byte* const first = out.view().data;
  return {first, first + byte_count(view.spec()).value()};
}

TEST_CASE("torch store: every tensor of files that PyTorch wrote") {
  const any_store folder = file_store::open(golden).value();
  for (const char* name : {"torch-1.13.0.pt", "torch-2.15.0.pt"}) {
    CAPTURE(name);
    const torch::file file = torch::open(folder, key(name)).value();
    const any_store store = torch::archive_store::open(folder, key(name)).value();
    const torch::pickle_value root = file.root();
    std::size_t tensors = 0;
    for (std::size_t i = 0; i < root.member_count(); ++i) {
      const std::string& member = *root.key(i).if_string();
      CAPTURE(member);
      if (!torch::is_tensor(root.member(i))) continue;
      const auto info = file.tensor(root.member(i));
      if (!info) continue;
      ++tensors;
      const array opened = array::open(store, key(member)).value();
      CHECK(opened.spec() == info->spec);
      tensor expected = tensor::make(info->spec).value();
      file.read(*info, expected.mutable_view()).value();
      const tensor read = opened.read(selection(box::whole(info->spec.shape))).value();
      CHECK(bytes_of(read.view()) == bytes_of(expected.view()));
    }
    CHECK(tensors >= 7);
  }
}

TEST_CASE("torch store: a pickle takes no more than the budget of the caller") {
  const test::temp_directory made;
  const any_store folder = file_store::open(made.path().string()).value();
  torch::value::list numbers;
  for (int i = 0; i < 10'000; ++i) numbers.push_back(json(i));
  torch::save(folder, key("m.pt"), torch::value::dict{{"steps", numbers}}).value();
  const std::string path = made.path().string() + "/m.pt";
  context tight = reading();
  tight.limit.memory = std::size_t{1} << 20;
  for (const std::string& place : {path, "torch://" + path}) {
    CHECK(zp::open(place, reading()));
    CHECK(zp::open(place, tight).failure().code == errc::resource_limit);
  }
}

TEST_CASE("torch store: as docs/weights.md has it") {
  const test::temp_directory made;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const host_view matrix = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                      tensor_spec{dtype(dtype_kind::float32), {2, 3}});
  host_view turned = matrix;
  std::swap(turned.shape[0], turned.shape[1]);
  std::swap(turned.strides[0], turned.strides[1]);
  using dict = torch::value::dict;
  using list = torch::value::list;
  const any_store folder = file_store::open(made.path().string()).value();
  torch::save(folder, key("pytorch_model.bin"),
              dict{{"model", dict{{"layer.weight", matrix}, {"layer.turned", turned}}},
                   {"layers", list{matrix, json(7), list{json("x"), matrix}}},
                   {"bias", dense_view(matrix.data, {dtype(dtype_kind::float32), {6}})},
                   {"step", json(12)},
                   {"rate", json(0.5)},
                   {"is_best", json(true)},
                   {"name", json("run 1")},
                   {"groups", json(json::array{json(json::object{{"lr", 0.1}})})},
                   {"empty", dict{}}})
      .value();

  const std::string path = made.path().string() + "/pytorch_model.bin";
  const auto ckpt = zp::open(path, zp::formats<zp::torch::format>()).value();
  const auto weight = ckpt.load<std::vector<float>>("bias").value();
  CHECK(weight == values);
  const any_store store = torch::archive_store::open(folder, key("pytorch_model.bin")).value();
  const auto bytes_at = [&](std::string_view name) {
    const array opened = array::open(store, key(name)).value();
    return bytes_of(opened.read(selection(box::whole(opened.spec().shape))).value().view());
  };
  CHECK(ckpt.view<float>("model/layer.weight").value().is_zero_copy());
  CHECK(bytes_at("model/layer.turned") == bytes_of(turned));
  CHECK(bytes_at("layers/0") == bytes_of(matrix));
  CHECK(bytes_at("layers/2/1") == bytes_of(matrix));
  CHECK(ckpt.load<std::int64_t>("layers/1").value() == 7);
  CHECK(ckpt.load<std::string>("layers/2/0").value() == "x");
  CHECK(ckpt.load<std::int64_t>("step").value() == 12);
  CHECK(ckpt.load<double>("rate").value() == 0.5);
  CHECK(ckpt.load<bool>("is_best").value());
  CHECK(ckpt.load<std::string>("name").value() == "run 1");
  for (const auto& [leaf, type] : std::vector<std::pair<std::string, std::string>>{
           {"step", "int"}, {"rate", "float"}, {"is_best", "bool"}})
    CHECK(*array::open(store, key(leaf)).value().metadata().attributes.find("python_type") ==
          json(type));
  CHECK(ckpt.load<std::string>("groups").value() == R"([{"lr":0.1}])");
  CHECK(ckpt.load<std::string>("empty").value() == "{}");

  const store_table table = formats<torch::format>();
  const stored_place found = table.open(path + "/model", {}).value();
  CHECK(found.key == key("model"));
  CHECK(found.format == "torch.save");
  CHECK(table.open(made.path().string(), {}).value().format.empty());
  CHECK_FALSE(table.open(path + ".none", {}));
  folder.put(key("other.zip"), as_bytes("PK\x03\x04 and no more")).value();
  CHECK(table.open(made.path().string() + "/other.zip", {}).failure().code == errc::corrupt);
  CHECK(zp::open("torch://" + path + ".none", reading()).failure().code == errc::not_found);
  CHECK(save("torch://" + path, {{"w", values}}, {}, reading()).failure().code ==
        errc::unsupported);
}

TEST_CASE("torch store: the files of an index, and what it leaves out") {
  const test::temp_directory made;
  const any_store folder = file_store::open(made.path().string()).value();
  const auto put = [&](const char* name, std::int64_t a, std::int64_t b) {
    const auto one = [](const std::int64_t& of) {
      return dense_view(reinterpret_cast<const std::byte*>(&of), {dtype_kind::int64, {1}});
    };
    torch::save(folder, key(name), torch::value::dict{{"a", one(a)}, {"b", one(b)}}).value();
  };
  put("1.bin", 1, 2);
  put("2.bin", 3, 4);
  const auto with = [&](std::string_view map) -> result<checkpoint> {
    REQUIRE(folder.put(key("m.bin.index.json"), as_bytes(map)));
    ZARRPOINT_TRY(store, torch::archive_store::open(folder, key("m.bin.index.json")));
    return open(store);
  };
  const auto from = with(R"({"weight_map":{"a":"2.bin","b":"1.bin"}})").value();
  CHECK(from.names() == std::vector<std::string>{"a", "b"});
  CHECK(from.load<std::vector<std::int64_t>>("a").value() == std::vector<std::int64_t>{3});
  CHECK(from.load<std::vector<std::int64_t>>("b").value() == std::vector<std::int64_t>{2});
  CHECK(*from.attributes().find("weight_map")->find("left_out") == json(std::uint64_t{2}));
  const auto lost = with(R"({"weight_map":{"c":"1.bin"}})");
  CHECK(lost.failure().code == errc::corrupt);
  CHECK(lost.failure().message.find("tensor \"c\" is not in \"1.bin\"") != std::string::npos);
  CHECK(with(R"({"weight_map":{"a":"3.bin"}})").failure().code == errc::not_found);
  CHECK(with("[]").failure().code == errc::corrupt);
}

TEST_CASE("torch store: a value that is the whole of a file") {
  const memory_store folder;
  const std::vector<float> values{1, 2};
  torch::save(folder, key("t.pt"),
              dense_view(reinterpret_cast<const std::byte*>(values.data()),
                         tensor_spec{dtype(dtype_kind::float32), {2}}))
      .value();
  const any_store store = torch::archive_store::open(folder, key("t.pt")).value();
  CHECK(array::open(store, key("value")).value().spec().shape == dims{2});
  torch::save(folder, key("n.pt"), json(5)).value();
  const any_store number = torch::archive_store::open(folder, key("n.pt")).value();
  CHECK(array::open(number, key("value")).value().spec().type == dtype_kind::int64);
  CHECK(torch::archive_store::open(folder, key("none.pt")).failure().code == errc::not_found);
}

TEST_CASE("torch store: names that no hierarchy can have are told, what is too deep is refused") {
  const memory_store folder;
  const std::vector<float> values{1, 2};
  const host_view one = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                   tensor_spec{dtype(dtype_kind::float32), {2}});
  using dict = torch::value::dict;
  const auto opened = [&](const torch::value& what) {
    torch::save(folder, key("t.pt"), what).value();
    return torch::archive_store::open(folder, key("t.pt"));
  };
  const auto reads = [&](const torch::value& what, std::string_view name) {
    const any_store store = opened(what).value();
    return array::open(store, key(name)).has_value();
  };
  CHECK(reads(dict{{"", one}}, "%"));
  CHECK(reads(dict{{"a", one}, {"a/b", one}}, "a%2Fb"));
  CHECK(reads(dict{{"a/../b", one}}, "a/%2E%2E/b"));
  torch::value deep = one;
  for (int i = 0; i < 60; ++i) deep = torch::value::list{deep};
  const auto refused = opened(deep);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message.find("t.pt") != std::string::npos);
}

}  // namespace torch_store_test
