// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

namespace pickle_convert_test {

using namespace zarrpoint;
using namespace std::string_literals;

json parsed(std::string_view text) { return parse_json(as_bytes(text)).value(); }

TEST_CASE("pickle: what JSON knows becomes a node") {
  // {'a': [1, 'x', None, 2.5, True, -7, 2**40, 2**63], 'b': {}, 'c': [], 'd': {'e': [[1], [2, 3]]}}
  const auto root = test::unpickle(test::from_hex(
      "80027d71002858010000006171015d7102284b0158010000007871034e474004000000000000884af9ffffff8a06"
      "00"
      "00000000018a090000000000000080006558010000006271047d710558010000006371065d710758010000006471"
      "087d7109580100000065710a5d710b285d710c4b01615d710d284b024b03656573752e"));
  CHECK(torch::to_json(root.value()).value() ==
        parsed(R"({"a":[1,"x",null,2.5,true,-7,1099511627776,9223372036854775808],)"
               R"("b":{},"c":[],"d":{"e":[[1],[2,3]]}})"));
  const auto ordered = test::unpickle(
      test::from_hex("800263636f6c6c656374696f6e730a4f726465726564446963740a710029"
                     "5271012858010000006171024b0158010000006271035d71044b0261752e"));
  CHECK(torch::to_json(ordered.value()).value() == parsed(R"({"a":1,"b":[2]})"));
  const auto twice = test::unpickle("\x80\x02}(U\1aK\1U\1bK\3U\1aK\2u."s);
  CHECK(torch::to_json(twice.value()).value() == parsed(R"({"a":2,"b":3})"));
  CHECK(torch::to_json(test::unpickle("\x80\x02K\1K\2\x86."s).value()).value() == parsed("[1,2]"));
}

TEST_CASE("pickle: what JSON does not know is refused, with its place") {
  const auto refusal = [](const std::string& bytes) {
    const auto made = torch::to_json(test::unpickle(bytes).value());
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == errc::unsupported);
    return made.failure().message;
  };
  CHECK(refusal(test::all_kinds_2).starts_with("w: an integer"));
  CHECK(refusal("\x80\x03]C\1xa."s) == "[0]: bytes is not a JSON value");
  CHECK(refusal("\x80\x02}U\1ac__builtin__\nset\n]\x85Rs."s) ==
        "a: a call of builtins.set is not a JSON value");
  CHECK(refusal("\x80\x02"
                "cm\nC\n."s) == "m.C is not a JSON value");
  CHECK(refusal("\x80\x02NQ."s).find("outside") != std::string::npos);
  CHECK(refusal("\x80\x04\x8f."s).find("a set") != std::string::npos);
  CHECK(refusal("\x80\x02}K\1K\2s."s).find("keys") != std::string::npos);
  // A list within itself.
  CHECK(refusal(test::from_hex("80025d71006800612e")).find("within itself") != std::string::npos);
}

TEST_CASE("pickle: a small one that stands for a large tree meets its budget") {
  // Lists of ten times the one before: 10^12 values in 300 bytes.
  std::string bytes = "\x80\x02(]q\0"s;
  for (char i = 1; i < 13; ++i) {
    bytes += "](";
    for (int n = 0; n < 10; ++n) bytes += "h"s + static_cast<char>(i - 1);
    bytes += "eq"s + i;
  }
  bytes += "1h\x0c.";  // the others are taken off the stack
  const auto root = test::unpickle(bytes).value();
  CHECK(torch::to_json(root, {.max_values = 10000}).failure().code == errc::resource_limit);
  // One text, as often as a byte or two says: as an element, and as a key.
  std::string texts = "\x80\x02X\xe8\x03\0\0"s + std::string(1000, 'x') + "q\1"s + "0](";
  std::string keys = texts.substr(0, texts.size() - 2) + "](";
  for (int i = 0; i < 100; ++i) texts += "h\1", keys += "}h\1Ns";
  for (const std::string& all : {texts, keys}) {
    const auto many = test::unpickle(all + "e.").value();
    CHECK(many.element_count() == 100);
    CHECK(torch::to_json(many, {.max_text = 100000}));
    CHECK(torch::to_json(many, {.max_text = 99999}).failure().code == errc::resource_limit);
  }
}

TEST_CASE("pickle: the ways in which bytes are written") {
  const auto bytes = [](const std::string& pickle) {
    const auto made = torch::to_bytes(test::unpickle(pickle).value());
    return made ? std::string(as_text(*made)) : "error: " + made.failure().message;
  };
  CHECK(bytes("\x80\x03"
              "C\2ab."s) == "ab");
  CHECK(bytes(test::from_hex("8002635f5f6275696c74696e5f5f0a62797465730a7100295271012e")).empty());
  // bytearray(b'q\x80') and io.BytesIO(b'ab\xff')
  CHECK(bytes(test::from_hex(
            "8002635f5f6275696c74696e5f5f0a6279746561727261790a7100635f636f646563730a656e636f64650a"
            "7101"
            "580300000071c280710258060000006c6174696e3171038671045271058571065271072e")) ==
        "q\x80");
  CHECK(bytes(test::from_hex("8002635f696f0a4279746573494f0a710029817101635f636f646563730a656e636f6"
                             "4650a710258040000006162"
                             "c3bf710358060000006c6174696e3171048671055271064b004e877107622e")) ==
        "ab\xff");
  for (const std::string& wrong : {"\x80\x02N."s,
                                   "\x80\x02"
                                   "cm\nC\n)R."s,
                                   "\x80\x02"
                                   "c_codecs\nencode\n)R."s,
                                   "\x80\x02"
                                   "c_codecs\nencode\nU\1xU\4utf8\x86R."s,
                                   "\x80\x02"
                                   "c_io\nBytesIO\n)R."s,
                                   "\x80\x02"
                                   "c_codecs\nencode\nX\2\0\0\0\xc4\x80U\6latin1\x86R."s,
                                   "\x80\x02"
                                   "c__builtin__\nbytes\nK\5\x85R."s,
                                   "\x80\x02"
                                   "c__builtin__\nbytes\nK\5K\1\x86R."s})
    CHECK(bytes(wrong).starts_with("error: "));
}

}  // namespace pickle_convert_test
