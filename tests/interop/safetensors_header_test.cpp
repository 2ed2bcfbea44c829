// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/safetensors/packed_elements.hpp>
#include <zarrpoint/interop/safetensors/safetensors_header.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;
namespace st = zarrpoint::safetensors;

namespace {

/// The JSON of one tensor.
std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  std::string text = "\"";
  return text.append(name)
      .append(R"(":{"dtype":")")
      .append(dtype)
      .append(R"(","shape":)")
      .append(shape)
      .append(R"(,"data_offsets":)")
      .append(offsets)
      .append("}");
}

zp::error refusal(std::string_view text, std::uint64_t data_bytes) {
  const auto parsed = st::detail::parse_header(zp::as_bytes(text), data_bytes);
  REQUIRE_MESSAGE(!parsed, std::string(text));
  return parsed.failure();
}

struct random_header {
  st::header value;
  std::uint64_t bytes = 0;
};

random_header make_random(std::mt19937& random) {
  random_header out;
  const std::size_t n = random() % 12;
  for (std::size_t i = 0; i < n; ++i) {
    zp::tensor_spec spec{zp::dtype(zp::all_dtype_kinds[random() % 28]), {}};
    for (std::size_t d = random() % 5; d > 0; --d)
      spec.shape.push_back(static_cast<zp::index_t>(random() % 4));
    if (!st::detail::dtype_name(spec.type)) spec.type = zp::dtype_kind::float32;
    if (spec.type.is_below_byte()) spec.shape.push_back(4);
    const std::uint64_t bytes = st::detail::stored_byte_count(spec).value();
    std::string name = "t\"\\\n\xc3\xa9/" + std::to_string(random()) + "." + std::to_string(i);
    out.value.tensors.push_back({std::move(name), spec, out.bytes, bytes, {}});
    out.bytes += bytes;
  }
  for (std::size_t i = random() % 3; i > 0; --i)
    out.value.metadata["key " + std::to_string(i)] = "v\xf0\x9f\x98\x80";
  return out;
}

}  // namespace

TEST_CASE("safetensors header: the names of dtypes, both ways") {
  int named = 0;
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const auto name = st::detail::dtype_name(kind);
    if (!name) continue;
    ++named;
    CHECK(st::detail::dtype_named(*name) == zp::dtype(kind));
  }
  CHECK(named == 22);
  CHECK(!st::detail::dtype_name(zp::dtype_kind::string));
  CHECK(!st::detail::dtype_name(zp::dtype_kind::complex128));
  CHECK(!st::detail::dtype_name(zp::dtype()));
  for (const char* name : {"", "f32", "F2", "F8_E8M1", "F8", "float32", "C128"})
    CHECK(!st::detail::dtype_named(name));
}

TEST_CASE("safetensors header: a small one") {
  const std::string text =
      "{" + entry("b", "F32", "[2,3]", "[4,28]") + ",\"__metadata__\":{\"format\":\"pt\"}," +
      entry("a", "BF16", "[2]", "[0,4]") + "," + entry("none", "I64", "[0,7]", "[28,28]") + "," +
      entry("scalar", "U8", "[]", "[28,29]") + "}   ";
  const auto parsed = st::detail::parse_header(zp::as_bytes(text), 29).value();
  REQUIRE(parsed.tensors.size() == 4);
  CHECK(parsed.tensors[0] == st::tensor_info{"a", {zp::dtype_kind::bfloat16, {2}}, 0, 4, {}});
  CHECK(parsed.tensors[1] == st::tensor_info{"b", {zp::dtype_kind::float32, {2, 3}}, 4, 24, {}});
  CHECK(parsed.tensors[2] == st::tensor_info{"none", {zp::dtype_kind::int64, {0, 7}}, 28, 0, {}});
  CHECK(parsed.tensors[3] == st::tensor_info{"scalar", {zp::dtype_kind::uint8, {}}, 28, 1, {}});
  CHECK(parsed.metadata == st::metadata_map{{"format", "pt"}});

  const auto empty = st::detail::parse_header(zp::as_bytes("{}"), 0).value();
  CHECK(empty.tensors.empty());
  CHECK(empty.metadata.empty());
  CHECK(st::detail::parse_header(zp::as_bytes(R"({"__metadata__":null})"), 0)
            .value()
            .metadata.empty());
}

TEST_CASE("safetensors header: what we write reads back, and begins the data aligned") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const random_header made = make_random(random);
    const std::string text = st::detail::dump_header(made.value).value();
    CHECK(text.size() % st::detail::data_alignment == 0);
    const auto bytes = zp::as_bytes(text);
    CHECK(zp::load_le<std::uint64_t>(bytes.data()) == text.size() - 8);
    CHECK(st::detail::parse_header(bytes.subspan(8), made.bytes).value() == made.value);
    CHECK(st::detail::dump_header(made.value).value() == text);
  }
  CHECK(st::detail::dump_header({}).value().substr(8) == "{}" + std::string(54, ' '));
}

