// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/codec_specs.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace codec_specs_test {

using namespace zarrpoint;
using json_input::json_of;

TEST_CASE("long form, bare name, must_understand") {
  CHECK(
      detail::parse_codec_spec(json_of(R"({"name":"zstd","configuration":{"level":3}})")).value() ==
      codec_spec{"zstd", json_of(R"({"level":3})")});
  CHECK(detail::parse_codec_spec(json_of(R"("crc32c")")).value() == codec_spec{"crc32c", {}});
  CHECK(detail::parse_codec_spec(json_of(R"({"name":"x","must_understand":false})")).value() ==
        codec_spec{"x", {}, false});
  CHECK(detail::parse_codec_spec(json_of(R"({"name":"x","must_understand":true})")).value() ==
        codec_spec{"x", {}});
}

TEST_CASE("what is refused") {
  const std::pair<const char*, errc> table[] = {
      {"{}", errc::corrupt},
      {"3", errc::corrupt},
      {"null", errc::corrupt},
      {R"("")", errc::corrupt},
      {R"({"name":3})", errc::corrupt},
      {R"({"name":"x","configuration":[]})", errc::corrupt},
      {R"({"name":"x","configuration":null})", errc::corrupt},
      {R"({"name":"x","must_understand":0})", errc::corrupt},
      {R"({"name":"x","level":3})", errc::unsupported},
  };
  for (const auto& [text, code] : table) {
    CAPTURE(text);
    const auto spec = detail::parse_codec_spec(json_of(text));
    REQUIRE_FALSE(spec);
    CHECK(spec.failure().code == code);
  }
  CHECK_FALSE(detail::parse_codec_specs(json_of("[]")));
  CHECK_FALSE(detail::parse_codec_specs(json_of("{}")));
  CHECK_FALSE(detail::parse_codec_specs(json_of(R"(["bytes",3])")));
}

TEST_CASE("the long form is written, and only what all readers understand") {
  const auto specs = detail::parse_codec_specs(
      json_of(R"(["crc32c", {"configuration":{"endian":"big"},"name":"bytes"},
                  {"name":"vlen-utf8","configuration":{}}])"));
  CHECK(json_input::text_of(detail::codec_specs_to_json(*specs)) ==
        R"([{"name":"crc32c"},{"name":"bytes","configuration":{"endian":"big"}},)"
        R"({"name":"vlen-utf8","configuration":{}}])");
  const codec_spec optional{"x", {}, false};
  CHECK(detail::codec_specs_to_json({&optional, 1}).failure().code == errc::invalid_argument);
  CHECK(detail::codec_specs_to_json({}).failure().code == errc::invalid_argument);
}

TEST_CASE("the codecs of zarr-python's own tests") {
  for (const char* name :
       {"bytes", "gzip", "zstd", "blosc", "crc32c", "transpose", "sharding_indexed"}) {
    const json cases =
        json_input::golden("zarr-python/v3/codec/" + std::string(name) + "/cases.json");
    for (const auto& [label, value] : *cases.if_object()) {
      CAPTURE(label);
      const auto spec = detail::parse_codec_spec(value);
      REQUIRE(spec);
      CHECK(spec->name == name);
    }
  }
}

std::string level_fault(const char* text) {
  const auto checked = detail::check_levels(detail::parse_codec_specs(json_of(text)).value());
  return checked ? "" : checked.failure().message;
}

TEST_CASE("levels that a codec does not have are refused for what is new") {
  for (const char* const name :
       {"zstd", "numcodecs.zstd", "gzip", "numcodecs.gzip", "zlib", "numcodecs.zlib", "lz4"}) {
    CAPTURE(name);
    const std::string start =
        std::string(R"([{"name":")") + name + R"(","configuration":{"level":)";
    CHECK(level_fault((start + "9}}]").c_str()).empty());
    const bool any_level = std::string_view(name) == "lz4";
    CHECK(level_fault((start + "23}}]").c_str()).empty() == any_level);
    CHECK(level_fault((start + "-131073}}]").c_str()).empty() == any_level);
  }
  CHECK(level_fault(R"(["zstd","gzip"])").empty());
  CHECK(level_fault(R"([{"name":"zstd","configuration":{"level":22}}])").empty());
  CHECK(level_fault(R"([{"name":"zstd","configuration":{"level":-131072}}])").empty());
  CHECK(level_fault(R"([{"name":"numcodecs.zlib","configuration":{"level":-1}}])").empty());
  CHECK(level_fault(R"([{"name":"gzip","configuration":{"level":-1}}])") ==
        R"(codec "gzip": level -1 is not from 0 to 9)");
  CHECK(level_fault(R"(["bytes",{"name":"zstd","configuration":{"level":99}}])") ==
        R"(codec "zstd": level 99 is not from -131072 to 22)");
  // In shards of shards, too.
  CHECK(level_fault(R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[
      {"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":["bytes",
      {"name":"gzip","configuration":{"level":10}}]}}]}}])") ==
        R"(codec "gzip": level 10 is not from 0 to 9)");
  CHECK_FALSE(level_fault(R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[2],
      "codecs":["bytes"],"index_codecs":["bytes",{"name":"zstd","configuration":{"level":23}}]}}])")
                  .empty());
  CHECK_FALSE(
      level_fault(R"([{"name":"sharding_indexed","configuration":{"codecs":[]}}])").empty());
}

TEST_CASE("a level that readers take for another one becomes that one") {
  auto specs = detail::parse_codec_specs(json_of(R"(["bytes",
      {"name":"gzip","configuration":{"level":-1}}, {"name":"zstd","configuration":{"level":99}},
      {"name":"numcodecs.zlib","configuration":{"level":-1}},
      {"name":"zstd","configuration":{"level":5,"checksum":true}}])"))
                   .value();
  detail::mend_levels(specs);
  CHECK(json_input::text_of(detail::codec_specs_to_json(specs)) ==
        R"([{"name":"bytes"},{"name":"gzip","configuration":{"level":6}},)"
        R"({"name":"zstd","configuration":{"level":22}},)"
        R"({"name":"numcodecs.zlib","configuration":{"level":-1}},)"
        R"({"name":"zstd","configuration":{"level":5,"checksum":true}}])");
}

}  // namespace codec_specs_test
