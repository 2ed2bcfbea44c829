// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array.hpp>
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/gguf.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/gguf_bytes.hpp"
#include "support/load_directory.hpp"
#include "support/store_texts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gguf_store_test {

namespace zp = zarrpoint;
using namespace zarrpoint;
using test::gguf_bytes;
using test::key;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/gguf/";

std::vector<std::byte> elements(const array& of) {
  const tensor read = of.read(selection(box::whole(of.spec().shape))).value();
  const bytes_view bytes(read.view().data, byte_count(of.spec()).value());
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("gguf store: a file of gguf-py holds what its reader says") {
  const auto values = zarrpoint_test::read_file(golden + "values.bin");
  const json index = parse_json(zarrpoint_test::read_file(golden + "index.json")).value();
  const any_store store =
      gguf::tensor_store::open(file_store::open(golden).value(), key("small.gguf")).value();
  std::size_t at = 0, quantised = 0;
  for (const json& of : *index.find("tensors")->if_array()) {
    const std::string& name = *of.find("name")->if_string();
    CAPTURE(name);
    const array opened = array::open(store, key(name)).value();
    const auto size = static_cast<std::size_t>(*of.find("bytes")->to_uint64());
    CHECK(elements(opened) == std::vector(values.begin() + static_cast<std::ptrdiff_t>(at),
                                          values.begin() + static_cast<std::ptrdiff_t>(at + size)));
    at += size;
    const json* const told = opened.metadata().attributes.find("gguf");
    if (told != nullptr) {
      ++quantised;
      CHECK(*told->find("type") == *of.find("type"));
      CHECK(*told->find("shape") == *of.find("shape"));
    } else {
      json::array shape;
      for (const index_t extent : opened.spec().shape) shape.emplace_back(std::int64_t{extent});
      CHECK(json(shape) == *of.find("shape"));
    }
  }
  CHECK(at == values.size());
  CHECK(quantised == 15);
  CHECK(array::open(store, key("plain.bf16.weight")).value().spec().type == dtype_kind::bfloat16);
}

TEST_CASE("gguf store: as docs/weights.md has it") {
  const std::string path = golden + "small.gguf";
  const auto ckpt = zp::open(path, zp::formats<zp::gguf::format>()).value();
  const auto weight = ckpt.load<std::vector<float>>("plain.one").value();
  const zp::json& about = ckpt.attributes();  // what the file says of the model
  CHECK(weight == std::vector<float>{7});
  const json& metadata = *about.find("gguf")->find("metadata");
  CHECK(*metadata.find("general.architecture") == json("llama"));
  CHECK(*metadata.find("test.u64") == json(~std::uint64_t{0}));
  CHECK(*metadata.find("test.nested") == json(json::array{json::array{1, 2}, json::array{3}}));
  CHECK(metadata.find("tokenizer.ggml.tokens") == nullptr);
  const auto tokens = ckpt.load<std::vector<std::string>>("metadata/tokenizer.ggml.tokens").value();
  REQUIRE(tokens.size() == 100);
  CHECK(tokens[99] == "token 99 \u00fc");
  CHECK(ckpt.load<std::vector<float>>("metadata/tokenizer.ggml.scores").value()[3] == 0.375F);
  CHECK(ckpt.load<std::vector<std::int32_t>>("metadata/tokenizer.ggml.token_type").value()[7] == 7);
  // A tensor lies in the file, aligned, and is not copied.
  CHECK(ckpt.view<float>("plain.one").value().is_zero_copy());
}

TEST_CASE("gguf store: names that no hierarchy can have are told") {
  const auto opened = [](const std::vector<std::string>& names) {
    gguf_bytes file;
    file.head(3, names.size(), 0);
    for (std::size_t i = 0; i < names.size(); ++i) file.tensor(names[i], {2}, 0, 32 * i);
    file.pad(32);
    const memory_store store;
    store.put(key("f"), as_bytes(file.str() + std::string(32 * names.size(), '\0'))).value();
    return gguf::tensor_store::open(store, key("f"));
  };
  CHECK(opened({"a", "b/c", "b/d"}));
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{""}, {"a/../b"}, {"a", "a/b"}, {std::string(1020, 'x')}}) {
    const auto ckpt = zp::open(any_store(opened(names).value())).value();
    CHECK(ckpt.names().size() == names.size());
    std::size_t told = 0;
    for (const std::string& name : ckpt.names())
      if (const json own = ckpt.attributes(name).value(); own.find("original_name") != nullptr) {
        ++told;
        CHECK(*own.find("original_name") == json(names.back()));
      }
    CHECK(told == 1);
  }
}