TEST_CASE("safetensors header: tensors tile the data, or are refused") {
  const auto at = [](std::string_view offsets) { return entry("b", "U8", "[4]", offsets); };
  const std::string a = "{" + entry("a", "U8", "[4]", "[0,4]") + ",";
  CHECK(st::detail::parse_header(zp::as_bytes(a + at("[4,8]") + "}"), 8));
  CHECK(zp::to_string(refusal(a + at("[5,9]") + "}", 9)) ==
        "corrupt: tensor \"b\": begins at 5 beyond the data before it, which ends at 4");
  CHECK(zp::to_string(refusal(a + at("[3,7]") + "}", 7)) ==
        "corrupt: tensor \"b\": begins at 3 inside the data before it, which ends at 4");
  CHECK(refusal(a + at("[0,4]") + "}", 4).code == zp::errc::corrupt);
  CHECK(zp::to_string(refusal(a + at("[4,8]") + "}", 9)) ==
        "corrupt: 1 bytes after the last tensor");
  CHECK(zp::to_string(refusal(a + at("[4,8]") + "}", 7)) ==
        "corrupt: tensor \"b\": ends at 8, beyond the file's 7 bytes of data");
  CHECK(refusal("{}", 1).message == "1 bytes after the last tensor");
  CHECK(refusal("{" + at("[1,5]") + "}", 5).code == zp::errc::corrupt);
  // An empty tensor has its place too.
  const std::string none = entry("n", "U8", "[0]", "[2,2]");
  CHECK(refusal(a + none + "}", 4).code == zp::errc::corrupt);
}

TEST_CASE("safetensors header: descriptions that do not hold") {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return "{" + entry("x", dtype, shape, offsets) + "}";
  };
  CHECK(zp::to_string(refusal(one("F32", "[3]", "[0,8]"), 8)) ==
        "corrupt: tensor \"x\": 8 bytes are stored, but 12 are needed for float32[3]");
  CHECK(zp::to_string(refusal(one("F4", "[2,3]", "[0,4]"), 4)) ==
        "corrupt: tensor \"x\": 4 bytes are stored, but 3 are needed for float4_e2m1fn[2, 3]");
  CHECK(refusal(one("F6_E2M3", "[3]", "[0,2]"), 2).code == zp::errc::unsupported);
  CHECK(refusal(one("F9", "[8]", "[1,8]"), 8).code == zp::errc::corrupt);
  for (const char* shape :
       {"3", "null", "\"3\"", "[-1]", "[1.0]", "[1e1]", "[true]", "[[1]]", "{}", "[null]"})
    CHECK(refusal(one("U8", shape, "[0,1]"), 1).code == zp::errc::corrupt);
  for (const char* offsets :
       {"0", "[]", "[0]", "[0,1,1]", "[0,-1]", "[0,1.0]", "[1,0]", "[0,\"1\"]", "null"})
    CHECK(refusal(one("U8", "[1]", offsets), 1).code == zp::errc::corrupt);
  // Sizes that overflow on the way to something plausible.
  CHECK(refusal(one("U8", "[4294967296,4294967296]", "[0,0]"), 0).code == zp::errc::out_of_range);
  CHECK(refusal(one("F64", "[2305843009213693952]", "[0,0]"), 0).code == zp::errc::out_of_range);
  CHECK(refusal(one("U8", "[9223372036854775808]", "[0,0]"), 0).code == zp::errc::corrupt);
  CHECK(refusal(one("U8", "[1]", "[0,18446744073709551616]"), 1).code == zp::errc::out_of_range);
  CHECK(refusal(one("U8", "[1]", "[18446744073709551615,18446744073709551615]"), 1).code ==
        zp::errc::corrupt);
  CHECK(refusal(one("U8", "[0]", "[18446744073709551615,18446744073709551615]"), 0).code ==
        zp::errc::corrupt);
  std::string deep = "[1";
  for (int i = 0; i < 32; ++i) deep += ",1";
  CHECK(refusal(one("U8", deep + "]", "[0,1]"), 1).code == zp::errc::unsupported);

  CHECK(refusal(R"({"x":[]})", 0).code == zp::errc::corrupt);
  CHECK(refusal(R"({"x":{"shape":[1],"data_offsets":[0,1]}})", 1).code == zp::errc::corrupt);
  CHECK(refusal(R"({"x":{"dtype":7,"shape":[1],"data_offsets":[0,1]}})", 1).code ==
        zp::errc::corrupt);
  CHECK(refusal(R"({"x":{"dtype":"U8","data_offsets":[0,1]}})", 1).code == zp::errc::corrupt);
  CHECK(refusal(R"({"x":{"dtype":"U8","shape":[1]}})", 1).code == zp::errc::corrupt);
  const auto unknown =
      refusal(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"order":"F"}})", 1);
  CHECK(unknown.code == zp::errc::unsupported);
  CHECK(unknown.message.find("order") != std::string::npos);
}

