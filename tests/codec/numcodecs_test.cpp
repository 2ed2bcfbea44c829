// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/lists/numcodecs.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace numcodecs_test {

namespace zp = zarrpoint;

TEST_CASE("numcodecs_codecs: what an error says is there is there") {
  const zp::codec_table table = zp::numcodecs_codecs::table();
  for (const auto& one : zp::detail::known_codecs) {
    CAPTURE(one.name);
    const std::string name = "numcodecs." + std::string(one.name);
    const bool is_found = table.find(name) != nullptr || table.find(one.name) != nullptr;
    const std::string_view header =
        zp::detail::codec_doors[static_cast<std::size_t>(one.door)].header;
    CHECK(is_found == (header == "codecs.hpp"));
  }
}

TEST_CASE("numcodecs_codecs: kinds") {
  const zp::codec_table table = zp::numcodecs_codecs::table();
  CHECK(table.make({"numcodecs.crc32"}).value().kind() == zp::codec_kind::bytes_to_bytes);
  CHECK(table.make({"numcodecs.json2"}).value().kind() == zp::codec_kind::array_to_bytes);
  CHECK(table.make({"numcodecs.zstd"}).value().name() == "zstd");
  CHECK(table.make({"numcodecs.blosc"}).value().name() == "blosc");
  CHECK(table.find("zstd") != nullptr);
}

}  // namespace numcodecs_test
