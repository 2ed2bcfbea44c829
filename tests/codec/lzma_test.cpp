// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/bytes_to_bytes/lzma.hpp>

#include "support/codec_bytes.hpp"
#include "support/refused_memory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace lzma_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

namespace {

const byte_string sample = text_bytes("one two one two one two one two one two");
constexpr std::int64_t lzma1 = 0x4000000000000001;

json delta_and_lzma2() {
  return json::array{json::object{{"id", 3}, {"dist", 4}},
                     json::object{{"id", 0x21}, {"preset", 1}}};
}
json lzma1_alone() {
  return json::array{
      json::object{{"id", lzma1}, {"dict_size", 65536}, {"lc", 3}, {"lp", 0}, {"pb", 2}}};
}

const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                       {zp::dtype_kind::string, {9}}};

const std::string xz_hex =
    "fd377a585a000004e6d6b4460200210116000000742fe5a3e00026000f5d00379b88ce76e2f4e1bfa4f5b562000000"
    "00"
    "de7dcaf7b2de727500012b2729fdfcf31fb6f37d010000000004595a";

}  // namespace

// Each configuration, with what numcodecs 0.16.6 writes for it.
TEST_CASE("lzma: bytes") {
  const std::pair<json, std::string> table[] = {
      {json(), xz_hex},
      {json::object{{"check", 0}},
       "fd377a585a000000ff12d9410200210116000000742fe5a3e00026000f5d00379b88ce76e2f4e1bfa4f5b562000"
       "0"
       "0000000123272177253b06729e7a010000000000595a"},
      {json::object{{"check", 1}},
       "fd377a585a0000016922de360200210116000000742fe5a3e00026000f5d00379b88ce76e2f4e1bfa4f5b562000"
       "0"
       "00005014481e0001272725b2495f9042990d010000000001595a"},
      {json::object{{"check", 10}, {"preset", 9}},
       "fd377a585a00000ae1fb0ca1020021011c00000010cf58cce00026000f5d00379b88ce76e2f4e1bfa4f5b562000"
       "0"
       "00006c26b4facf3c190e081d9fe19896bba3d3aa2ffe6369268497af85dcf92032ed00014327861cd85e189b4b9"
       "a"
       "01000000000a595a"},
      {json::object{{"format", 2}},
       "5d00008000ffffffffffffffff00379b88ce76e2f4e1bfa4f5da29a7ffffeeb58000"},
      {json::object{{"format", 2}, {"preset", 1}},
       "5d00001000ffffffffffffffff00379b88ce76e2f4e1bfa4f5da29a7ffffeeb58000"},
      {json::object{{"format", 3}, {"filters", delta_and_lzma2()}},
       "e0002600135d00379b88ce72f930193fbcad5ff7da1c8e73800000"},
      {json::object{{"format", 3}, {"filters", lzma1_alone()}},
       "00379b88ce76e2f4e1bfa4f5da29a7ffffeeb58000"},
      {json::object{{"filters", delta_and_lzma2()}},
       "fd377a585a000004e6d6b4460201030103210110a22a1215e0002600135d00379b88ce72f930193fbcad5ff7da1"
       "c"
       "8e7380000000de7dcaf7b2de727500012f272d3890971fb6f37d010000000004595a"},
  };
  for (const auto& [configuration, hex] : table) {
    CAPTURE(hex);
    const auto codec = codec_of<zp::lzma_codec>(configuration);
    CHECK(to_hex(encoded_by(codec, sample)) == hex);
    CHECK(decoded_by(codec, from_hex(hex), sample.size()).value() == sample);
    CHECK(decoded_by(codec, from_hex(hex), sample.size() - 1).failure().code ==
          zp::errc::out_of_range);
    const byte_string whole = from_hex(hex);
    for (std::size_t size = 0; size < whole.size(); ++size)
      CHECK(decoded_by(codec, zp::bytes_view(whole).first(size), sample.size()).failure().code ==
            zp::errc::corrupt);
    byte_string longer = whole;
    longer.push_back(std::byte{0});
    CHECK(decoded_by(codec, longer, sample.size()).failure().code == zp::errc::corrupt);
  }
}

