// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/handlers.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/interop/orbax/orbax_format.hpp>
#include <zarrpoint/interop/orbax/orbax_msgpack.hpp>
#include <zarrpoint/interop/orbax/orbax_store.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <complex>
#include <filesystem>
#include <string>
#include <vector>

namespace orbax_aggregate_test {

using namespace zarrpoint;
using namespace std::string_literals;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/orbax/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

/// What `checkpoint` holds, alone in a directory.
result<orbax::tree_store> tree_of(const std::string& file) {
  memory_store out;
  out.put(key("x/checkpoint"), as_bytes(file)).value();
  return orbax::tree_store::open(out, key("x"));
}

bool fails(const std::string& file, std::string_view text) {
  const auto opened = tree_of(file);
  if (opened) return false;
  INFO(to_string(opened.failure()));
  return opened.failure().message.find(text) != std::string::npos;
}

/// A text shorter than 32 bytes.
std::string text(std::string_view of) {
  return static_cast<char>(0xa0 + of.size()) + std::string(of);
}

/// Flax's extension for an array: of rank 1 and `length` elements.
std::string array(char length, const std::string& type, const std::string& elements) {
  const std::string inner =
      "\x93\x91"s + length + text(type) + "\xc4"s + static_cast<char>(elements.size()) + elements;
  return "\xc7"s + static_cast<char>(inner.size()) + "\x01" + inner;
}

std::string one(const std::string& value) { return "\x81" + text("a") + value; }

TEST_CASE("orbax: values of every kind that Orbax kept in msgpack") {
  const auto from = open(golden + "aggregate", {.stores = formats<orbax::format>()}).value();
  CHECK(from.names() == std::vector<std::string>{"b", "big", "c/a", "c/h", "flag", "list/0",
                                                 "list/1", "lr", "mask", "n", "name", "neg", "step",
                                                 "tup/0", "tup/1", "w", "z", "zero"});
  CHECK(from.empty_groups() == std::vector<std::string>{"none"});
  CHECK(from.load<std::vector<std::int64_t>>("c/a", box({1, 0}, {1, 3})).value() ==
        std::vector<std::int64_t>{12, 15, 18});
  CHECK(from.load<std::vector<bfloat16>>("c/h").value() ==
        std::vector<bfloat16>{bfloat16(0), bfloat16(1), bfloat16(2), bfloat16(3), bfloat16(4)});
  CHECK(from.load<bool>("flag").value());
  CHECK(from.load<std::int64_t>("step").value() == 7);
  CHECK(from.load<std::uint64_t>("big").value() == (std::uint64_t{1} << 63) + 5);
  CHECK(from.load<std::int64_t>("neg").value() == -300);
  CHECK(from.load<double>("lr").value() == 0.1);
  CHECK(from.load<std::complex<double>>("z").value() == std::complex<double>(1, 2));
  CHECK(from.load<float>("n").value() == 2.5F);
  CHECK(from.load<std::string>("name").value() == "gemma");
  CHECK(from.load<std::int64_t>("list/0").value() == 1);
  CHECK(from.load<std::vector<std::uint8_t>>("list/1").value() ==
        std::vector<std::uint8_t>{0, 1, 2});
  CHECK(from.load<std::int16_t>("tup/0").value() == -3);
  CHECK(from.load<tensor>("zero").value().spec().shape == dims{0, 3});
  // Arrays that lie beside the file.
  CHECK(from.load<std::vector<float>>("w", box({0, 0}, {2, 3})).value() ==
        std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(from.load<std::vector<std::int64_t>>("b").value() == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("orbax: _METADATA says which leaves are in msgpack") {
  const test::temp_directory made;
  fs::copy(golden + "aggregate", made / "c", fs::copy_options::recursive);
  const auto write = [&](const std::string& metadata) {
    test::write_file(made / "c/_METADATA", R"({"tree_metadata":{)" + metadata + "}}");
    return open(made / "c", {.stores = formats<orbax::format>()});
  };
  const auto leaf = [](const std::string& name, const char* type, const char* skipped) {
    return '"' + name + R"(":{"key_metadata":[{"key":")" + name +
           R"("}],"value_metadata":{"value_type":")" + type + R"(","skip_deserialize":)" + skipped +
           "}}";
  };
  const auto some = write(leaf("w", "np.ndarray", "false") + ',' + leaf("step", "scalar", "true") +
                          ',' + leaf("name", "string", "true"));
  REQUIRE(some);
  CHECK(some->names() == std::vector<std::string>{"name", "step", "w"});
  CHECK(some->load<std::int64_t>("step").value() == 7);
  CHECK(some->load<std::string>("name").value() == "gemma");
  CHECK(some->load<tensor>("w").value().spec().shape == dims{2, 3});
  const auto lost = write(leaf("other", "np.ndarray", "true"));
  REQUIRE(lost);
  CHECK(lost->load<tensor>("other").failure().code == errc::corrupt);
  // A TensorFlow checkpoint has a text of that name.
  fs::remove(made / "c/_METADATA");
  test::write_file(made / "c/checkpoint", "model_checkpoint_path: \"a\"\n");
  CHECK(!open(made / "c", {.stores = formats<orbax::format>()}));
}

TEST_CASE("orbax: an array that msgpack has in pieces") {
  const std::string piece = array(2, "int16", "\1\0\2\0"s), last = array(1, "int16", "\3\0"s);
  const auto pieces = [&](const std::string& shape, const std::string& chunks) {
    return one("\x83\xb9__msgpack_chunked_array__\xc3" + text("shape") + shape + text("chunks") +
               chunks);
  };
  const std::string shape = "\x82" + text("0") + "\x03" + text("1") + "\x01";
  const std::string both = "\x82" + text("0") + piece + text("1") + last;
  const auto from = open(tree_of(pieces(shape, both)).value()).value();
  CHECK(from.load<std::vector<std::int16_t>>("a", box({0, 0}, {3, 1})).value() ==
        std::vector<std::int16_t>{1, 2, 3});
  CHECK(from.load<std::vector<std::int16_t>>("a", box({1, 0}, {2, 1})).value() ==
        std::vector<std::int16_t>{2, 3});
  CHECK(fails(pieces(shape, "\x81" + text("0") + piece), "not all of it"));
  CHECK(fails(pieces(shape, "\x82" + text("0") + piece + text("2") + last), "not in order"));
  CHECK(fails(pieces(shape, "\x82" + text("0") + piece + text("1") + array(2, "int8", "ab")),
              "several types"));
  CHECK(fails(pieces(both, shape), "shape"));
  CHECK(fails(pieces(shape, "\x80"), "type"));
  CHECK(fails(pieces(shape, "\xdf\xff\xff\xff\xff"), "more elements"));
}

TEST_CASE("orbax: damaged and hostile msgpack") {
  CHECK(tree_of(one("\x07")));
  CHECK(fails("", "ends within"));
  for (const char* cut : {"\x81", "\x81\xa1",
                          "\x81\xa1"
                          "a",
                          "\x81\xa1"
                          "a\xcb\1",
                          "\x81\xd9"})
    CHECK(!tree_of(cut));
  CHECK(fails(one("\x07") + "x", "something follows"));
  CHECK(fails(one("\xc1"), "begins no value"));
  CHECK(fails(one("\xc4\x01x"), "a leaf of bytes"));
  CHECK(fails(one("\xd9\xff"
                  "abc"),
              "longer than what is left"));
  CHECK(fails(one("\xa1\xff"), "not UTF-8"));
  CHECK(fails(one("\xdf\xff\xff\xff\xff"), "more elements"));
  CHECK(fails(one("\xdd\xff\xff\xff\xff"), "more elements"));
  CHECK(fails(one("\xc9\xff\xff\xff\xff\x01"), "longer than what is left"));
  CHECK(fails(one("\xd4\x07\x01"), "extension of type 7"));
  CHECK(fails(one("\xd4\x04\x01"), "tuple"));
  CHECK(fails(one("\xd4\x02\x01"), "complex"));
  CHECK(fails(one("\xd4\x01\x90"), "an array lacks"));
  CHECK(fails(one(array(2, "int16", "abc")), "an array of 4 bytes has 3"));
  CHECK(fails(one(array(2, "object", "abc")), "\"object\""));
  CHECK(fails(one(array(2, "string", "ab")), "\"string\""));
  CHECK(fails(one(array('\xff', "int8", "ab")), "shape"));
  CHECK(fails(one("\xc7\x04\x01" + array(1, "int8", "a").substr(3)), "what is left"));
  CHECK(fails("\x81\x01\x02", "a key that is not a text"));
  CHECK(fails("\x82" + text("a") + "\x01" + text("a") + "\x02", "two leaves have the name \"a\""));
  for (const char* bad : {"..", "a\\b", "/x"})
    CHECK(tree_of("\x81" + text(bad) + array(1, "int8", "a")));
  std::string deep;
  for (int i = 0; i < 80; ++i) deep += "\x91";
  CHECK(fails(one(deep + "\x01"), "nested too deep"));
  CHECK(fails("\x81\xda\x08\x01" + std::string(2049, 'a') + "\x01", "more than 1024"));
  std::string names = "\x01";
  for (int i = 0; i < 3; ++i) names = "\x81\xda\x02\x01" + std::string(513, 'a') + names;
  CHECK(fails(names, "path of more than 1024"));
  // So many that they would not have room are refused before they are read: the last is damaged.
  const std::string many(std::size_t{1} << 20, '\1');
  CHECK(fails(one("\xdd\x00\x10\x00\x00"s + many), "take more than"));
  CHECK(fails(one("\xdd\x00\x10\x00\x00"s + many.substr(1) + '\xc1'), "take more than"));
  CHECK(fails(one("\xdd\x00\x00\x00\x02\x01\xc1"s), "begins no value"));
  // Shapes whose sizes overflow.
  const std::string wide = "\xcf\x40"s + std::string(7, '\0');
  const std::string inner = "\x93\x92" + wide + wide + text("int8") + "\xc4\0"s;
  CHECK(fails(one("\xc7"s + static_cast<char>(inner.size()) + "\x01" + inner), "too large"));
}

TEST_CASE("orbax: msgpack by its values, within limits") {
  memory_store out;
  const std::string bytes = "\x92\xa1q\xc7\x02\x05\x01\x02";
  out.put(key("f"), as_bytes(bytes)).value();
  const auto file = out.open(key("f")).value();
  orbax::detail::msgpack_input in(*file);
  const auto head = in.head().value();
  CHECK(head.kind == orbax::detail::msgpack_kind::array);
  CHECK(head.number == 2);
  CHECK(in.short_text(1).value() == "q");
  CHECK(in.head().value().extension == 5);
  CHECK(!in.within(2, [&] { return in.skip(1); }));
  CHECK(!in.count(std::uint64_t{1} << 60));
  CHECK(in.count(std::uint64_t{100} << 20));
  CHECK(in.check_room(std::uint64_t{27} << 20));
  CHECK(!in.check_room((std::uint64_t{28} << 20) + 1));
  CHECK(!in.check_room(UINT64_MAX));
}

TEST_CASE("orbax: a value of msgpack is read however wide it is written") {
  for (const auto& [bytes, value] : std::initializer_list<std::pair<std::string, std::int64_t>>{
           {"\x7f", 127},
           {"\xe0", -32},
           {"\xcc\xff", 255},
           {"\xcd\x01\x02", 258},
           {"\xce\x80\x00\x00\x01"s, 2147483649},
           {"\xcf\x00\x00\x00\x01\x00\x00\x00\x00"s, 4294967296},
           {"\xd0\x80", -128},
           {"\xd1\x80\x00"s, -32768},
           {"\xd2\xff\xff\xff\xfe", -2},
           {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00"s, INT64_MIN}}) {
    INFO(value);
    CHECK(open(tree_of(one(bytes)).value()).value().load<std::int64_t>("a").value() == value);
  }
  const auto real = open(tree_of(one("\xca\x40\x20\x00\x00"s)).value()).value();
  CHECK(real.load<double>("a").value() == 2.5);
  const auto wide = open(tree_of("\xde\x00\x01\xd9\x01"
                                 "a\xdb\x00\x00\x00\x01z"s)
                             .value())
                        .value();
  CHECK(wide.load<std::string>("a").value() == "z");
}

}  // namespace orbax_aggregate_test
