// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/object_codecs.hpp>

#include "support/strings.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace object_rows_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("byte_sink: counts all, writes what fits") {
  byte_string room(5);
  zp::detail::byte_sink sink(zp::mutable_bytes(room).first(3));
  sink.put("ab");
  sink.put('c');
  CHECK(sink.fits());
  sink.put("de");
  sink.put('f');
  CHECK_FALSE(sink.fits());
  CHECK(sink.size() == 6);
  CHECK(zp::as_text(room) == std::string_view("abc\0\0", 5));
}

TEST_CASE("rows: of any strides, and of any rank") {
  std::array<std::string, 6> strings{"a", "b", "c", "d", "e", "f"};
  const auto size = static_cast<zp::index_t>(sizeof(std::string));
  const zp::host_view columns{reinterpret_cast<const std::byte*>(strings.data()),
                              zp::dtype_kind::string,
                              {2, 3},
                              {size, 2 * size},
                              {},
                              {}};
  const zp::json2_codec codec;
  byte_string out(codec.encoded_size(columns).value());
  zp::codec_workspace scratch;
  REQUIRE(codec.encode(columns, out, scratch).value() == out.size());
  CHECK(zp::as_text(out) == R"([["a","c","e"],["b","d","f"],"|O",[2,3]])");
  CHECK(
      codec.encode(columns, zp::mutable_bytes(out).first(out.size() - 1), scratch).failure().code ==
      zp::errc::out_of_range);

  const zp::tensor_spec deep{zp::dtype_kind::string, {1, 2, 1, 2}};
  const byte_string stored = encoded_strings(codec, {"p", "q", "r", "s"}, deep).value();
  CHECK(zp::as_text(stored) == R"([[[["p","q"]],[["r","s"]]],"|O",[1,2,1,2]])");
  CHECK(decoded_strings(codec, stored, deep).value() ==
        zarrpoint_test::strings{"p", "q", "r", "s"});
}

TEST_CASE("rows: text comes out of the budget, and must be UTF-8") {
  const zp::json2_codec codec;
  zp::limited_resource budget(100);
  zp::codec_workspace scratch(zp::default_resource(), 1 << 20, &budget);
  std::string out;
  const std::string stored = "[\"" + std::string(200, 'x') + "\",\"|O\",[1]]";
  const auto view =
      zp::dense_view(reinterpret_cast<std::byte*>(&out), {zp::dtype_kind::string, {1}});
  CHECK(codec.decode(zp::as_bytes(stored), view, scratch).failure().code ==
        zp::errc::resource_limit);
  CHECK_FALSE(encoded_strings(codec, {"\xff"}, {zp::dtype_kind::string, {1}}));
}

}  // namespace object_rows_test