TEST_CASE("gguf store: a tensor of an unknown type is listed, and keeps no other one away") {
  gguf_bytes file;
  file.head(3, 2, 0).tensor("x", {3, 2}, 777, 0).tensor("w", {2}, 0, 32).pad(32);
  const memory_store base;
  base.put(key("f"), as_bytes(file.str() + std::string(40, '\1'))).value();
  const any_store store = gguf::tensor_store::open(base, key("f")).value();
  const auto ckpt = zp::open(store).value();
  CHECK(ckpt.names() == std::vector<std::string>{"w", "x"});
  CHECK(ckpt.load<std::vector<float>>("w").value().size() == 2);
  CHECK(ckpt.load<std::vector<float>>("x").failure().code == errc::unsupported);
  CHECK(test::text_at(store, "x/c/0") == std::string(32, '\1'));
  const json document = parse_json(as_bytes(test::text_at(store, "x/zarr.json"))).value();
  CHECK(*document.find("data_type") == json("type 777 of ggml"));
  CHECK(*document.find("attributes")->find("unread") ==
        json("its element type 777 of ggml is not known to this version"));
}

/// A part of a model: its own tensors, and what it says of itself.
std::string part(std::uint16_t no, std::uint16_t count, const std::vector<std::string>& names,
                 std::int32_t total) {
  gguf_bytes file;
  file.head(3, names.size(), no == 0 ? 4 : 3);
  if (no == 0) file.text("general.name").number<std::uint32_t>(8).text("whole");
  file.text("split.no").number<std::uint32_t>(2).number(no);
  file.text("split.count").number<std::uint32_t>(2).number(count);
  file.text("split.tensors.count").number<std::uint32_t>(5).number(total);
  for (std::size_t i = 0; i < names.size(); ++i) file.tensor(names[i], {2}, 0, 32 * i);
  return file.pad(32).str() + std::string(32 * names.size(), static_cast<char>('a' + no));
}

TEST_CASE("gguf store: a model in several files is one, whichever is opened") {
  const auto file_name = [](int no) {
    return "m-0000" + std::to_string(no + 1) + "-of-00003.gguf";
  };
  const std::vector<std::vector<std::string>> names{{"a"}, {"b", "c"}, {"d"}};
  const auto put = [&](const memory_store& to, std::uint16_t no, const std::string& content) {
    to.put(key("in/" + file_name(no)), as_bytes(content)).value();
  };
  const auto sound = [&]() {
    memory_store out;
    for (std::uint16_t no = 0; no < 3; ++no) put(out, no, part(no, 3, names[no], 4));
    return out;
  };
  for (int no = 0; no < 3; ++no) {
    const any_store store = gguf::tensor_store::open(sound(), key("in/" + file_name(no))).value();
    const auto ckpt = zp::open(store).value();
    CHECK(ckpt.names() == std::vector<std::string>{"a", "b", "c", "d"});
    CHECK(*ckpt.attributes().find("gguf")->find("metadata")->find("general.name") == json("whole"));
    CHECK(test::text_at(store, "a/c/0") == "aaaaaaaa");
    CHECK(test::text_at(store, "c/c/0") == "bbbbbbbb");
    CHECK(test::text_at(store, "d/c/0") == "cccccccc");
  }
  const auto refusal = [&](const memory_store& base, const std::string& name) {
    const auto made = gguf::tensor_store::open(base, key(name));
    REQUIRE_FALSE(made);
    return made.failure();
  };
  memory_store without = sound();
  REQUIRE(without.erase(key("in/" + file_name(1))));
  const error missing = refusal(without, "in/" + file_name(2));
  CHECK(missing.code == errc::not_found);
  CHECK(missing.message.find("part 2 of 3, m-00002-of-00003.gguf") != std::string::npos);
  memory_store renamed = sound();
  REQUIRE(renamed.put(key("in/x.gguf"), as_bytes(part(1, 3, names[1], 4))));
  CHECK(refusal(renamed, "in/x.gguf").message.find("it is part 2 of 3, and its name") !=
        std::string::npos);
  const memory_store twice = sound();
  put(twice, 2, part(2, 3, {"a"}, 4));
  CHECK(refusal(twice, "in/" + file_name(0)).message.find("\"a\" is in two of its parts") !=
        std::string::npos);
  const memory_store fewer = sound();
  put(fewer, 2, part(2, 3, {}, 4));
  CHECK(refusal(fewer, "in/" + file_name(0)).code == errc::corrupt);
  const memory_store other = sound();
  put(other, 1, part(2, 3, names[1], 4));
  CHECK(refusal(other, "in/" + file_name(0)).message.find("says that it is part 3 of 3") !=
        std::string::npos);
}

TEST_CASE("gguf store: what is listed is there, and nothing else") {
  gguf_bytes file;
  file.head(3, 2, 0).tensor("a/w", {2}, 0, 0).tensor("none", {0}, 0, 0).pad(32);
  const memory_store base;
  base.put(key("f"), as_bytes(file.str() + std::string(8, '\1'))).value();
  const any_store store = gguf::tensor_store::open(base, key("f")).value();
  std::vector<std::string> names;
  for (const auto& [name, text] : test::contents_of(store)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"a/w/c/0", "a/w/zarr.json", "a/zarr.json",
                                          "none/zarr.json", "zarr.json"});
  CHECK(test::text_at(store, "a/w/c/0") == std::string(8, '\1'));
  CHECK(store.open(key("a/w/c/1")).value() == nullptr);
  CHECK(store.open(key("none/c/0")).value() == nullptr);
  CHECK(elements(array::open(store, key("none")).value()).empty());
}

}  // namespace gguf_store_test
