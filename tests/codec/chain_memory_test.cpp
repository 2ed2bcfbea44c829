// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc.hpp>
#include <zarrpoint/codec/bz2.hpp>
#include <zarrpoint/codec/chain_memory.hpp>
#include <zarrpoint/codec/default_codecs.hpp>
#include <zarrpoint/codec/gzip.hpp>
#include <zarrpoint/codec/lz4_codec.hpp>
#include <zarrpoint/codec/lzma.hpp>
#include <zarrpoint/codec/shuffle_codec.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

const codec_table& known() {
  static const codec_table table =
      default_codecs::with<gzip_codec, bz2_codec, lzma_codec, lz4_codec, shuffle_codec>::table();
  return table;
}

codec_spec bytes(const char* endian) { return {"bytes", node::object{{"endian", endian}}}; }
codec_spec blosc(const char* cname, int level, const char* shuffle) {
  return {
      "blosc",
      node::object{{"cname", cname}, {"clevel", level}, {"shuffle", shuffle}, {"blocksize", 0}}};
}
codec_spec zstd(int level) { return {"zstd", node::object{{"level", level}, {"checksum", false}}}; }

std::vector<codec_spec> random_chain(random_source& random) {
  std::vector<codec_spec> out;
  if (pick(random, 4) == 0)
    out.push_back({"transpose", node::object{{"order", node::array{node(1), node(0)}}}});
  out.push_back(bytes(pick(random, 4) == 0 ? "big" : "little"));
  const codec_spec shuffle{"numcodecs.shuffle", node::object{{"elementsize", 4}}};
  switch (pick(random, 9)) {
    case 0: break;
    case 1: out.push_back(zstd(static_cast<int>(pick(random, 23)) - 3)); break;
    case 2: out.push_back(blosc("zstd", 1, "shuffle")); break;
    case 3: out.push_back(blosc("zstd", static_cast<int>(pick(random, 10)), "bitshuffle")); break;
    case 4: out.push_back(blosc("lz4", 5, "shuffle")); break;
    case 5: out.push_back({"gzip", node::object{{"level", 5}}}); break;
    case 6: out.insert(out.end(), {shuffle, zstd(1)}); break;
    case 7: out.push_back({"numcodecs.bz2", node::object{{"level", 1}}}); break;
    default: out.push_back({"numcodecs.lz4", node::object{{"acceleration", 1}}});
  }
  if (pick(random, 2) == 0) out.push_back({"crc32c"});
  return out;
}

/// Noise, or what compresses well, or half of each.
std::vector<std::byte> random_content(random_source& random, std::size_t size) {
  std::vector<std::byte> out = random_bytes(random, size);
  const std::size_t kind = pick(random, 3);
  for (std::size_t i = 0; i < size && kind != 0; ++i) {
    if (kind == 1 || i % 4 >= 2) out[i] = static_cast<std::byte>(i / 4096);
  }
  return out;
}

}  // namespace

TEST_CASE("chain_memory: a chain takes no more from a workspace than it says") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    const std::vector<codec_spec> specs = random_chain(random);
    CAPTURE(specs.back().name);
    const tensor_spec spec{
        dtype_kind::float32,
        {1 + static_cast<index_t>(pick(random, 300)), 1 + static_cast<index_t>(pick(random, 300))}};
    const codec_chain chain = codec_chain::resolve(specs, spec, known()).value();
    const bool dense = pick(random, 2) == 0;
    const dims strides = dense ? row_major_strides(spec.shape, 4) : dims{4, 4 * spec.shape[0]};
    const auto content = random_content(random, byte_count(spec).value());
    const host_view view{content.data(), spec.type, spec.shape, strides, {}, {}};

    limited_resource counted(SIZE_MAX);
    std::vector<std::byte> stored;
    {
      codec_workspace scratch(counted);
      for (int round = 0; round < 2; ++round) {
        const bytes_view encoded = chain.encode(view, scratch).value();
        stored.assign(encoded.begin(), encoded.end());
      }
      CHECK(scratch.held() <= counted.in_use());
      // All that stays is told; only the headers of libraries are not.
      CHECK(scratch.held() + 8192 >= counted.in_use());
    }
    CHECK(counted.in_use() == 0);
    CHECK(counted.peak() <= detail::chain_memory::to_encode(chain, view));
    CHECK(detail::chain_memory::to_encode(chain, view) <=
          detail::chain_memory::to_encode(chain, false));
    if (dense)
      CHECK(detail::chain_memory::to_encode(chain, view) ==
            detail::chain_memory::to_encode(chain, true));

    std::vector<std::byte> back(content.size());
    const mutable_host_view into{back.data(), spec.type, spec.shape, strides, {}, {}};
    limited_resource decoding(SIZE_MAX);
    {
      codec_workspace scratch(decoding);
      chain.decode(stored, into, scratch).value();
    }
    CHECK(back == content);
    CHECK(decoding.peak() <= detail::chain_memory::to_decode(chain, into));
    CHECK(detail::chain_memory::to_decode(chain, into) <= detail::chain_memory::to_decode(chain));
  }
}

TEST_CASE("chain_memory: what lies as it is stored takes nothing, and contexts are in it") {
  const tensor_spec spec{dtype_kind::float32, {64, 64}};
  const std::vector<codec_spec> raw{bytes("little")};
  const codec_chain plain = codec_chain::resolve(raw, spec, known()).value();
  CHECK(detail::chain_memory::to_encode(plain, true) == 0);
  CHECK(detail::chain_memory::to_encode(plain, false) == 64 * 64 * 4);
  CHECK(detail::chain_memory::to_decode(plain) == 0);
  const std::vector<codec_spec> hard{bytes("little"), {"numcodecs.lzma", node::object{}}};
  const codec_chain lzma = codec_chain::resolve(hard, spec, known()).value();
  CHECK(detail::chain_memory::to_encode(lzma, true) > std::size_t{64} << 20);
  CHECK(detail::chain_memory::to_decode(lzma) > std::size_t{8} << 20);
}

TEST_CASE("chain_memory: of strings, their texts count where they are there") {
  const tensor_spec spec{dtype_kind::string, {3}};
  const std::vector<codec_spec> specs{{"vlen-utf8"}, zstd(1)};
  const codec_chain chain = codec_chain::resolve(specs, spec, known()).value();
  const std::vector<std::string> texts{std::string(100000, 'a'), "", "b"};
  const host_view view = dense_view(reinterpret_cast<const std::byte*>(texts.data()), spec);
  limited_resource counted(SIZE_MAX);
  {
    codec_workspace scratch(counted);
    chain.encode(view, scratch).value();
  }
  CHECK(counted.peak() > 200000);
  CHECK(counted.peak() <= detail::chain_memory::to_encode(chain, view));
  CHECK(detail::chain_memory::to_encode(chain, true) > 0);
}
