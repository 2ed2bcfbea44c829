// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Every codec's decoder. What is decoded is encoded, decoded again, and the same.

#include <zarrpoint/codec/chain.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "fuzz.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace fuzz;

zp::codec_spec bytes(const char* order) { return {"bytes", zp::node::object{{"endian", order}}}; }

zp::codec_spec blosc(const char* compressor, const char* shuffle) {
  return {"blosc", zp::node::object{{"cname", compressor}, {"clevel", 1}, {"shuffle", shuffle}}};
}

std::vector<std::vector<zp::codec_spec>> number_chains() {
  const zp::codec_spec transpose{"transpose", zp::node::object{{"order", zp::node::array{1, 0}}}};
  return {{bytes("little")},
          {bytes("big")},
          {bytes("little"), {"zstd"}},
          {bytes("big"), {"zstd"}},
          {bytes("little"), {"gzip"}},
          {bytes("little"), {"zlib"}},
          {bytes("little"), {"crc32c"}},
          {bytes("little"), {"zstd"}, {"gzip"}},
          {bytes("little"), {"gzip"}, {"crc32c"}},
          {transpose, bytes("little"), {"zstd"}},
          {transpose, bytes("big")},
          {bytes("little"), blosc("zstd", "shuffle")},
          {bytes("little"), blosc("lz4", "bitshuffle")},
          {bytes("little"), blosc("zlib", "noshuffle")}};
}
std::vector<std::vector<zp::codec_spec>> text_chains() {
  return {{{"vlen-utf8"}}, {{"vlen-utf8"}, {"zstd"}}, {{"vlen-utf8"}, {"gzip"}, {"crc32c"}}};
}

bool same(const zp::tensor& a, const zp::tensor& b) {
  if (a.spec().type.is_variable()) {
    const auto x = a.data<std::string>();
    return std::equal(x.begin(), x.end(), b.data<std::string>().begin());
  }
  const std::size_t bytes = zp::byte_count(a.spec()).value();
  return bytes == 0 || std::memcmp(a.view().data, b.view().data, bytes) == 0;
}

void decode(const std::vector<zp::codec_spec>& codecs, const zp::tensor_spec& spec,
            zp::bytes_view stored) {
  zp::limited_resource budget(std::size_t{64} << 20);
  zp::codec_workspace scratch(budget, std::size_t{4} << 20, &budget);
  const auto chain = zp::codec_chain::resolve(codecs, spec, bounded().codecs);
  if (!chain) return;  // such as a transpose of a vector
  zp::tensor first = zp::tensor::make(spec).value();
  if (!chain->decode(stored, first.mutable_view(), scratch)) return;
  const auto encoded = chain->encode(first.view(), scratch);
  require(encoded.has_value(), "what was decoded is encoded");
  const std::vector<std::byte> copy(encoded->begin(), encoded->end());
  require(copy.size() <= chain->encoded_bound(), "the bound of the encoder holds");
  zp::tensor second = zp::tensor::make(spec).value();
  require(chain->decode(copy, second.mutable_view(), scratch).has_value(),
          "what was encoded is decoded");
  require(same(first, second), "codecs are lossless");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto numbers = number_chains();
  static const auto texts = text_chains();
  static const zp::dims shapes[] = {{}, {1}, {7}, {3, 5}, {64, 64}, {0, 4}};
  input in(data, size);
  const std::size_t which = in.byte() % (numbers.size() + texts.size());
  const zp::dims& shape = shapes[in.byte() % std::size(shapes)];
  const std::uint8_t kind = in.byte();
  if (which >= numbers.size()) {
    decode(texts[which - numbers.size()], {zp::dtype_kind::string, shape}, in.rest());
    return 0;
  }
  const zp::dtype type = zp::all_dtype_kinds[kind % std::size(zp::all_dtype_kinds)];
  if (!type.is_variable()) decode(numbers[which], {type, shape}, in.rest());
  return 0;
}