TEST_CASE("safetensors header: a dtype that is none of ours keeps no other tensor away") {
  const std::string text =
      "{" + entry("a", "F9", "[2,3]", "[0,7]") + "," + entry("b", "U8", "[1]", "[7,8]") + "}";
  const st::header read = st::detail::parse_header(zp::as_bytes(text), 8).value();
  REQUIRE(read.tensors.size() == 2);
  CHECK(read.tensors[0] == st::tensor_info{"a", {{}, {2, 3}}, 0, 7, "F9"});
  CHECK(read.tensors[1] == st::tensor_info{"b", {zp::dtype_kind::uint8, {1}}, 7, 1, {}});
}

TEST_CASE("safetensors header: texts that are not a header") {
  for (const char* text :
       {"", " {}", "\xef\xbb\xbf{}", "[]", "null", "{", "{}}", "{} x", "{\"a\"}", "\"{}\"",
        "{\"__metadata__\":3}", "{\"__metadata__\":{\"a\":1}}", "{\"__metadata__\":[]}",
        "{\"\xff\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"})
    CHECK(refusal(text, 0).code == zp::errc::corrupt);
  CHECK(refusal(std::string_view("{}\0", 3), 0).code == zp::errc::corrupt);
  CHECK(refusal("{\"__metadata__\":{\"a\":NaN}}", 0).code == zp::errc::corrupt);

  const std::string x = entry("x", "U8", "[0]", "[0,0]");
  const auto twice = refusal("{" + x + "," + x + "}", 0);
  CHECK(twice.code == zp::errc::corrupt);
  CHECK(twice.message.find("duplicate key \"x\"") != std::string::npos);
  // The same key by another spelling, and keys deeper down.
  CHECK(refusal("{" + x + "," + entry("\\u0078", "U8", "[0]", "[0,0]") + "}", 0).code ==
        zp::errc::corrupt);
  CHECK(refusal(R"({"__metadata__":{"a":"1","a":"2"}})", 0).code == zp::errc::corrupt);
  CHECK(refusal(R"({"x":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0).code ==
        zp::errc::corrupt);
  CHECK(!st::detail::parse_header(zp::as_bytes(std::string(100, '[')), 0));
  CHECK(!st::detail::parse_header(zp::as_bytes("{\"a\":" + std::string(100000, '[')), 0));
}

TEST_CASE(
    "safetensors header: no prefix and no flipped bit of one crashes, or changes what it tiles") {
  std::mt19937 random(7);
  random_header made = make_random(random);
  while (made.value.tensors.size() < 3) made = make_random(random);
  const std::string good = st::detail::dump_header(made.value).value().substr(8);
  const std::size_t json = good.find_last_not_of(' ') + 1;
  for (std::size_t n = 0; n < json; ++n)
    CHECK(!st::detail::parse_header(zp::as_bytes(good.substr(0, n)), made.bytes));
  for (std::size_t bit = 0; bit < json * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const auto parsed = st::detail::parse_header(zp::as_bytes(bad), made.bytes);
    if (!parsed) continue;  // a flipped letter of a name is another name
    std::uint64_t end = 0;
    for (const st::tensor_info& each : parsed->tensors) {
      CHECK(each.offset == end);
      if (each.spec.type.valid())
        CHECK(each.bytes == st::detail::stored_byte_count(each.spec).value());
      end += each.bytes;
    }
    CHECK(end == made.bytes);
  }
}

TEST_CASE("safetensors header: what cannot be said is not written") {
  const auto refused = [](st::header from) {
    const auto text = st::detail::dump_header(from);
    REQUIRE(!text);
    return text.failure().code;
  };
  const zp::tensor_spec byte{zp::dtype_kind::uint8, {1}};
  CHECK(refused({{{"a", byte, 0, 1}, {"b", byte, 1, 1}, {"a", byte, 2, 1}}, {}}) ==
        zp::errc::invalid_argument);
  CHECK(refused({{{"__metadata__", byte, 0, 1}}, {}}) == zp::errc::invalid_argument);
  CHECK(refused({{{"\xff", byte, 0, 1}}, {}}) == zp::errc::invalid_argument);
  CHECK(refused({{}, {{"a", "\xc0\x80"}}}) == zp::errc::invalid_argument);
  CHECK(refused({{}, {{"\xed\xa0\x80", "a"}}}) == zp::errc::invalid_argument);
  CHECK(refused({{{"s", {zp::dtype_kind::string, {1}}, 0, 0}}, {}}) == zp::errc::unsupported);
  CHECK(refused({{{"c", {zp::dtype_kind::complex128, {1}}, 0, 16}}, {}}) == zp::errc::unsupported);
  CHECK(refused({{}, {{"big", std::string(100'000'000, 'x')}}}) == zp::errc::resource_limit);
}
