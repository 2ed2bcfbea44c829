// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/v2_codecs.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace zarrpoint;
using json_input::node_of;

TEST_CASE("compressors become codecs and codecs compressors") {
  struct {
    const char* compressor;
    const char* name;
    const char* configuration;
    const char* written;
  } const table[] = {
      {R"({"id":"zstd","level":3})", "zstd", R"({"level":3,"checksum":false})",
       R"({"id":"zstd","level":3})"},
      {R"({"id":"zstd","level":-5,"checksum":false})", "zstd", R"({"level":-5,"checksum":false})",
       R"({"id":"zstd","level":-5})"},
      {R"({"id":"zstd"})", "zstd", R"({"level":0,"checksum":false})", R"({"id":"zstd","level":0})"},
      {R"({"id":"gzip","level":9})", "gzip", R"({"level":9})", R"({"id":"gzip","level":9})"},
      {R"({"id":"zlib"})", "numcodecs.zlib", R"({"level":1})", R"({"id":"zlib","level":1})"},
      {R"({"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0})", "blosc",
       R"({"typesize":4,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0})",
       R"({"blocksize":0,"clevel":5,"cname":"lz4","id":"blosc","shuffle":1})"},
      {R"({"id":"blosc","cname":"zstd","clevel":9,"shuffle":2,"blocksize":256})", "blosc",
       R"({"typesize":4,"cname":"zstd","clevel":9,"shuffle":"bitshuffle","blocksize":256})",
       R"({"blocksize":256,"clevel":9,"cname":"zstd","id":"blosc","shuffle":2})"},
  };
  for (const auto& [compressor, name, configuration, written] : table) {
    CAPTURE(compressor);
    const auto spec = detail::parse_v2_compressor(node_of(compressor), 4);
    REQUIRE_MESSAGE(spec, json_input::error_of(spec));
    CHECK(spec->name == name);
    CHECK(dump_json(spec->configuration) == configuration);
    CHECK(json_input::text_of(detail::to_v2_compressor(*spec)) == written);
  }
  const node automatic = node_of(R"({"id":"blosc","shuffle":-1})");
  CHECK(*detail::parse_v2_compressor(automatic, 1).value().configuration.find("shuffle") ==
        node("bitshuffle"));
  CHECK(detail::parse_v2_compressor(node_of(R"({"id":"crc32c"})"), 4).value().name == "crc32c");
  CHECK(detail::parse_v2_compressor(node_of(R"({"id":"crc32c","location":"end"})"), 4));
}

TEST_CASE("compressors that are refused") {
  const std::pair<const char*, errc> table[] = {
      {"3", errc::corrupt},
      {"{}", errc::corrupt},
      {R"({"id":3})", errc::corrupt},
      {R"({"id":"lz4"})", errc::unsupported},
      {R"({"id":"bz2","level":1})", errc::unsupported},
      {R"({"id":"crc32c","location":"start"})", errc::unsupported},
      {R"({"id":"zstd","level":"3"})", errc::corrupt},
      {R"({"id":"zstd","checksum":1})", errc::corrupt},
      {R"({"id":"zstd","dictionary":"x"})", errc::unsupported},
      {R"({"id":"gzip","level":1.5})", errc::corrupt},
      {R"({"id":"blosc","shuffle":3})", errc::corrupt},
      {R"({"id":"blosc","shuffle":"shuffle"})", errc::corrupt},
  };
  for (const auto& [text, code] : table) {
    CAPTURE(text);
    const auto spec = detail::parse_v2_compressor(node_of(text), 4);
    REQUIRE_FALSE(spec);
    CHECK(spec.failure().code == code);
  }
  CHECK_FALSE(detail::to_v2_compressor({"zstd", node_of(R"({"level":1,"checksum":true})")}));
  CHECK_FALSE(detail::to_v2_compressor({"crc32c", {}}));
  CHECK_FALSE(detail::to_v2_compressor({"blosc", node_of(R"({"cname":"lz4"})")}));
}

TEST_CASE("filters") {
  const auto filter = [](const char* text, dtype_kind type) {
    const node value = node_of(text);
    return detail::has_vlen_utf8_filter(&value, type);
  };
  CHECK_FALSE(detail::has_vlen_utf8_filter(nullptr, dtype_kind::int8).value());
  CHECK_FALSE(filter("null", dtype_kind::int8).value());
  CHECK_FALSE(filter("[]", dtype_kind::int8).value());
  CHECK(filter(R"([{"id":"vlen-utf8"}])", dtype_kind::string).value());
  CHECK(filter(R"([{"id":"vlen-utf8"}])", dtype_kind::int8).failure().code == errc::unsupported);
  CHECK(filter(R"([{"id":"delta","dtype":"<i4"}])", dtype_kind::int32).failure().message ==
        "\"delta\" is not supported");
  CHECK(filter(R"([{"id":"vlen-utf8"},{"id":"shuffle"}])", dtype_kind::string).failure().message ==
        "\"shuffle\" is not supported");
  CHECK(filter("{}", dtype_kind::int8).failure().code == errc::corrupt);
  CHECK(filter("[3]", dtype_kind::int8).failure().code == errc::corrupt);
}
