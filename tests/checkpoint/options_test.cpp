// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace options_test {

using namespace zarrpoint;

TEST_CASE("the last rule that matches and sets a thing wins") {
  const std::vector<leaf_rule> rules{{.cast = dtype(dtype_kind::float16)},
                                     {.glob = "a/*", .cast = dtype(dtype_kind::bfloat16)},
                                     {.glob = "a/x", .chunk_byte_size = 4096}};
  CHECK(*detail::last_set(rules, "b", &leaf_rule::cast) == dtype_kind::float16);
  CHECK(*detail::last_set(rules, "a/x", &leaf_rule::cast) == dtype_kind::bfloat16);
  CHECK(*detail::last_set(rules, "a/x", &leaf_rule::chunk_byte_size) == 4096);
  CHECK(detail::last_set(rules, "a/y", &leaf_rule::chunk_byte_size) == nullptr);
  CHECK(detail::last_set(rules, "a/y", &leaf_rule::codecs) == nullptr);
}

TEST_CASE("casts between numbers have a meaning, those to strings have none") {
  CHECK(detail::check_cast(dtype_kind::float32, dtype_kind::bool_));
  CHECK(detail::check_cast(dtype_kind::string, dtype_kind::string));
  CHECK(detail::check_cast(dtype_kind::string, dtype_kind::int8).failure().code ==
        errc::unsupported);
  CHECK_FALSE(detail::check_cast(dtype_kind::int8, dtype()));
}

TEST_CASE("chains have a name") {
  CHECK(raw_codecs().size() == 1);
  CHECK(*zstd_codecs(7)[1].configuration.find("level") == json(7));
  CHECK(zstd_codecs().back().name == "crc32c");
  CHECK(*blosc_codecs(7)[1].configuration.find("clevel") == json(7));
  CHECK(blosc_codecs().back().name == "crc32c");
}

TEST_CASE("a level for a codec that has none is an error that names both, and nothing is saved") {
  const std::vector<float> w(10, 0.5F);
  for (const char* name : {"crc32c", "bytes", "transpose"}) {
    CAPTURE(name);
    std::vector<codec_spec> chain{{"bytes"}, {"crc32c"}};
    if (name == std::string("transpose")) chain.insert(chain.begin(), {name, 3});
    for (codec_spec& one : chain)
      if (one.name == name) one = codec_spec(name, 3);
    const memory_store store;
    const auto refused = save(store, {{"w", w}}, {.rules = {{.codecs = chain}}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    const std::string said = "codec \"" + std::string(name) + "\": ";
    CHECK(refused.failure().message.find(said + "unknown configuration member \"level\"") !=
          std::string::npos);
    CHECK_FALSE(checkpoint::open(store));
  }
}

TEST_CASE("the codecs of a rule are a plain list in braces, a chain with a name, or unset") {
  const std::vector<float> w(1000, 0.5F);
  const std::vector<std::uint8_t> bytes(10, 7);
  const std::vector<codec_spec> chain{{"bytes", json::object{{"endian", "big"}}}};
  const memory_store store;
  save(store, {{"a", w}, {"b", w}, {"c", w}, {"d", w}, {"e", bytes}, {"f", "text"}},
       {.rules = {{.codecs = {{"bytes"}, {"zstd", 3}, {"crc32c"}}},
                  {.glob = "b", .codecs = {{"bytes"}}},
                  {.glob = "c", .codecs = chain},
                  {.glob = "d", .codecs = zstd_codecs(9)},
                  {.glob = "d", .codecs = {}}}})
      .value();
  const checkpoint saved = checkpoint::open(store).value();
  const auto codecs = [&](const char* name) { return saved.metadata(name).value().codecs; };
  CHECK(codecs("a") == zstd_codecs(3));  // the byte order is that of ours where none is said
  CHECK(codecs("b") == raw_codecs());
  CHECK(codecs("c") == chain);
  CHECK(codecs("d") == zstd_codecs(9));
  CHECK(codecs("e")[0] == codec_spec{"bytes"});  // elements of one byte have none
  CHECK(codecs("f")[0].name == "vlen-utf8");
  for (const char* name : {"a", "b", "c", "d"})
    CHECK(saved.load<std::vector<float>>(name).value() == w);
}

TEST_CASE("what is tried first compiles, and means what it looks like") {
  const memory_store store;
  const std::vector<float> w(6);
  const auto chunk_of_w = [&] {
    return checkpoint::open(store).value().as_array("w").value().layout().grid().inner_shape;
  };
  save(store, {"w", w}, {.rules = {{.chunk_shape = {2}, .codecs = {"bytes", {"zstd", 3}}}}})
      .value();
  CHECK(chunk_of_w() == dims{2});
  CHECK(checkpoint::open(store).value().metadata("w").value().codecs.size() == 2);
  const leaf_rule rule{.chunk_shape = {3}, .shard_shape = {6}, .codecs = {"bytes"}};
  save_async(store, {"w", w}, {.rules = {rule}}).get().value();
  CHECK(chunk_of_w() == dims{3});
  const auto longer =
      checkpoint::open(store).value().load<std::vector<float>>("w", {.rules = {{.shape = {8}}}});
  CHECK(longer.value().size() == 8);

  CHECK_FALSE(leaf_rule{}.chunk_shape);
  CHECK_FALSE(leaf_rule{.chunk_shape = {}}.chunk_shape);
  CHECK_FALSE(leaf_rule{.chunk_shape = std::optional<dims>()}.chunk_shape);
  CHECK(*leaf_rule{.chunk_shape = dims{4, 5}}.chunk_shape == dims{4, 5});
  CHECK(*leaf_rule{.chunk_shape = {4, 5}}.chunk_shape == dims{4, 5});
  CHECK(save_async(store, {}).get().value().leaves.empty());
  CHECK(save(store, {"w", "text"}).value().leaves.size() == 1);

  // Of two pairs of braces the second text is a configuration, which is an object.
  const auto refused = save(store, {"w", w}, {.rules = {{.codecs = {{"bytes", "zstd"}}}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::invalid_argument);
  INFO(refused.failure().message);
  CHECK(refused.failure().message.find("bytes") != std::string::npos);
}

TEST_CASE("so are those of an array") {
  const memory_store store;
  const array_metadata metadata{
      .shape = {4},
      .type = dtype_kind::int32,
      .chunk_shape = {4},
      .codecs = {{"bytes", json::object{{"endian", "little"}}}, {"zstd", 3}, {"crc32c"}}};
  const array made = array::create(store, store_key::root(), metadata).value();
  CHECK(made.metadata().codecs == zstd_codecs(3));
  const std::vector<std::int32_t> numbers{1, 2, 3, 4};
  made.write(box::whole({4}), numbers).value();
  CHECK(made.read(box::whole({4})).value().data<std::int32_t>()[3] == 4);
}

TEST_CASE("an empty chain is refused, not taken for unset") {
  const auto refused =
      save(memory_store(), {{"w", 1.0F}}, {.rules = {{.codecs = std::vector<codec_spec>()}}});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::invalid_argument);
}

}  // namespace options_test
