// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/v2/v2_codecs.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace v2_codecs_test {

using namespace zarrpoint;
using json_input::json_of;

namespace {

/// The chain of a `.zarray` with these members.
result<array_metadata> chain_of(const std::string& members) {
  const json zarray = json_of(("{" + members + "}").c_str());
  auto type = detail::parse_v2_dtype(*zarray.find("dtype"));
  REQUIRE(type);
  array_metadata out;
  out.shape = dims{4, 6};
  ZARRPOINT_CHECK(detail::parse_v2_chain(zarray, *type, out));
  return out;
}

std::string text_of_chain(const array_metadata& array) {
  return dump_json(detail::codec_specs_to_json(array.codecs).value());
}

/// What is written for a chain.
std::string written(const array_metadata& array) {
  const auto out = detail::to_v2_codecs(array);
  if (!out) return to_string(out.failure());
  return dump_json(json::object{
      {"dtype", out->dtype}, {"filters", out->filters}, {"compressor", out->compressor}});
}

}  // namespace

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
      {R"({"id":"gzip","level":3.0})", "gzip", R"({"level":3})", R"({"id":"gzip","level":3})"},
      {R"({"id":"blosc","clevel":3.0,"shuffle":1.0})", "blosc",
       R"({"typesize":4,"cname":"lz4","clevel":3,"shuffle":"shuffle","blocksize":0})",
       R"({"blocksize":0,"clevel":3,"cname":"lz4","id":"blosc","shuffle":1})"},
      {R"({"id":"zlib"})", "numcodecs.zlib", R"({"level":1})", R"({"id":"zlib","level":1})"},
      {R"({"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0})", "blosc",
       R"({"typesize":4,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0})",
       R"({"blocksize":0,"clevel":5,"cname":"lz4","id":"blosc","shuffle":1})"},
      {R"({"id":"blosc","cname":"zstd","clevel":9,"shuffle":2,"blocksize":256})", "blosc",
       R"({"typesize":4,"cname":"zstd","clevel":9,"shuffle":"bitshuffle","blocksize":256})",
       R"({"blocksize":256,"clevel":9,"cname":"zstd","id":"blosc","shuffle":2})"},
      {R"({"id":"lz4","acceleration":2})", "numcodecs.lz4", R"({"acceleration":2})",
       R"({"id":"lz4","acceleration":2})"},
      {R"({"id":"bz2","level":5})", "numcodecs.bz2", R"({"level":5})", R"({"id":"bz2","level":5})"},
      {R"({"id":"lzma","format":1,"check":-1,"preset":null,"filters":null})", "numcodecs.lzma",
       R"({"format":1,"check":-1,"preset":null,"filters":null})",
       R"({"id":"lzma","format":1,"check":-1,"preset":null,"filters":null})"},
      {R"({"id":"base64"})", "numcodecs.base64", "{}", R"({"id":"base64"})"},
      {R"({"id":"crc32"})", "numcodecs.crc32", "{}", R"({"id":"crc32"})"},
      {R"({"id":"adler32","location":"end"})", "numcodecs.adler32", R"({"location":"end"})",
       R"({"id":"adler32","location":"end"})"},
      {R"({"id":"fletcher32"})", "numcodecs.fletcher32", "{}", R"({"id":"fletcher32"})"},
      {R"({"id":"jenkins_lookup3","initval":0,"prefix":null})", "numcodecs.jenkins_lookup3",
       R"({"initval":0,"prefix":null})", R"({"id":"jenkins_lookup3","initval":0,"prefix":null})"},
      {R"({"id":"crc32c"})", "crc32c", "null", R"({"id":"crc32c","location":"end"})"},
      {R"({"id":"crc32c","location":"start"})", "numcodecs.crc32c", R"({"location":"start"})",
       R"({"id":"crc32c","location":"start"})"},
      {R"({"id":"shuffle"})", "numcodecs.shuffle", R"({"elementsize":4})",
       R"({"id":"shuffle","elementsize":4})"},
  };
  for (const auto& [compressor, name, configuration, written] : table) {
    CAPTURE(compressor);
    const auto spec = detail::parse_v2_bytes_codec(json_of(compressor), 4);
    REQUIRE_MESSAGE(spec, json_input::error_of(spec));
    CHECK(spec->name == name);
    CHECK(dump_json(spec->configuration) == configuration);
    CHECK(json_input::text_of(detail::to_v2_bytes_codec(*spec)) == written);
  }
  const json automatic = json_of(R"({"id":"blosc","shuffle":-1})");
  CHECK(*detail::parse_v2_bytes_codec(automatic, 1).value().configuration.find("shuffle") ==
        json("bitshuffle"));
  CHECK(detail::parse_v2_bytes_codec(json_of(R"({"id":"crc32c","location":"end"})"), 4));
  CHECK(json_input::text_of(detail::to_v2_bytes_codec({"numcodecs.crc32c", json::object{}})) ==
        R"({"id":"crc32c","location":"end"})");
}

