// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include <doctest/doctest.h>

#include <string>

namespace default_codecs_test {

namespace zp = zarrpoint;

TEST_CASE("default_codecs: the names that real files use") {
  const zp::codec_table table = zp::default_codecs::table();
  CHECK(table.entries().size() == 7);
  const zp::json order(zp::json::object{{"order", zp::json::array{0}}});
  CHECK(table.make({"bytes"}).value().kind() == zp::codec_kind::array_to_bytes);
  CHECK(table.make({"endian"}).value().name() == "bytes");
  CHECK(table.make({"transpose", order}).value().kind() == zp::codec_kind::array_to_array);
  CHECK(table.make({"vlen-utf8"}).value().kind() == zp::codec_kind::array_to_bytes);
  CHECK(table.make({"vlen-bytes"}).value().kind() == zp::codec_kind::array_to_bytes);
  CHECK(table.make({"crc32c"}).value().kind() == zp::codec_kind::bytes_to_bytes);
  CHECK(table.make({"zstd"}).value().kind() == zp::codec_kind::bytes_to_bytes);
  CHECK(table.make({"numcodecs.zstd"}).value().name() == "zstd");
  CHECK(table.make({"blosc"}).value().kind() == zp::codec_kind::bytes_to_bytes);
}

TEST_CASE("default_codecs: gzip is not one of them, and the error names its header") {
  for (const char* name : {"gzip", "numcodecs.gzip", "zlib", "numcodecs.zlib"}) {
    const zp::result<zp::any_codec> made = zp::default_codecs::table().make({name});
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == zp::errc::unsupported);
    CHECK(made.failure().message.find(name) != std::string::npos);
    CHECK(made.failure().message.find("<zarrpoint/gzip.hpp>") != std::string::npos);
  }
}

}  // namespace default_codecs_test
