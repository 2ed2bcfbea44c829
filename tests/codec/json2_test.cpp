// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/object_codecs.hpp>

#include "support/strings.hpp"

#include <doctest/doctest.h>

#include <string>

namespace json2_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

namespace {

const zp::json2_codec codec;

zp::tensor_spec of(zp::dims shape) { return {zp::dtype_kind::string, std::move(shape)}; }

zp::result<strings> decoded(std::string_view text, zp::dims shape = {1}) {
  return decoded_strings(codec, zp::as_bytes(text), of(std::move(shape)));
}
std::string encoded(const strings& elements, zp::dims shape) {
  return std::string(zp::as_text(encoded_strings(codec, elements, of(std::move(shape))).value()));
}

}  // namespace

TEST_CASE("json2: conformance") {
  codec_conformance(codec);
  codec_conformance(codec_of<zp::json2_codec>(json::object{{"ensure_ascii", false}}));
}

// numcodecs 0.16.6.
TEST_CASE("json2: text of numcodecs") {
  CHECK(decoded(R"([["foo","\u00e9"],[null,0],"|O",[2,2]])", {2, 2}).value() ==
        strings{"foo", "\xc3\xa9", "", ""});
  CHECK(encoded({"foo", "\xc3\xa9", "", ""}, {2, 2}) == R"([["foo","\u00e9"],["",""],"|O",[2,2]])");
  CHECK(decoded(R"(["x","|O",[]])", {}).value() == strings{"x"});
  CHECK(encoded({"x"}, {}) == R"(["x","|O",[]])");
  CHECK(encoded({}, {2, 0}) == R"([[],[],"|O",[2,0]])");
  CHECK(encoded({}, {0, 2}) == R"(["|O",[0,2]])");
  CHECK(decoded(R"(["|O",[0,2]])", {0, 2}));
}

TEST_CASE("json2: escapes and space") {
  const strings odd{"\"\\/\b\f\n\r\t\x01\x7f", "\xf0\x9f\x8e\x88\xe6\x97\xa5"};
  const std::string text = R"(["\"\\/\b\f\n\r\t\u0001\u007f","\ud83c\udf88\u65e5","|O",[2]])";
  CHECK(encoded(odd, {2}) == text);
  CHECK(decoded(text, {2}).value() == odd);
  CHECK(decoded("[\"\\/\xe6\x97\xa5\", \n\t \"\\u0041\",\r\n \"|O\" , [ 2 ] ] \n", {2}).value() ==
        strings{"/\xe6\x97\xa5", "A"});
  const auto plain = codec_of<zp::json2_codec>(json::object{{"ensure_ascii", false}});
  CHECK(encoded_strings(plain, {"\xc3\xa9\x7f"}, of({1})).value() ==
        text_bytes("[\"\xc3\xa9\x7f\",\"|O\",[1]]"));
}

TEST_CASE("json2: objects that are not strings are refused, and their kind is named") {
  const std::pair<const char*, const char*> table[] = {
      {R"([1,"|O",[1]])", "a number"},   {R"([-1.5,"|O",[1]])", "a number"},
      {R"([NaN,"|O",[1]])", "a number"}, {R"([0.5,"|O",[1]])", "a number"},
      {R"([true,"|O",[1]])", "a bool"},  {R"([{"a":1},"|O",[1]])", "an object"},
      {R"([["a"],"|O",[1]])", "a list"}};
  for (const auto& [text, name] : table) {
    CAPTURE(text);
    CHECK(decoded(text).failure().code == zp::errc::unsupported);
    CHECK(decoded(text).failure().message == std::string("expected a string, found ") + name);
  }
  CHECK(decoded(R"(["a","<f4",[1]])").failure().message ==
        "the stored elements must be of type \"|O\", not \"<f4\"");
}

TEST_CASE("json2: what is damaged is corrupt") {
  for (const char* text : {"",
                           "[",
                           "[\"a",
                           "[\"a\"",
                           R"(["a","|O",[1])",
                           R"(["a","|O",[2]])",
                           R"(["a","|O",[1,1]])",
                           R"(["a","|O",[1]]x)",
                           R"(["a","|O",[]])",
                           R"(["\x","|O",[1]])",
                           R"(["\u12","|O",[1]])",
                           R"(["\u12g4","|O",[1]])",
                           R"(["\ud800","|O",[1]])",
                           R"(["\udc00\ud800","|O",[1]])",
                           R"(["\ud800\u0041","|O",[1]])",
                           "[\"a\nb\",\"|O\",[1]]",
                           "[\"\xff\",\"|O\",[1]]",
                           R"([nul,"|O",[1]])",
                           R"([,"|O",[1]])",
                           R"(["a","|O",[-1]])",
                           R"(["a","|O",["1"]])",
                           R"({"a":1})"}) {
    CAPTURE(text);
    CHECK(decoded(text).failure().code == zp::errc::corrupt);
  }
  CHECK_FALSE(decoded(R"(["a","b","|O",[1]])"));
  CHECK_FALSE(decoded(R"(["|O",[1]])"));
  const auto lax = codec_of<zp::json2_codec>(json::object{{"strict", false}});
  CHECK(decoded_strings(lax, zp::as_bytes("[\"a\nb\",\"|O\",[1]]"), of({1})).value() ==
        strings{"a\nb"});
}

TEST_CASE("json2: options") {
  conformance::check_configuration(codec);
  const json all = json::object{
      {"encoding", "utf-8"},  {"allow_nan", true}, {"check_circular", true},
      {"ensure_ascii", true}, {"indent", json()},  {"separators", json::array{",", ":"}},
      {"skipkeys", false},    {"sort_keys", true}, {"strict", true}};
  CHECK(zp::make_codec<zp::json2_codec>(all));
  CHECK(zp::make_codec<zp::json2_codec>(json::object{{"encoding", "utf-16"}}).failure().code ==
        zp::errc::unsupported);
  CHECK_FALSE(codec.resolve({zp::dtype_kind::int8, {1}}));
}

}  // namespace json2_test
