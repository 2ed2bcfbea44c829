// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/codec/n5/n5_codec.hpp>

#include "support/array_cases.hpp"
#include "support/load_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace n5_codec_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

const std::filesystem::path golden = ZARRPOINT_TEST_GOLDEN;

context with_all_codecs() {
  context how;
  how.codecs = all_codecs::table();
  how.limit.memory = 1 << 20;
  return how;
}

result<std::vector<std::uint16_t>> read(const recording_store& store) {
  ZARRPOINT_TRY(opened, array::open(store, store_key::root(), with_all_codecs()));
  ZARRPOINT_TRY(values, opened.read(box::whole(opened.spec().shape)));
  std::vector<std::uint16_t> out(60);
  const std::vector<std::string> elements = elements_of(values.view());
  for (std::size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], elements[i].data(), 2);
  return out;
}

recording_store::bytes block(std::vector<std::uint8_t> header, std::size_t elements) {
  recording_store::bytes out;
  for (const std::uint8_t byte : header) out.push_back(std::byte{byte});
  for (std::size_t i = 0; i < elements; ++i) {
    out.push_back(std::byte{0});
    out.push_back(static_cast<std::byte>(100 + i));
  }
  return out;
}

std::string minified(const recording_store::bytes& json) {
  std::string out;
  for (const std::byte byte : json)
    if (const char c = static_cast<char>(byte); c != ' ' && c != '\n') out += c;
  return out;
}

TEST_CASE("n5_default: blocks that tensorstore wrote, padded and truncated") {
  for (const char* const name : {"raw", "gzip", "zstd"}) {
    CAPTURE(name);
    const auto values = read(load_directory(golden / "n5" / name));
    REQUIRE_MESSAGE(values.has_value(), (values ? "" : to_string(values.failure())));
    for (std::size_t i = 0; i < 60; ++i) CHECK((*values)[i] == i);
  }
}

TEST_CASE("n5_default: a smaller block is padded with the fill value, a larger one cut") {
  const recording_store store = load_directory(golden / "n5/raw");
  store.set("0/0/0", block({0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4}, 4));
  const auto values = read(store);
  REQUIRE_MESSAGE(values.has_value(), (values ? "" : to_string(values.failure())));
  CHECK((*values)[0] == 100);
  CHECK((*values)[1] == 101);
  CHECK((*values)[2] == 102);
  CHECK((*values)[3] == 7);
  CHECK((*values)[12] == 7);
  CHECK((*values)[9] == 9);
}

TEST_CASE("n5_default: a block has at most 64 times the elements of its chunk") {
  const recording_store store = load_directory(golden / "n5/raw");
  store.set("0/0/0", block({0, 0, 0, 3, 0, 0, 0, 128, 0, 0, 0, 3, 0, 0, 0, 3}, 64 * 18));
  const auto values = read(store);
  REQUIRE_MESSAGE(values.has_value(), (values ? "" : to_string(values.failure())));
  CHECK((*values)[0] == 100);
  CHECK((*values)[1] == 228);
  store.set("0/0/0", block({0, 0, 0, 3, 0, 0, 0, 129, 0, 0, 0, 3, 0, 0, 0, 3}, 129 * 9));
  const auto refused = read(store);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(refused.failure().message.find("more than 64 times") != std::string::npos);
}

TEST_CASE("n5_default: hostile headers are errors that name codec and chunk") {
  const std::vector<recording_store::bytes> cases{
      block({}, 0),
      block({0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, 0),
      block({0, 1, 0, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3}, 18),
      block({0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3}, 18),
      block({0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3}, 17),
      block({0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3}, 0),
      block({0, 0, 0, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 18),
      block({0, 0, 0, 3, 0, 255, 255, 255, 0, 0, 0, 9, 0, 0, 0, 9}, 18),
  };
  for (const char* const name : {"raw", "zstd"}) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CAPTURE(i);
      const recording_store store = load_directory(golden / "n5" / name);
      store.set("1/0/0", cases[i]);
      const auto values = read(store);
      REQUIRE_FALSE(values);
      const std::string text = to_string(values.failure());
      CAPTURE(text);
      CHECK(text.find("n5_default") != std::string::npos);
      CHECK(text.find("1/0/0") != std::string::npos);
    }
  }
}

TEST_CASE("n5_default: a block of which one byte is another gives values or an error") {
  for (const char* const name : {"raw", "gzip", "zstd"}) {
    CAPTURE(name);
    const recording_store store = load_directory(golden / "n5" / name);
    const recording_store::bytes whole = store.at("2/1/0");
    std::size_t errors = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const unsigned flip : {1U, 0x10U, 0x80U, 0xffU}) {
        recording_store::bytes damaged = whole;
        damaged[i] ^= static_cast<std::byte>(flip);
        store.set("2/1/0", damaged);
        const auto values = read(store);
        if (values) {
          CHECK((*values)[0] == 0);
        } else {
          ++errors;
          CHECK(to_string(values.failure()).find("2/1/0") != std::string::npos);
        }
      }
    }
    CHECK(errors > 4 * 4);  // mode and rank alone
  }
}

TEST_CASE("n5_default: other chains inside are refused when the array is opened") {
  const recording_store store = load_directory(golden / "n5/raw");
  const std::string given = minified(store.at("zarr.json"));
  const std::pair<const char*, const char*> cases[] = {
      {R"("codecs":[{"name":"tr)", R"("chunks":[{"name":"tr)"},
      {R"("name":"transpose")", R"("name":"bytes")"},
      {R"("name":"transpose")", R"("name":3)"},
      {R"("name":"transpose")", R"("label":"transpose")"},
      {R"("name":"transpose")", R"("name":"transpose", "must_understand":false)"},
      {R"("name":"bytes")", R"("name":"n5_default")"},
      {R"("endian":"big")", R"("endian":"little")"},
      {R"({"endian":"big"}})", R"({"endian":"big"}}, "crc32c", "crc32c")"},
      {R"({"endian":"big"}})", R"({"endian":"big"}}, "transpose")"},
      {"[2,1,0]", "[1,2,0]"},
  };
  for (const auto& [from, to] : cases) {
    CAPTURE(from);
    CAPTURE(to);
    std::string text = given;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string_view(from).size(), to);
    recording_store::bytes changed;
    for (const char c : text) changed.push_back(static_cast<std::byte>(c));
    store.set("zarr.json", std::move(changed));
    const auto opened = array::open(store, store_key::root(), with_all_codecs());
    REQUIRE_FALSE(opened);
    CHECK(to_string(opened.failure()).find("n5_default") != std::string::npos);
  }
}

TEST_CASE("n5_default: a table without it says what to include") {
  const auto opened = array::open(load_directory(golden / "n5/raw"), store_key::root(), context());
  REQUIRE_FALSE(opened);
  CHECK(opened.failure().code == errc::unsupported);
  CHECK(opened.failure().message.find("<zarrpoint/codecs.hpp>") != std::string::npos);
}

}}  // namespace n5_codec_test
