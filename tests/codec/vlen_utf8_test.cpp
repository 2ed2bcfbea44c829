// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace vlen_utf8_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes = std::vector<std::byte>;

bytes raw(std::string_view text) { return copy_of(zp::as_bytes(text)); }

zp::result<std::vector<std::string>> decoded(const bytes& stored, std::size_t count) {
  std::vector<std::string> out(count);
  zp::codec_workspace scratch;
  const zp::result<void> status = zp::vlen_utf8_codec{}.decode(
      stored,
      zp::dense_view(reinterpret_cast<std::byte*>(out.data()),
                     {zp::dtype_kind::string, {static_cast<zp::index_t>(count)}}),
      scratch);
  if (!status) return status.failure();
  return out;
}

}  // namespace

TEST_CASE("vlen-utf8: conformance") { codec_conformance(zp::vlen_utf8_codec{}); }

TEST_CASE("vlen-utf8: the bytes that numcodecs writes") {
  using namespace std::string_view_literals;
  const bytes stored = raw("\x04\0\0\0\x01\0\0\0a\x05\0\0\0h\xc3\xa9\xc3\xa9\0\0\0\0\0\0\0\0"sv);
  const std::vector<std::string> strings{"a", "h\xc3\xa9\xc3\xa9", "", ""};
  CHECK(decoded(stored, 4).value() == strings);
  const zp::host_view view = zp::dense_view(reinterpret_cast<const std::byte*>(strings.data()),
                                            {zp::dtype_kind::string, {4}});
  zp::codec_workspace scratch;
  bytes out(zp::vlen_utf8_codec{}.encoded_size(view).value());
  REQUIRE(zp::vlen_utf8_codec{}.encode(view, out, scratch).value() == out.size());
  CHECK(out == stored);
}

TEST_CASE("vlen-utf8: elements stand in row-major order, whatever the strides") {
  std::array<std::string, 6> strings{"a", "b", "c", "d", "e", "f"};
  const auto size = static_cast<zp::index_t>(sizeof(std::string));
  const zp::host_view columns{reinterpret_cast<const std::byte*>(strings.data()),
                              zp::dtype_kind::string,
                              {2, 3},
                              {size, 2 * size},
                              {},
                              {}};
  zp::codec_workspace scratch;
  bytes out(zp::vlen_utf8_codec{}.encoded_size(columns).value());
  REQUIRE(zp::vlen_utf8_codec{}.encode(columns, out, scratch));
  CHECK(decoded(out, 6).value() == std::vector<std::string>{"a", "c", "e", "b", "d", "f"});
  zp::host_view backwards = columns;
  backwards.data = reinterpret_cast<const std::byte*>(&strings[5]);
  backwards.shape = {6};
  backwards.strides = {-size};
  REQUIRE(zp::vlen_utf8_codec{}.encode(backwards, out, scratch));
  CHECK(decoded(out, 6).value() == std::vector<std::string>{"f", "e", "d", "c", "b", "a"});
}

TEST_CASE("vlen-utf8: counts and lengths that lie") {
  using namespace std::string_view_literals;
  CHECK(decoded(raw("\0\0\0\0"sv), 0));
  CHECK_FALSE(decoded(raw(""), 0));
  CHECK_FALSE(decoded(raw("\0\0\0"sv), 0));
  CHECK_FALSE(decoded(raw("\x01\0\0\0\0\0\0\0"sv), 0));
  CHECK_FALSE(decoded(raw("\x01\0\0\0\0\0\0\0"sv), 2));
  CHECK_FALSE(decoded(raw("\xff\xff\xff\xff\0\0\0\0"sv), 1));
  CHECK_FALSE(decoded(raw("\x01\0\0\0\xff\xff\xff\xff"sv), 1));
  CHECK_FALSE(decoded(raw("\x01\0\0\0\x02\0\0\0a"sv), 1));
  CHECK_FALSE(decoded(raw("\x01\0\0\0\x01\0\0\0ab"sv), 1));
  CHECK(decoded(raw("\x01\0\0\0\x01\0\0\0a"sv), 1).value().front() == "a");
  CHECK(decoded(raw("\x01\0\0\0\x02\0\0\0a"sv), 1).failure().message == "an element is cut short");
}

TEST_CASE("vlen-utf8: text that is not UTF-8 is an error both ways") {
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {"\xff"sv, "\xc3"sv, "\xc0\xaf"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv, "a\x80"sv}) {
    bytes stored = raw("\x01\0\0\0"sv);
    stored.resize(8);
    stored[4] = static_cast<std::byte>(bad.size());
    for (const char c : bad) stored.push_back(static_cast<std::byte>(c));
    CHECK(decoded(stored, 1).failure().code == zp::errc::corrupt);
    const std::string text(bad);
    bytes out(100);
    zp::codec_workspace scratch;
    const auto status = zp::vlen_utf8_codec{}.encode(
        zp::dense_view(reinterpret_cast<const std::byte*>(&text), {zp::dtype_kind::string, {}}),
        out, scratch);
    CHECK(status.failure().code == zp::errc::invalid_argument);
  }
  CHECK(decoded(raw("\x01\0\0\0\x03\0\0\0\0a\0"sv), 1).value().front() == "\0a\0"sv);
}

TEST_CASE("vlen-utf8: only strings, and no more than its count can say") {
  CHECK(zp::vlen_utf8_codec{}.resolve({zp::dtype_kind::string, {3}}));
  CHECK_FALSE(zp::vlen_utf8_codec{}.resolve({zp::dtype_kind::uint8, {3}}));
  CHECK_FALSE(zp::vlen_utf8_codec{}.resolve({zp::dtype_kind::string, {65536, 65536}}));
  CHECK(zp::make_codec<zp::vlen_utf8_codec>(zp::json(zp::json::object{})));
  CHECK(zp::configuration_of(zp::vlen_utf8_codec{}) == zp::json(zp::json::object{}));
}

TEST_CASE("vlen-utf8: decoded text keeps to the budget, which is asked before any is made") {
  using namespace std::string_view_literals;
  const bytes stored = raw("\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de"sv);
  std::array<std::string, 2> out;
  const zp::mutable_host_view into =
      zp::dense_view(reinterpret_cast<std::byte*>(out.data()), {zp::dtype_kind::string, {2}});
  zp::limited_resource memory(9);
  zp::codec_workspace scratch(memory, 1000, &memory);
  REQUIRE(zp::vlen_utf8_codec{}.decode(stored, into, scratch));
  CHECK(memory.in_use() == 5);
  out = {};
  const auto refused = zp::vlen_utf8_codec{}.decode(stored, into, scratch);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == zp::errc::resource_limit);
  CHECK(out[0].empty());
  CHECK(scratch.take_charged_text() == 5);
}

}  // namespace vlen_utf8_test
