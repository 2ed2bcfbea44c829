// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/verify.hpp>

#include "support/store_texts.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

namespace safetensors_store_test {

namespace zp = zarrpoint;
using namespace zarrpoint;
using test::key;

/// Puts a file with that header and those data into a store.
void put(const any_store& to, const std::string& name, const std::string& header,
         const std::string& data) {
  std::string file(8, '\0');
  store_le<std::uint64_t>(reinterpret_cast<std::byte*>(file.data()), header.size());
  REQUIRE(to.put(key(name), as_bytes(file + header + data)));
}

result<checkpoint> opened(const any_store& in, const std::string& name) {
  ZARRPOINT_TRY(store, safetensors::tensor_store::open(in, key(name)));
  return open(store);
}

template <class T>
bool refuses(const result<T>& what, errc code, std::string_view text) {
  REQUIRE(!what);
  CAPTURE(what.failure().message);
  return what.failure().code == code && what.failure().message.find(text) != std::string::npos;
}

TEST_CASE("safetensors store: tensors are viewed in the file, metadata are attributes") {
  const test::temp_directory made;
  const std::vector<float> w{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> b{7, 8};
  const tensor_spec spec{dtype_kind::float32, {2, 3}};
  const std::array<safetensors::named_view, 3> tensors{
      {{"layer.w", dense_view(reinterpret_cast<const std::byte*>(w.data()), spec)},
       {"opt/b",
        dense_view(reinterpret_cast<const std::byte*>(b.data()), {dtype_kind::uint8, {2}})},
       {"none",
        dense_view(reinterpret_cast<const std::byte*>(b.data()), {dtype_kind::int64, {0, 3}})}}};
  REQUIRE(safetensors::save(made.path().string() + "/m.safetensors", tensors, {{"format", "pt"}}));
  const any_store folder = file_store::open(made.path().string()).value();
  const store_key index = key("m.safetensors");
  const auto store = zp::safetensors::tensor_store::open(folder, index).value();
  const auto ckpt = zp::open(store).value();
  CHECK(ckpt.names() == std::vector<std::string>{"layer.w", "none", "opt/b"});
  CHECK(ckpt.metadata("layer.w").value().spec == spec);
  const auto view = ckpt.view<float>("layer.w").value();
  CHECK(view.is_zero_copy());
  CHECK(ckpt.load<std::vector<std::uint8_t>>("opt/b").value() == b);
  CHECK(ckpt.load<tensor>("none").value().shape() == dims{0, 3});
  CHECK(*ckpt.attributes().find("format") == json("pt"));
  CHECK(verify(ckpt).value().failures.empty());
}

TEST_CASE("safetensors store: packed elements, unknown dtypes, names that cannot be keys") {
  const memory_store folder;
  put(folder, "m.safetensors",
      R"({"f4":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]},)"
      R"("new":{"dtype":"F9","shape":[3],"data_offsets":[2,7]},)"
      R"("a//b":{"dtype":"U8","shape":[1],"data_offsets":[7,8]},)"
      R"("flag":{"dtype":"BOOL","shape":[1],"data_offsets":[8,9]}})",
      "\x21\x43"
      "abcde*\x02");
  const auto store = safetensors::tensor_store::open(folder, key("m.safetensors")).value();
  const auto from = open(store).value();
  const tensor packed = from.load<tensor>("f4").value();
  CHECK(packed.spec() == tensor_spec{dtype_kind::float4_e2m1fn, {2, 2}});
  for (int i = 0; i < 4; ++i) CHECK(packed.view().data[i] == std::byte(i + 1));
  CHECK(from.load<tensor>("new").failure().code == errc::unsupported);
  const auto stored = store.open(key("new/c/0")).value();
  CHECK(stored->size() == 5);
  CHECK(from.names() == std::vector<std::string>{"a/%/b", "f4", "flag", "new"});
  CHECK(from.load<tensor>("flag").failure().code == errc::corrupt);  // neither 0 nor 1
}

TEST_CASE("safetensors store: the files of an index, and what it leaves out") {
  const memory_store folder;
  const std::string x = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string y = R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]})";
  put(folder, "1.safetensors", R"({"__metadata__":{"a":"1"},"x":)" + x + R"(,"y":)" + y + "}",
      "\x01\x02");
  put(folder, "2.safetensors", R"({"__metadata__":{"b":"2"},"x":)" + x + R"(,"z":)" + y + "}",
      "\x03\x04");
  const auto with = [&](const std::string& map, const std::string& more = {}) {
    const std::string text = R"({"weight_map":)" + map + more + "}";
    REQUIRE(folder.put(key("any.json"), as_bytes(text)));
    return opened(folder, "any.json");
  };
  const auto from =
      with(R"({"x":"2.safetensors","y":"1.safetensors"})", R"(,"metadata":{"total_size":3})")
          .value();
  CHECK(from.names() == std::vector<std::string>{"x", "y"});
  CHECK(from.load<std::vector<std::uint8_t>>("x").value() == std::vector<std::uint8_t>{3});
  CHECK(from.load<std::vector<std::uint8_t>>("y").value() == std::vector<std::uint8_t>{2});
  CHECK(*from.attributes().find("a") == json("1"));
  CHECK(*from.attributes().find("b") == json("2"));
  const json& told = *from.attributes().find("weight_map");
  CHECK(*told.find("left_out") == json(std::uint64_t{2}));
  const json::array& left = *told.find("tensors")->if_array();
  REQUIRE(left.size() == 2);
  CHECK(*left[0].find("name") == json("x"));
  CHECK(*left[0].find("file") == json("1.safetensors"));
  CHECK(left[0].find("reason")->if_string()->find("from \"2.safetensors\"") != std::string::npos);
  CHECK(left[1].find("reason")->if_string()->find("not in the weight_map") != std::string::npos);
  CHECK(told.find("total_size")->if_string()->find("have 2 bytes") != std::string::npos);

  const auto whole =
      with(R"({"x":"2.safetensors","z":"2.safetensors"})", R"(,"metadata":{"total_size":2})");
  CHECK(whole.value().attributes().find("weight_map") == nullptr);
  CHECK(refuses(with(R"({"zz":"1.safetensors"})"), errc::corrupt,
                "tensor \"zz\" is not in \"1.safetensors\""));
  CHECK(refuses(with(R"({"x":"3.safetensors"})"), errc::not_found, "3.safetensors"));
  CHECK(refuses(with(R"({"x":"../1.safetensors"})"), errc::corrupt, "weight_map"));
  CHECK(refuses(with(R"({"x":1})"), errc::corrupt, "weight_map"));
  CHECK(refuses(with("[]"), errc::corrupt, "weight_map"));
  CHECK(with("{}").value().names().empty());
}

TEST_CASE("safetensors store: parts of tensors are left to DCP, damage is an error") {
  const memory_store folder;
  const std::string x = R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  put(folder, "1.safetensors", R"({"__metadata__":{"DCP_SHARDING_INFO":"{}"},)" + x, "*");
  REQUIRE(folder.put(key("i.json"),
                     as_bytes(std::string_view(R"({"weight_map":{"x":"1.safetensors"}})"))));
  CHECK(refuses(opened(folder, "i.json"), errc::unsupported, "DCP_SHARDING_INFO"));
  CHECK(opened(folder, "1.safetensors"));
  CHECK(refuses(opened(folder, "2.safetensors"), errc::not_found, "2.safetensors"));
  REQUIRE(folder.put(key("short"), as_bytes(std::string_view("1234567"))));
  CHECK(refuses(opened(folder, "short"), errc::corrupt, "too few"));
  CHECK(refuses(safetensors::tensor_store::open(folder, key("1.safetensors"), 8),
                errc::resource_limit, "limits::memory"));
}

}  // namespace safetensors_store_test
