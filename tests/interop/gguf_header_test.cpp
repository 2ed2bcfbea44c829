// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/gguf/gguf_header.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/gguf_bytes.hpp"
#include "support/load_directory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gguf_header_test {

using namespace zarrpoint;
using test::gguf_bytes;

result<gguf::header> read(const std::string& file, const gguf::header_limits& limits = {}) {
  const memory_store store;
  const store_key key = store_key::parse("f").value();
  store.put(key, as_bytes(std::string_view(file))).value();
  return gguf::read_header(*store.open(key).value(), limits);
}

error refusal(const std::string& file, const gguf::header_limits& limits = {}) {
  const auto made = read(file, limits);
  REQUIRE_FALSE(made);
  return made.failure();
}

/// One tensor of 2 x 3 floats, and a metadata value.
gguf_bytes sound() {
  gguf_bytes out;
  out.head(3, 1, 1).text("general.name").number<std::uint32_t>(8).text("x");
  out.tensor("w", {3, 2}, 0, 0).pad(32);
  return out;
}

std::string whole(gguf_bytes of, std::size_t data) { return of.str() + std::string(data, '\x01'); }

TEST_CASE("gguf header: values of every type") {
  gguf_bytes file;
  file.head(2, 0, 15);
  file.text("a").number<std::uint32_t>(0).number<std::uint8_t>(200);
  file.text("b").number<std::uint32_t>(1).number<std::int8_t>(-3);
  file.text("c").number<std::uint32_t>(2).number<std::uint16_t>(65000);
  file.text("d").number<std::uint32_t>(3).number<std::int16_t>(-300);
  file.text("e").number<std::uint32_t>(4).number<std::uint32_t>(4'000'000'000);
  file.text("f").number<std::uint32_t>(5).number<std::int32_t>(-2'000'000'000);
  file.text("g").number<std::uint32_t>(6).number<float>(0.1F);
  file.text("h").number<std::uint32_t>(7).number<std::uint8_t>(1);
  file.text("i").number<std::uint32_t>(8).text("Z\u00fcrich");
  file.text("j").number<std::uint32_t>(10).number<std::uint64_t>(~std::uint64_t{0});
  file.text("k").number<std::uint32_t>(11).number<std::int64_t>(INT64_MIN);
  file.text("l").number<std::uint32_t>(12).number<double>(-INFINITY);
  file.text("m").number<std::uint32_t>(9).number<std::uint32_t>(8).number<std::uint64_t>(2);
  file.text("x").text("");
  file.text("n").number<std::uint32_t>(9).number<std::uint32_t>(9).number<std::uint64_t>(2);
  file.number<std::uint32_t>(5).number<std::uint64_t>(1).number<std::int32_t>(-7);
  file.number<std::uint32_t>(7).number<std::uint64_t>(0);
  file.text("o").number<std::uint32_t>(8).text("\xff");
  const auto read_back = read(file.str()).value();
  CHECK(read_back.version == 2);
  CHECK(read_back.alignment == 32);
  CHECK(read_back.tensors.empty());
  REQUIRE(read_back.metadata.size() == 15);
  const std::vector<json> expected{200,
                                   -3,
                                   65000,
                                   -300,
                                   std::int64_t{4'000'000'000},
                                   -2'000'000'000,
                                   double{0.1F},
                                   true,
                                   "Z\u00fcrich",
                                   ~std::uint64_t{0},
                                   INT64_MIN,
                                   -INFINITY,
                                   json::array{"x", ""},
                                   json::array{json::array{-7}, json::array{}}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(read_back.metadata[i].key);
    CHECK(read_back.metadata[i].value == expected[i]);
  }
  CHECK(read_back.metadata[12].type == gguf::value_type::array);
  CHECK(read_back.metadata[12].element_type == gguf::value_type::string);
  REQUIRE(read_back.find("o") != nullptr);
  CHECK(*read_back.find("o")->find("base64") == json("/w=="));
  CHECK(read_back.find("p") == nullptr);
}

TEST_CASE("gguf header: tensors, their axes turned and their blocks counted") {
  gguf_bytes file;
  file.head(3, 4, 1).text("general.alignment").number<std::uint32_t>(4).number<std::uint32_t>(64);
  file.tensor("b", {512, 3}, 12, 64);  // Q4_K, two blocks of 144 bytes a row
  file.tensor("a", {3, 2}, 30, 0);
  file.tensor("none", {0, 2}, 0, 0);
  file.tensor("one", {}, 24, 960).pad(64);
  const std::size_t begin = file.str().size();
  const auto made = read(whole(file, 961)).value();
  CHECK(made.alignment == 64);
  REQUIRE(made.tensors.size() == 4);
  CHECK(made.tensors[0].name == "b");
  CHECK(made.tensors[0].type.name == "Q4_K");
  CHECK(made.tensors[0].shape == dims{3, 512});
  CHECK(made.tensors[0].spec == tensor_spec{dtype(dtype_kind::uint8), {3, 2, 144}});
  CHECK(made.tensors[0].offset == begin + 64);
  CHECK(made.tensors[0].bytes == 864);
  CHECK(made.tensors[1].spec == tensor_spec{dtype(dtype_kind::bfloat16), {2, 3}});
  CHECK(made.tensors[2].spec.shape == dims{2, 0});
  CHECK(made.tensors[3].spec == tensor_spec{dtype(dtype_kind::int8), {}});
  CHECK(refusal(whole(file, 960)).message.find("\"one\" runs past the end") != std::string::npos);
}

TEST_CASE("gguf header: what is wrong is told by name") {
  const auto text = [](const error& of) { return std::string(of.message); };
  CHECK(refusal("GGU").code == errc::corrupt);
  CHECK(refusal("GGML" + std::string(60, '\0')).code == errc::corrupt);
  CHECK(refusal(gguf_bytes().head(1, 0, 0).str()).code == errc::unsupported);
  CHECK(refusal(gguf_bytes().head(4, 0, 0).str()).code == errc::unsupported);
  CHECK(text(refusal(gguf_bytes().head(3 << 24, 0, 0).str())).find("big-endian") !=
        std::string::npos);
  CHECK(refusal(gguf_bytes().head(3, std::uint64_t{1} << 40, 0).str()).code ==
        errc::resource_limit);
  CHECK(refusal(gguf_bytes().head(3, 0, std::uint64_t{1} << 40).str()).code ==
        errc::resource_limit);
  const auto of_tensor = [&](const char* name, const std::vector<std::uint64_t>& extents,
                             std::uint32_t type, std::uint64_t offset) {
    gguf_bytes file;
    file.head(3, 2, 0).tensor("w", {8}, 0, 0).tensor(name, extents, type, offset).pad(32);
    return refusal(whole(file, 4096));
  };
  CHECK(text(of_tensor("w", {8}, 0, 32)).find("\"w\" is there twice") != std::string::npos);
  CHECK(text(of_tensor("x", {8}, 0, 16)).find("multiple of 32") != std::string::npos);
  CHECK(text(of_tensor("x", {8}, 0, 0)).find("overlaps") != std::string::npos);
  CHECK(text(of_tensor("x", {8}, 0, 4096)).find("past the end") != std::string::npos);
  CHECK(text(of_tensor("x", {8}, 0, ~std::uint64_t{31})).find("past the end") != std::string::npos);
  CHECK(text(of_tensor("x", {33}, 2, 32)).find("whole blocks of 32 elements of Q4_0") !=
        std::string::npos);
  CHECK(text(of_tensor("x", {}, 2, 32)).find("whole blocks") != std::string::npos);
  CHECK(text(of_tensor("x", {8}, 31, 0)).find("overlaps") != std::string::npos);
  CHECK(text(of_tensor("x", {8}, 31, 8192)).find("past the end") != std::string::npos);
  CHECK(of_tensor("x", std::vector<std::uint64_t>(33, 1), 0, 32).code == errc::unsupported);
  CHECK_FALSE(text(of_tensor("x", {std::uint64_t{1} << 63}, 0, 32)).empty());
  CHECK_FALSE(text(of_tensor("x", {1 << 30, 1 << 30, 1 << 30}, 0, 32)).empty());

  const auto of_value = [&](const gguf_bytes& value) {
    return refusal(gguf_bytes().head(3, 0, 1).text("key").raw(value.str()).str());
  };
  CHECK(text(of_value(gguf_bytes().number<std::uint32_t>(13))).find("type 13") !=
        std::string::npos);
  CHECK(text(of_value(gguf_bytes().number<std::uint32_t>(7).number<std::uint8_t>(2)))
            .find("\"key\"") != std::string::npos);
  CHECK(of_value(gguf_bytes().number<std::uint32_t>(8).number<std::uint64_t>(1 << 20)).code ==
        errc::corrupt);
  CHECK(
      of_value(gguf_bytes().number<std::uint32_t>(9).number<std::uint32_t>(0).number<std::uint64_t>(
                   ~std::uint64_t{0}))
          .code == errc::corrupt);
  gguf_bytes nested;
  nested.number<std::uint32_t>(9);
  for (int i = 0; i < 100; ++i) nested.number<std::uint32_t>(9).number<std::uint64_t>(1);
  CHECK(of_value(nested).code == errc::resource_limit);
  gguf_bytes twice;
  twice.head(3, 0, 2);
  for (int i = 0; i < 2; ++i) twice.text("k").number<std::uint32_t>(7).number<std::uint8_t>(0);
  CHECK(text(refusal(twice.str())).find("\"k\" is there twice") != std::string::npos);
  for (const std::uint32_t wrong : {0U, 3U, 1U << 31}) {
    gguf_bytes aligned;
    aligned.head(3, 0, 1).text("general.alignment").number<std::uint32_t>(4).number(wrong);
    CHECK(refusal(aligned.str()).code == errc::corrupt);
  }
}

TEST_CASE("gguf header: a file that asks for too much is refused before it is given") {
  gguf_bytes file;
  file.head(3, 0, 1).text("k").number<std::uint32_t>(9).number<std::uint32_t>(0);
  file.number<std::uint64_t>(1000).raw(std::string(1000, '\0'));
  CHECK(read(file.str()).value().metadata[0].value.if_array()->size() == 1000);
  CHECK(refusal(file.str(), {.max_values = 999}).code == errc::resource_limit);
  CHECK(refusal(file.str(), {.max_bytes = 500}).code == errc::resource_limit);
}

TEST_CASE("gguf header: cut anywhere, or with any byte changed, it is refused or read") {
  const std::string file = whole(sound(), 24);
  CHECK(read(file).value().tensors.size() == 1);
  for (std::size_t size = 0; size < file.size(); ++size) CHECK_FALSE(read(file.substr(0, size)));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < file.size() * 20; ++i) {
    std::string changed = file;
    changed[i % file.size()] = static_cast<char>(random());
    const auto made = read(changed);
    if (!made) continue;
    for (const gguf::tensor_info& tensor : made->tensors)
      CHECK(tensor.offset + tensor.bytes <= changed.size());
  }
}

TEST_CASE("gguf header: the element types that the package gguf lists") {
  const json list =
      parse_json(zarrpoint_test::read_file(std::string(ZARRPOINT_TEST_GOLDEN) + "/gguf/types.json"))
          .value();
  std::size_t known = 0;
  for (const json& one : *list.find("types")->if_array()) {
    const json::array& told = *one.if_array();
    const auto number = static_cast<std::uint32_t>(*told[0].to_uint64());
    const auto type = gguf::find_element_type(number);
    CAPTURE(number);
    if (number == 9) {  // a block of Q8_1 has 40 bytes there, and 36 in ggml
      CHECK_FALSE(type);
      continue;
    }
    REQUIRE(type);
    ++known;
    CHECK(type->name == *told[1].if_string());
    CHECK(type->block_elements == *told[2].to_uint64());
    CHECK(type->block_bytes == *told[3].to_uint64());
  }
  CHECK(known == 33);
  CHECK_FALSE(gguf::find_element_type(42));
}

TEST_CASE("gguf header: a tensor of an unknown type lasts up to the next one") {
  gguf_bytes file;
  file.head(3, 3, 0).tensor("a", {8}, 0, 0).tensor("x", {5, 3}, 777, 32).tensor("b", {8}, 0, 96);
  const gguf::header read_back = read(whole(file.pad(32), 128)).value();
  const gguf::tensor_info& unknown = read_back.tensors[1];
  CHECK(unknown.type_number == 777);
  CHECK(unknown.type.name.empty());
  CHECK_FALSE(unknown.spec.type.valid());
  CHECK(unknown.shape == dims{3, 5});
  CHECK(unknown.bytes == 64);
  gguf_bytes last;
  last.head(3, 1, 0).tensor("x", {5}, 777, 32);
  CHECK(read(whole(last.pad(32), 50)).value().tensors[0].bytes == 18);
}

}  // namespace gguf_header_test