TEST_CASE("compressors that are refused") {
  const std::pair<const char*, errc> table[] = {
      {"3", errc::corrupt},
      {"{}", errc::corrupt},
      {R"({"id":3})", errc::corrupt},
      {R"({"id":"zip"})", errc::unsupported},
      {R"({"id":"n5_wrapper"})", errc::unsupported},
      {R"({"id":"quantize","digits":1,"dtype":"<f4"})", errc::unsupported},
      {R"({"id":"vlen-utf8"})", errc::unsupported},
      {R"({"id":"zstd","level":"3"})", errc::corrupt},
      {R"({"id":"zstd","checksum":1})", errc::corrupt},
      {R"({"id":"zstd","dictionary":"x"})", errc::unsupported},
      {R"({"id":"gzip","level":1.5})", errc::corrupt},
      {R"({"id":"blosc","shuffle":3})", errc::corrupt},
      {R"({"id":"blosc","shuffle":"shuffle"})", errc::corrupt},
  };
  for (const auto& [text, code] : table) {
    CAPTURE(text);
    const auto spec = detail::parse_v2_bytes_codec(json_of(text), 4);
    REQUIRE_FALSE(spec);
    CHECK(spec.failure().code == code);
  }
  CHECK_FALSE(detail::to_v2_bytes_codec({"zstd", json_of(R"({"level":1,"checksum":true})")}));
  CHECK_FALSE(detail::to_v2_bytes_codec({"blosc", json_of(R"({"cname":"lz4"})")}));
  CHECK_FALSE(detail::to_v2_bytes_codec({"sharding_indexed", {}}));
  CHECK_FALSE(detail::to_v2_bytes_codec({"numcodecs.delta", {}}));
}

