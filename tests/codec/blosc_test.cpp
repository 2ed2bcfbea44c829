// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/blosc.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace blosc_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::blosc_codec;
using zp::blosc_compressor;
using zp::blosc_shuffle;

namespace {

zp::json settings(std::initializer_list<zp::json::member> members) {
  return zp::json(zp::json::object(members));
}

}  // namespace

TEST_CASE("blosc: conformance") {
  codec_conformance(blosc_codec{});
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                         {zp::dtype_kind::complex128, {257}},
                                         {zp::dtype_kind::string, {9}}};
  for (const auto compressor :
       {blosc_compressor::zstd, blosc_compressor::lz4, blosc_compressor::lz4hc,
        blosc_compressor::blosclz, blosc_compressor::snappy}) {
    for (const auto shuffle : {blosc_shuffle::none, blosc_shuffle::bytes, blosc_shuffle::bits}) {
      codec_conformance(blosc_codec{{.compressor = compressor, .level = 1, .shuffle = shuffle}},
                        few);
    }
  }
}

TEST_CASE("blosc: every size of elements, blocks of several sizes") {
  zp::codec_workspace scratch;
  random_source random(12);
  for (const std::size_t type_size : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 17u, 32u, 255u, 256u}) {
    for (const std::size_t block_size : {0u, 1u, 500u, 4096u}) {
      for (const std::size_t size : {0u, 127u, 128u, 1000u, 4097u, 30'011u}) {
        std::vector<std::byte> values = random_bytes(random, size);
        for (std::size_t i = 0; i < size; i += 1 + i % 3) values[i] &= std::byte{1};
        for (const auto shuffle :
             {blosc_shuffle::none, blosc_shuffle::bytes, blosc_shuffle::bits}) {
          for (const auto compressor : {blosc_compressor::zstd, blosc_compressor::lz4}) {
            const blosc_codec codec{{.compressor = compressor,
                                     .level = 1,
                                     .shuffle = shuffle,
                                     .type_size = type_size,
                                     .block_size = block_size}};
            CAPTURE(type_size);
            CAPTURE(block_size);
            CAPTURE(size);
            guarded_bytes stored(codec.encoded_bound(size));
            const std::size_t used = codec.encode(values, stored.bytes(), scratch).value();
            REQUIRE(stored.intact());
            guarded_bytes back(size);
            REQUIRE(codec.decode(stored.bytes().first(used), back.bytes(), scratch).value() ==
                    size);
            REQUIRE(back.intact());
            REQUIRE(copy_of(back.bytes()) == values);
          }
        }
      }
    }
  }
}

TEST_CASE("blosc: the configuration") {
  const zp::json full = settings({{"cname", "lz4hc"},
                                  {"clevel", 9},
                                  {"shuffle", "bitshuffle"},
                                  {"typesize", 4},
                                  {"blocksize", 65536}});
  const blosc_codec codec = zp::make_codec<blosc_codec>(full).value();
  CHECK(codec.compressor == blosc_compressor::lz4hc);
  CHECK(codec.level == 9);
  CHECK(codec.shuffle == blosc_shuffle::bits);
  CHECK(codec.type_size == 4);
  CHECK(codec.block_size == 65536);
  CHECK(zp::configuration_of(codec) == full);
  for (const char* cname : {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"})
    CHECK(zp::make_codec<blosc_codec>(settings({{"cname", cname}})));
  // numcodecs tells the shuffle as a number.
  for (int number = -1; number <= 2; ++number)
    CHECK(zp::make_codec<blosc_codec>(settings({{"shuffle", number}})));
  CHECK(zp::make_codec<blosc_codec>(settings({{"shuffle", 2}}))->shuffle == blosc_shuffle::bits);

  const auto refused = [](const zp::json& configuration) {
    const auto made = zp::make_codec<blosc_codec>(configuration);
    return !made && made.failure().code == zp::errc::invalid_argument;
  };
  CHECK(refused(settings({{"cname", "brotli"}})));
  CHECK(refused(settings({{"cname", 1}})));
  CHECK(refused(settings({{"clevel", 10}})));
  CHECK(refused(settings({{"clevel", -1}})));
  CHECK(refused(settings({{"shuffle", "words"}})));
  CHECK(refused(settings({{"shuffle", 3}})));
  CHECK(refused(settings({{"shuffle", true}})));
  CHECK(refused(settings({{"typesize", -1}})));
  CHECK(refused(settings({{"blocksize", -1}})));
  CHECK(refused(settings({{"nthreads", 1}})));
}

TEST_CASE("blosc: what metadata leave out comes from the dtype") {
  const auto resolved = [](zp::dtype_kind type) {
    return zp::make_codec<blosc_codec>({})->resolve({type, {8}}).value();
  };
  CHECK(resolved(zp::dtype_kind::bfloat16).type_size == 2);
  CHECK(resolved(zp::dtype_kind::bfloat16).shuffle == blosc_shuffle::bytes);
  CHECK(resolved(zp::dtype_kind::complex128).type_size == 16);
  CHECK(resolved(zp::dtype_kind::uint8).type_size == 1);
  CHECK(resolved(zp::dtype_kind::uint8).shuffle == blosc_shuffle::bits);
  CHECK(resolved(zp::dtype_kind::bool_).shuffle == blosc_shuffle::bits);
  CHECK(resolved(zp::dtype_kind::int8).shuffle == blosc_shuffle::none);
  CHECK(resolved(zp::dtype_kind::float8_e4m3fn).shuffle == blosc_shuffle::none);
  CHECK(resolved(zp::dtype_kind::string).type_size == 1);
  const blosc_codec given =
      zp::make_codec<blosc_codec>(settings({{"typesize", 4}, {"shuffle", "noshuffle"}}))
          ->resolve({zp::dtype_kind::float64, {8}})
          .value();
  CHECK(given.type_size == 4);
  CHECK(given.shuffle == blosc_shuffle::none);
}

TEST_CASE("blosc: too much for a frame is refused before any work") {
  zp::codec_workspace scratch;
  const zp::bytes_view huge(static_cast<const std::byte*>(nullptr), std::size_t{0x7ffffff0});
  const auto status = blosc_codec{}.encode(huge, {}, scratch);
  REQUIRE_FALSE(status);
  CHECK(status.failure().code == zp::errc::invalid_argument);
}

TEST_CASE("blosc: among the default codecs; zlib inside names the header to include") {
  const zp::codec_table table = zp::default_codecs::table();
  CHECK(table.make({"blosc"}).value().kind() == zp::codec_kind::bytes_to_bytes);
  CHECK(table.make({"numcodecs.blosc"}).value().name() == "blosc");
  zp::codec_workspace scratch;
  // 200 zeros by c-blosc: zlib, one block.
  const std::vector<std::byte> stored =
      from_hex("02016001c8000000c800000024000000140000000c000000785e6360181e000000c80001");
  std::vector<std::byte> to(200);
  const auto status = blosc_codec{}.decode(stored, to, scratch);
  REQUIRE_FALSE(status);
  CHECK(status.failure().code == zp::errc::unsupported);
  CHECK(status.failure().message.find("<zarrpoint/blosc_zlib.hpp>") != std::string::npos);
}

}  // namespace blosc_test