TEST_CASE("lzma: conformance") {
  codec_conformance(zp::lzma_codec{}, few);
  codec_conformance(codec_of<zp::lzma_codec>(json::object{{"format", 2}, {"preset", 0}}), few);
  codec_conformance(
      codec_of<zp::lzma_codec>(json::object{{"format", 3}, {"filters", lzma1_alone()}}), few);
  codec_conformance(
      codec_of<zp::lzma_codec>(json::object{{"format", 3}, {"filters", delta_and_lzma2()}}), few);
}

TEST_CASE("lzma: a .xz stream tells its filters, whatever the metadata say") {
  const auto codec = codec_of<zp::lzma_codec>(json::object{{"filters", delta_and_lzma2()}});
  CHECK(decoded_by(codec, from_hex(xz_hex), sample.size()).value() == sample);
  const std::string twice = xz_hex + xz_hex;
  CHECK(decoded_by(codec, from_hex(twice), 2 * sample.size()).value().size() == 2 * sample.size());
}

TEST_CASE("lzma: a bomb, and a dictionary that nothing needs") {
  const byte_string bomb = encoded_by(zp::lzma_codec{}, byte_string(10'000'000));
  CHECK(bomb.size() < 5000);
  CHECK(decoded_by(zp::lzma_codec{}, bomb, 1000).failure().code == zp::errc::out_of_range);
  // "alone", with a dictionary of 1 GiB.
  byte_string large =
      from_hex("5d00008000ffffffffffffffff00379b88ce76e2f4e1bfa4f5da29a7ffffeeb58000");
  large[4] = std::byte{0x40};
  large[3] = std::byte{0};
  const auto alone = codec_of<zp::lzma_codec>(json::object{{"format", 2}});
  CHECK(decoded_by(alone, large, sample.size()).failure().code == zp::errc::resource_limit);
}

TEST_CASE("lzma: options") {
  const auto refused = [](const json& configuration) {
    const auto made = zp::make_codec<zp::lzma_codec>(configuration);
    CHECK_FALSE(made);
  };
  refused(json::object{{"format", 0}});
  refused(json::object{{"format", 4}});
  refused(json::object{{"format", 3}});
  refused(json::object{{"check", 16}});
  refused(json::object{{"preset", 10}});
  refused(json::object{{"preset", 1}, {"filters", delta_and_lzma2()}});
  refused(json::object{{"format", 2}, {"filters", delta_and_lzma2()}});
  refused(json::object{{"filters", "lzma2"}});
  refused(json::object{{"filters", json::array{}}});
  refused(json::object{{"filters", json::array{json::object{{"dist", 1}}}}});
  refused(json::object{{"filters", json::array{json::object{{"id", 1}}}}});
  refused(json::object{{"filters", json::array{json::object{{"id", 3}, {"dist", 257}}}}});
  refused(json::object{{"filters", json::array{json::object{{"id", 0x21}, {"lc", 4}, {"lp", 1}}}}});
  refused(json::object{{"filters", json::array{json::object{{"id", 0x21}, {"dict_size", 1}}}}});
  refused(json::object{{"filters", json::array{json::object{{"id", 0x21}, {"mf", 7}}}}});
  CHECK(zp::make_codec<zp::lzma_codec>(json::object{
      {"filters",
       json::array{
           json::object{{"id", 4}, {"start_offset", 16}},
           json::object{{"id", 0x21}, {"mode", 1}, {"mf", 3}, {"nice_len", 64}, {"depth", 8}}}}}));
  const json extreme = json::object{{"preset", std::int64_t{0x80000009}}};
  CHECK(zp::make_codec<zp::lzma_codec>(extreme));
  CHECK(zp::lzma_codec{}.encoded_bound(UINT64_MAX) == UINT64_MAX);
}

TEST_CASE("lzma: memory that the budget refuses is told in bytes") {
  check_refusals(zp::lzma_codec{});
}

}  // namespace lzma_test