TEST_CASE("filters and a compressor become a chain, and the chain those") {
  struct {
    const char* members;
    const char* chain;
    const char* written;
  } const table[] = {
      {R"("dtype":"<i4","filters":[],"compressor":null)",
       R"([{"name":"bytes","configuration":{"endian":"little"}}])",
       R"({"dtype":"<i4","filters":null,"compressor":null})"},
      {R"("dtype":"<i4","filters":[{"id":"delta","dtype":"<i4","astype":"<i2"}])",
       R"([{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i2"}},)"
       R"({"name":"bytes","configuration":{"endian":"little"}}])",
       R"({"dtype":"<i4","filters":[{"id":"delta","dtype":"<i4","astype":"<i2"}],"compressor":null})"},
      {R"("dtype":"<i4","filters":[{"id":"delta","dtype":"<i4","astype":">i2"}])",
       R"([{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":">i2"}},)"
       R"({"name":"bytes","configuration":{"endian":"big"}}])",
       R"({"dtype":">i4","filters":[{"id":"delta","dtype":">i4","astype":">i2"}],"compressor":null})"},
      {R"("dtype":">f4","filters":[{"id":"bitround","keepbits":8},{"id":"shuffle","elementsize":4}],)"
       R"("compressor":{"id":"gzip","level":1})",
       R"([{"name":"numcodecs.bitround","configuration":{"keepbits":8}},)"
       R"({"name":"bytes","configuration":{"endian":"big"}},)"
       R"({"name":"numcodecs.shuffle","configuration":{"elementsize":4}},)"
       R"({"name":"gzip","configuration":{"level":1}}])",
       R"({"dtype":">f4","filters":[{"id":"bitround","keepbits":8},{"id":"shuffle","elementsize":4}],)"
       R"("compressor":{"id":"gzip","level":1}})"},
      {R"("dtype":"|b1","filters":[{"id":"packbits"}],"compressor":{"id":"crc32"})",
       R"([{"name":"numcodecs.packbits","configuration":{}},{"name":"bytes"},)"
       R"({"name":"numcodecs.crc32","configuration":{}}])",
       R"({"dtype":"|b1","filters":[{"id":"packbits"},{"id":"crc32"}],"compressor":null})"},
      {R"("dtype":"<f8","filters":[{"id":"quantize","digits":3,"dtype":"<f8","astype":"<f4"},)"
       R"({"id":"astype","encode_dtype":"|i1","decode_dtype":"<f4"}],"compressor":{"id":"base64"})",
       R"([{"name":"numcodecs.quantize","configuration":{"digits":3,"dtype":"<f8","astype":"<f4"}},)"
       R"({"name":"numcodecs.astype","configuration":{"encode_dtype":"|i1","decode_dtype":"<f4"}},)"
       R"({"name":"bytes"},{"name":"numcodecs.base64","configuration":{}}])",
       R"({"dtype":"<f8","filters":[{"id":"quantize","digits":3,"dtype":"<f8","astype":"<f4"},)"
       R"({"id":"astype","encode_dtype":"|i1","decode_dtype":"<f4"}],"compressor":{"id":"base64"}})"},
      {R"("dtype":"<f8","compressor":{"id":"zfpy","mode":4,"compression_kwargs":{"tolerance":0.5},)"
       R"("tolerance":0.5,"rate":-1,"precision":-1})",
       R"([{"name":"numcodecs.zfpy","configuration":{"mode":4,"compression_kwargs":)"
       R"({"tolerance":0.5},"tolerance":0.5,"rate":-1,"precision":-1}}])",
       R"({"dtype":"<f8","filters":null,"compressor":{"id":"zfpy","mode":4,"compression_kwargs":)"
       R"({"tolerance":0.5},"tolerance":0.5,"rate":-1,"precision":-1}})"},
      {R"("dtype":"<i4","filters":[{"id":"zfpy","mode":5}],"compressor":{"id":"zlib","level":2})",
       R"([{"name":"numcodecs.zfpy","configuration":{"mode":5}},)"
       R"({"name":"numcodecs.zlib","configuration":{"level":2}}])",
       R"({"dtype":"<i4","filters":[{"id":"zfpy","mode":5}],"compressor":{"id":"zlib","level":2}})"},
      {R"("dtype":"|O","filters":[{"id":"vlen-utf8"}],"compressor":{"id":"blosc"})",
       R"([{"name":"vlen-utf8","configuration":{}},{"name":"blosc","configuration":{"typesize":1,)"
       R"("cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}}])",
       R"({"dtype":"|O","filters":[{"id":"vlen-utf8"}],"compressor":{"blocksize":0,"clevel":5,)"
       R"("cname":"lz4","id":"blosc","shuffle":1}})"},
      {R"("dtype":"|O","filters":[{"id":"vlen-array","dtype":"<i4"},{"id":"zlib","level":2}])",
       R"([{"name":"numcodecs.vlen-array","configuration":{"dtype":"<i4"}},)"
       R"({"name":"numcodecs.zlib","configuration":{"level":2}}])",
       R"({"dtype":"|O","filters":[{"id":"vlen-array","dtype":"<i4"}],)"
       R"("compressor":{"id":"zlib","level":2}})"},
      {R"("dtype":"|O","filters":[{"id":"categorize","dtype":"|O","astype":"|u1","labels":["a"]}])",
       R"([{"name":"numcodecs.categorize","configuration":)"
       R"({"dtype":"|O","astype":"|u1","labels":["a"]}}])",
       R"({"dtype":"|O","filters":[{"id":"categorize","dtype":"|O","astype":"|u1","labels":["a"]}],)"
       R"("compressor":null})"},
  };
  for (const auto& [members, chain, text] : table) {
    CAPTURE(members);
    const auto array = chain_of(members);
    REQUIRE_MESSAGE(array, json_input::error_of(array));
    CHECK(text_of_chain(*array) == chain);
    CHECK(written(*array) == text);
    // What was written says the same once more.
    const json again = json_of(text);
    array_metadata second;
    second.shape = array->shape;
    REQUIRE(detail::parse_v2_chain(again, detail::parse_v2_dtype(*again.find("dtype")).value(),
                                   second));
    CHECK(second.codecs == array->codecs);
    CHECK(second.type == array->type);
  }
  CHECK(chain_of(R"("dtype":"|O","filters":[{"id":"json2"}])").value().type == dtype_kind::string);
  CHECK(chain_of(R"("dtype":"|O","filters":[{"id":"vlen-bytes"}])").value().type ==
        dtype_kind::bytes);
}

