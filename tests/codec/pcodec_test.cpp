// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/pcodec/pco_stream.hpp>
#include <zarrpoint/codec/pcodec/pcodec.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/codec_bytes.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pcodec_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;
using zp::detail::pco_plan;
using zp::detail::pco_writer;

namespace {

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/pcodec/";

/// A file of pcodec and its elements.
struct file {
  std::string name;
  zp::tensor_spec spec;
  byte_string stored;
  byte_string elements;
};

std::vector<file> files() {
  std::vector<file> out;
  const std::string index_text = test::read_file(golden + "index.json");
  const json index = zp::parse_json(zp::as_bytes(index_text)).value();
  for (const json::member& one : *index.if_object()) {
    const zp::dtype type = zp::parse_dtype(*one.value.find("dtype")->if_string()).value();
    const zp::index_t count = *one.value.find("count")->to_int64();
    out.push_back({one.key,
                   {type, {count}},
                   text_bytes(test::read_file(golden + one.key + ".pco")),
                   text_bytes(test::read_file(golden + one.key + ".bin"))});
  }
  return out;
}

/// Within `budget` bytes beside the elements.
zp::result<byte_string> decoded(zp::bytes_view stored, const zp::tensor_spec& spec,
                                std::size_t budget = std::size_t{2} << 20) {
  // Of exactly its size, so that a sanitizer sees what reads behind it.
  const byte_string exact(stored.begin(), stored.end());
  zp::limited_resource memory(budget);
  zp::codec_workspace scratch(memory);
  guarded_bytes out(zp::byte_count(spec).value());
  const zp::result<void> status =
      zp::pcodec_codec{}.decode(exact, zp::dense_view(out.bytes().data(), spec), scratch);
  REQUIRE(out.intact());
  if (!status) return zp::error(status.failure());
  return copy_of(out.bytes());
}

byte_string encoded(const zp::pcodec_codec& codec, const byte_string& elements,
                    const zp::tensor_spec& spec) {
  zp::codec_workspace scratch;
  byte_string out(codec.encoded_bound(spec));
  out.resize(codec.encode(zp::dense_view(elements.data(), spec), out, scratch).value());
  return out;
}

template <class T>
byte_string bytes_of(const std::vector<T>& values) {
  byte_string out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

/// A file of format 4 with one chunk of `count` numbers of type `code`, whose rest `write` says.
byte_string crafted(unsigned code, std::uint64_t count,
                    const std::function<void(pco_writer&)>& write) {
  byte_string out(1 << 16);
  pco_writer to(out.data());
  to.write(0x216f6370, 32);
  to.write(3, 8);  // of the file
  to.write(code, 8);
  to.write(0, 6 + 1);
  to.align();
  to.write(0x0104, 16);  // 4.1
  to.write(code, 8);
  to.write(count - 1, 24);
  write(to);
  to.align();
  out.resize(to.size() + 1);
  return out;
}

/// What is said of numbers that are one uint32 with such metadata.
std::string refusal(const std::function<void(pco_writer&)>& write, std::size_t budget = 1 << 20) {
  const auto made = decoded(crafted(1, 1, write), {zp::dtype_kind::uint32, {1}}, budget);
  REQUIRE_FALSE(made);
  CHECK(made.failure().code == (budget < 1000 ? zp::errc::resource_limit : zp::errc::corrupt));
  return made.failure().message;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("pcodec: files of pcodec 0.1 to 1.1, of all modes, deltas and types") {
  const std::vector<file> all = files();
  CHECK(all.size() == 19);
  for (const file& one : all) {
    CAPTURE(one.name);
    const auto back = decoded(one.stored, one.spec);
    REQUIRE_MESSAGE(back, zp::to_string(back.failure()));
    CHECK(*back == one.elements);
  }
}

TEST_CASE("pcodec: damaged files are refused or give other numbers, within a budget") {
  for (const file& one : files()) {
    CAPTURE(one.name);
    for_each_damage(one.stored, [&](const byte_string& damaged) {
      const auto made = decoded(damaged, one.spec);
      if (damaged.size() < one.stored.size()) REQUIRE_FALSE(made);
      if (made) return;
      const zp::errc code = made.failure().code;
      REQUIRE((code == zp::errc::corrupt || code == zp::errc::unsupported));
      REQUIRE_FALSE(made.failure().message.empty());
    });
    zp::tensor_spec more = one.spec;
    ++more.shape[0];
    CHECK(decoded(one.stored, more).failure().code == zp::errc::corrupt);
  }
}

TEST_CASE("pcodec: metadata that cannot be are refused by name") {
  using zp::dtype_kind;
  CHECK(mentions(refusal([](pco_writer& to) { to.write(5, 4); }), "mode 5"));
  CHECK(mentions(refusal([](pco_writer& to) { to.write(2, 4); }), "a mode of other numbers"));
  CHECK(mentions(refusal([](pco_writer& to) { to.write(1, 4 + 32); }), "a multiplier that is 0"));
  CHECK(mentions(refusal([](pco_writer& to) { to.write(7 << 4, 8); }), "delta encoding 7"));
  CHECK(mentions(refusal([](pco_writer& to) { to.write(1 << 4, 8 + 4); }), "deltas of order 0"));
  CHECK(mentions(refusal([](pco_writer& to) { to.write(2 << 4, 8), to.write(31, 10); }),
                 "a window of 2^32 numbers"));
  const auto table = [](unsigned log, unsigned bins) {
    return refusal([&](pco_writer& to) {
      to.write(0, 8);
      to.write(log, 4);
      to.write(bins, 15);
      for (int i = 0; i < 200; ++i) to.write(0, 64);
    });
  };
  CHECK(mentions(table(15, 2), "2 bins in a table of 32768 states"));
  CHECK(mentions(table(14, 32767), "32767 bins in a table of 16384 states"));
  CHECK(mentions(table(3, 1), "1 bins in a table of 8 states"));
  CHECK(mentions(table(14, 16384), "truncated"));
  CHECK(mentions(table(4, 5), "the weights of its bins"));
  CHECK(mentions(table(0, 0), "numbers without a bin"));
  CHECK(mentions(refusal([](pco_writer& to) {
                   to.write(0, 8);
                   to.write(1 << 4, 19);
                   to.write(0, 32);
                   to.write(33, 6);
                 }),
                 "33 bits of an offset of 32"));
  const auto dictionary = [](pco_writer& to) { to.write(4 | 0x1ffffffU << 4, 29); };
  CHECK(mentions(refusal(dictionary), "shorter than its dictionary"));
  CHECK(refusal([](pco_writer& to) { to.write(0, 64); }, 8).starts_with("cannot allocate "));

  const byte_string many = crafted(1, 1 << 24, [](pco_writer& to) { to.write(0, 64); });
  CHECK(mentions(decoded(many, {dtype_kind::uint32, {4}}).failure().message,
                 "more numbers than expected"));
  const byte_string other = crafted(5, 1, [](pco_writer& to) { to.write(0, 64); });
  CHECK(mentions(decoded(other, {dtype_kind::uint32, {1}}).failure().message,
                 "a chunk of numbers of type 5 instead of 1"));
  CHECK(mentions(decoded(text_bytes("pco?"), {dtype_kind::uint32, {1}}).failure().message,
                 "not a stream of pcodec"));
  for (const char* later : {"70636f21 04", "70636f21 02 00 05"}) {
    const auto made = decoded(from_hex(later), {dtype_kind::uint32, {0}});
    CHECK(made.failure().code == zp::errc::unsupported);
  }
}

TEST_CASE("pcodec: a table of the most states is decoded within its budget") {
  const byte_string two = crafted(1, 256, [](pco_writer& to) {
    to.write(0, 8);
    to.write(14, 4);
    to.write(2, 15);
    for (const unsigned weight : {1U, 16383U}) {
      to.write(weight - 1, 14);
      to.write(weight, 32);
      to.write(0, 6);
    }
    to.align();
    to.write(0, 4 * 14);
    to.align();
    for (int i = 0; i < 64; ++i) to.write(0, 56);
  });
  const zp::tensor_spec spec{zp::dtype_kind::uint32, {256}};
  CHECK(decoded(two, spec, 100).failure().code == zp::errc::resource_limit);
  // State 0 is the one of the first bin, and zeros lead to it again.
  CHECK(decoded(two, spec, 130 << 10).value() == bytes_of(std::vector<std::uint32_t>(256, 1)));
}

TEST_CASE("pcodec: conformance") {
  zp::pcodec_codec codec;
  codec_conformance(codec);
  codec.level = 0;
  codec.equal_pages_up_to = 5;
  codec.delta_spec = zp::pcodec_codec::delta::try_consecutive;
  codec.delta_encoding_order = 3;
  codec_conformance(codec, {{zp::dtype_kind::int16, {7, 3}}, {zp::dtype_kind::float64, {2, 2}}});
}

TEST_CASE("pcodec: numbers of several bins come back, and are shorter") {
  random_source random(5);
  for (const zp::dtype_kind kind : {zp::dtype_kind::uint8, zp::dtype_kind::int16,
                                    zp::dtype_kind::int32, zp::dtype_kind::int64}) {
    CAPTURE(zp::to_string(zp::dtype(kind)));
    const zp::dtype type(kind);
    const zp::tensor_spec spec{type, {30'011}};
    byte_string elements(zp::byte_count(spec).value());
    for (std::size_t i = 0; i < elements.size(); i += type.size()) {
      // Mostly small, some large, few of any size.
      const std::size_t wide = (random() % 100) == 0 ? type.size() : 1;
      for (std::size_t k = 0; k < wide; ++k)
        elements[i + k] = static_cast<std::byte>((random() % 32));
    }
    for (const int order : {-1, 0, 1, 7}) {
      zp::pcodec_codec codec;
      if (order >= 0) codec.delta_encoding_order = order;
      codec.equal_pages_up_to = 10'000;
      const byte_string stored = encoded(codec, elements, spec);
      CHECK(decoded(stored, spec).value() == elements);
      if (order <= 0) CHECK(stored.size() < 30'011);
    }
  }
}

TEST_CASE("pcodec: slow steps are written as deltas, and noise is not longer") {
  std::vector<std::uint64_t> noise(5000);
  random_source random(8);
  std::int64_t at = 0;
  std::vector<std::int64_t> steps(5000);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    at += static_cast<std::int64_t>((random() % 16));
    steps[i] = at * 1'000;
    noise[i] = random();
  }
  const zp::tensor_spec spec{zp::dtype_kind::int64, {5000}};
  CHECK(encoded({}, bytes_of(steps), spec).size() < 5000 * 2);
  zp::pcodec_codec none;
  none.delta_spec = zp::pcodec_codec::delta::none;
  CHECK(encoded(none, bytes_of(steps), spec).size() > 5000 * 2);
  CHECK(encoded({}, bytes_of(noise), spec).size() < 5000 * 8 + 200);
}

TEST_CASE("pcodec: the configuration is that of numcodecs") {
  const char* const text =
      R"({"level":3,"mode_spec":"classic","delta_spec":"try_consecutive",)"
      R"("paging_spec":"equal_pages_up_to","delta_encoding_order":2,"equal_pages_up_to":1000})";
  const json told = zp::parse_json(zp::as_bytes(text)).value();
  CHECK(zp::configuration_of(codec_of<zp::pcodec_codec>(told)) == told);
  CHECK(zp::configuration_of(codec_of<zp::pcodec_codec>(json{})) ==
        zp::configuration_of(zp::pcodec_codec{}));
  CHECK_FALSE(zp::make_codec<zp::pcodec_codec>(json(json::object{{"levels", 3}})));
  // What only another writer knows is read with and kept, and nothing is written so.
  const zp::tensor_spec spec{zp::dtype_kind::int64, {300}};
  std::vector<std::int64_t> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i);
  const byte_string elements = bytes_of(values);
  const byte_string stored = encoded({}, elements, spec);
  const std::pair<const char*, const char*> foreign[] = {
      {R"({"level":13})", "level"},
      {R"({"delta_spec":"no_op"})", "delta_spec"},
      {R"({"mode_spec":"try_dict"})", "\"mode_spec\" is \"try_dict\", not \"auto\" or \"classic\""},
      {R"({"delta_spec":1})", "delta_spec"},
      {R"({"paging_spec":"exact"})", "paging_spec"},
      {R"({"delta_encoding_order":8})", "delta_encoding_order"},
      {R"({"equal_pages_up_to":0})", "equal_pages_up_to"},
  };
  for (const auto& [members, part] : foreign) {
    CAPTURE(members);
    const json given = zp::parse_json(zp::as_bytes(members)).value();
    const auto codec = codec_of<zp::pcodec_codec>(given);
    CHECK(zp::configuration_of(codec) == given);
    byte_string room(codec.encoded_bound(spec));
    zp::codec_workspace scratch;
    REQUIRE(codec.decode(stored, zp::dense_view(room.data(), spec), scratch));
    CHECK(byte_string(room.begin(), room.begin() + 2400) == elements);
    const auto written = codec.encode(zp::dense_view(elements.data(), spec), room, scratch);
    CHECK(mentions(written.failure().message, part));
  }
  for (const zp::dtype_kind kind : {zp::dtype_kind::bool_, zp::dtype_kind::bfloat16})
    CHECK(zp::pcodec_codec{}.resolve({kind, {3}}).failure().code == zp::errc::unsupported);
  CHECK(zp::pcodec_codec{}.encoded_bound({zp::dtype_kind::bool_, {3}}) == UINT64_MAX);
}

}  // namespace pcodec_test