TEST_CASE("filters that are refused, by name") {
  const struct {
    const char* members;
    const char* message;
  } table[] = {
      {R"("dtype":"<i4","filters":{})", "filters: must be a list or null"},
      {R"("dtype":"<i4","filters":[3])", "filters: must be an object with an id"},
      {R"("dtype":"<i4","filters":[{"id":"vlen-utf8"}])",
       "filters: \"vlen-utf8\" needs data type \"|O\""},
      {R"("dtype":"<f4","filters":[{"id":"zstd"},{"id":"bitround","keepbits":3}])",
       "filters: \"bitround\" cannot follow a codec that makes bytes"},
      {R"("dtype":"|O","filters":[{"id":"delta","dtype":"<i4"}])",
       "filters: data type \"|O\" without a filter for objects is not supported"},
      {R"("dtype":"|O","filters":null)",
       "data type \"|O\" without a filter for objects is not supported"},
      {R"("dtype":"|O","filters":[{"id":"vlen-utf8"},{"id":"vlen-utf8"}])",
       "filters: \"vlen-utf8\" cannot follow a codec that makes bytes"},
      {R"("dtype":"|O","filters":[{"id":"vlen-utf8","x":1}])",
       "filters: \"vlen-utf8\": unknown member \"x\""},
      {R"("dtype":"|O","filters":[{"id":"pickle","protocol":5}])",
       "filters: \"pickle\" is not supported (not in this library: reading it would run code that "
       "the file holds)"},
      {R"("dtype":"<f4","compressor":{"id":"n5_wrapper"})",
       "compressor: \"n5_wrapper\" is not supported (not in this library: it is for blocks of N5)"},
      {R"("dtype":">f4","compressor":{"id":"pcodec"})",
       "compressor: \"pcodec\" does not support big-endian elements"},
      {R"("dtype":">f4","compressor":{"id":"zfpy"})",
       "compressor: \"zfpy\" does not support big-endian elements"},
      {R"("dtype":"<f4","filters":[{"id":"zlib"}],"compressor":{"id":"zfpy"})",
       "compressor: \"zfpy\" cannot follow a codec that makes bytes"},
  };
  for (const auto& [members, message] : table) {
    CAPTURE(members);
    const auto array = chain_of(members);
    REQUIRE_FALSE(array);
    CHECK(array.failure().message == message);
  }
}

TEST_CASE("chains of v3 that v2 can say in other words, and some that it cannot") {
  const auto array_of = [](dtype type, const char* codecs) {
    array_metadata out;
    out.shape = dims{4, 6};
    out.type = type;
    out.codecs = detail::parse_codec_specs(json_of(codecs)).value();
    return out;
  };
  // The order that the elements are stored in is the one that counts.
  CHECK(written(array_of(dtype_kind::int32,
                         R"([{"name":"numcodecs.delta","configuration":{"dtype":"int32"}},)"
                         R"({"name":"bytes","configuration":{"endian":"big"}}])")) ==
        R"({"dtype":">i4","filters":[{"id":"delta","dtype":">i4"}],)"
        R"("compressor":null})");
  CHECK(written(array_of(dtype_kind::float64,
                         R"([{"name":"numcodecs.fixedscaleoffset","configuration":)"
                         R"({"offset":0,"scale":10,"astype":"i2"}},)"
                         R"({"name":"bytes","configuration":{"endian":"little"}}])")) ==
        R"({"dtype":"<f8","filters":[{"id":"fixedscaleoffset","offset":0,"scale":10,)"
        R"("astype":"<i2","dtype":"<f8"}],"compressor":null})");
  CHECK(written(array_of(dtype_kind::float32,
                         R"([{"name":"numcodecs.bitround","configuration":{"keepbits":1}},)"
                         R"({"name":"numcodecs.delta","configuration":{"dtype":"<f4"}},)"
                         R"({"name":"bytes","configuration":{"endian":"big"}}])")) ==
        R"({"dtype":">f4","filters":[{"id":"bitround","keepbits":1},)"
        R"({"id":"delta","dtype":">f4"}],"compressor":null})");
  CHECK(written(
            array_of(dtype_kind::int8, R"(["bytes",{"name":"numcodecs.zstd"},"numcodecs.lz4"])")) ==
        R"({"dtype":"|i1","filters":[{"id":"zstd","level":0}],"compressor":{"id":"lz4"}})");
  CHECK(written(array_of(dtype_kind::int8, R"(["packbits","bytes"])")).find("\"packbits\"") !=
        std::string::npos);
  CHECK(written(array_of(dtype_kind::int8, R"(["bytes","example.xor"])")) ==
        "unsupported: Zarr v2 has no codec \"example.xor\"");
  CHECK(written(array_of(dtype_kind::string, R"(["bytes"])")).find("vlen-utf8, not \"bytes\"") !=
        std::string::npos);
}

}  // namespace v2_codecs_test
