// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Every codec's decoder. What is decoded is encoded, decoded again, and the same. And the encoder
// of Huffman codes, of which libzstd is the judge.

#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include "fuzz.hpp"

#include <zstd.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace fuzz;

zp::codec_spec bytes(const char* order) { return {"bytes", zp::json::object{{"endian", order}}}; }

zp::codec_spec blosc(const char* compressor, const char* shuffle) {
  return {"blosc", zp::json::object{{"cname", compressor}, {"clevel", 1}, {"shuffle", shuffle}}};
}

/// Small dictionaries: encoders must fit into the budget, too.
zp::codec_spec lzma(int format) {
  if (format < 3) return {"numcodecs.lzma", zp::json::object{{"format", format}, {"preset", 0}}};
  const zp::json::array filters{zp::json::object{{"id", 3}, {"dist", 4}},
                                zp::json::object{{"id", 0x21}, {"preset", 0}}};
  return {"numcodecs.lzma", zp::json::object{{"format", 3}, {"filters", filters}}};
}

std::vector<std::vector<zp::codec_spec>> number_chains() {
  const zp::codec_spec transpose{"transpose", zp::json::object{{"order", zp::json::array{1, 0}}}};
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
          {bytes("little"), blosc("zlib", "noshuffle")},
          {bytes("little"), {"numcodecs.crc32"}},
          {bytes("little"), {"numcodecs.adler32", zp::json::object{{"location", "end"}}}},
          {bytes("little"), {"numcodecs.crc32c", zp::json::object{{"location", "start"}}}},
          {bytes("little"), {"numcodecs.fletcher32"}, {"numcodecs.jenkins_lookup3"}},
          {bytes("little"), {"numcodecs.shuffle"}},
          {bytes("little"), {"numcodecs.base64"}},
          {bytes("little"), {"numcodecs.lz4"}},
          {bytes("little"), {"numcodecs.bz2"}},
          {bytes("little"), lzma(1)},
          {bytes("little"), lzma(2)},
          {bytes("little"), lzma(3)},
          {bytes("little"), {"numcodecs.shuffle"}, {"numcodecs.lz4"}, {"numcodecs.crc32"}},
          {{"numcodecs.pcodec"}},
          {{"numcodecs.pcodec"}, {"numcodecs.lz4"}}};
}
std::vector<std::vector<zp::codec_spec>> text_chains() {
  return {{{"vlen-utf8"}},
          {{"vlen-utf8"}, {"zstd"}},
          {{"vlen-utf8"}, {"gzip"}, {"crc32c"}},
          {{"numcodecs.json2"}},
          {{"numcodecs.msgpack2"}},
          {{"numcodecs.json2"}, {"numcodecs.lz4"}},
          {{"numcodecs.categorize",
            zp::json::object{{"labels", zp::json::array{"a", "bc", "\xc3\xa9"}}}}}};
}
std::vector<std::vector<zp::codec_spec>> byte_string_chains() {
  return {{{"vlen-bytes"}},
          {{"vlen-bytes"}, {"numcodecs.bz2"}},
          {{"numcodecs.vlen-array", zp::json::object{{"dtype", "<i4"}}}}};
}

/// Codecs that change values, which may not come back, or refuse them.
std::vector<std::vector<zp::codec_spec>> changing_chains() {
  using json = zp::json;
  using object = zp::json::object;
  const json identity{json::array{json::array{0, 1}, json::array{"NaN", 2}}};
  return {
      {{"numcodecs.delta"}, bytes("little")},
      {{"numcodecs.delta", object{{"dtype", "<i2"}, {"astype", "<f8"}}}, bytes("little")},
      {{"numcodecs.delta", object{{"dtype", ">f4"}, {"astype", "|b1"}}}, bytes("big")},
      {{"numcodecs.delta", object{{"dtype", "<u8"}, {"astype", "<f2"}}}, bytes("little")},
      {{"numcodecs.delta", object{{"dtype", "<c8"}, {"astype", "i1"}}}, bytes("little")},
      {{"numcodecs.fixedscaleoffset", object{{"offset", 3}, {"scale", 1e-300}}}, bytes("little")},
      {{"numcodecs.fixedscaleoffset",
        object{{"offset", 0.5}, {"scale", 3}, {"dtype", "<f4"}, {"astype", "<i2"}}},
       bytes("little")},
      {{"numcodecs.fixedscaleoffset",
        object{{"offset", 1}, {"scale", 2}, {"dtype", "u1"}, {"astype", "<f8"}}},
       bytes("little")},
      {{"numcodecs.quantize", object{{"digits", 300}, {"astype", "<f8"}}}, bytes("little")},
      {{"numcodecs.astype", object{{"encode_dtype", "<f8"}}}, bytes("little")},
      {{"numcodecs.astype", object{{"encode_dtype", "<c16"}, {"decode_dtype", "|b1"}}},
       bytes("little")},
      {{"numcodecs.packbits"}, bytes("little")},
      {{"bitround", object{{"keepbits", 5}}}, bytes("little")},
      {{"reshape", object{{"shape", json::array{-1}}}}, {"numcodecs.delta"}, bytes("little")},
      {{"scale_offset", object{{"offset", 1}, {"scale", 2}}}, bytes("little")},
      {{"cast_value", object{{"data_type", "float64"}, {"out_of_range", "clamp"}}},
       bytes("little")},
      {{"cast_value", object{{"data_type", "int8"}, {"rounding", "nearest-away"}}},
       bytes("little")},
      {{"cast_value", object{{"data_type", "float32"},
                             {"rounding", "towards-negative"},
                             {"scalar_map", object{{"decode", identity}}}}},
       bytes("little")},
      {{"packbits"}},
      {{"packbits", object{{"padding_encoding", "first_byte"}, {"last_bit", 1}}}},
      {{"packbits", object{{"padding_encoding", "last_byte"}, {"first_bit", 3}}}}};
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
            zp::bytes_view stored, bool lossless = true) {
  zp::limited_resource budget(std::size_t{64} << 20);
  zp::codec_workspace scratch(budget, std::size_t{4} << 20, &budget);
  const auto chain = zp::codec_chain::resolve(codecs, spec, bounded().codecs);
  if (!chain) return;  // such as a transpose of a vector
  zp::tensor first = zp::tensor::make(spec).value();
  if (!chain->decode(stored, first.mutable_view(), scratch)) return;
  const auto encoded = chain->encode(first.view(), scratch);
  if (!encoded && !lossless) return;
  require(encoded.has_value(), "what was decoded is encoded");
  const std::vector<std::byte> copy(encoded->begin(), encoded->end());
  require(copy.size() <= chain->encoded_bound(), "the bound of the encoder holds");
  zp::tensor second = zp::tensor::make(spec).value();
  const bool is_decoded = chain->decode(copy, second.mutable_view(), scratch).has_value();
  if (!lossless) return;
  require(is_decoded, "what was encoded is decoded");
  require(same(first, second), "codecs are lossless");
}

/// The content some times over, so that there are blocks of all sizes.
void code_literals(std::size_t times, zp::bytes_view content) {
  std::vector<std::byte> from;
  for (std::size_t i = 0; i < times; ++i) from.insert(from.end(), content.begin(), content.end());
  zp::codec_workspace scratch;
  const auto made = [&](zp::detail::huffman_kernel kernel) {
    std::vector<std::byte> out(from.size() + 64);
    out.resize(zp::detail::encode_zstd_literals(from, out, scratch, kernel).value());
    return out;
  };
  const std::vector<std::byte> frame = made(zp::detail::best_huffman_kernel());
  require(frame == made(zp::detail::huffman_kernel::portable), "all kernels make the same");
  std::vector<std::byte> back(from.size());
  require(ZSTD_decompress(back.data(), back.size(), frame.data(), frame.size()) == from.size() &&
              back == from,
          "libzstd reads what was coded");
  back.assign(from.size(), std::byte{});
  if (zp::detail::decode_zstd_literals(frame, back, scratch))
    require(back == from, "so do we, and the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto numbers = number_chains();
  static const auto texts = text_chains();
  static const auto byte_strings = byte_string_chains();
  static const auto changing = changing_chains();
  static const zp::dims shapes[] = {{}, {1}, {7}, {3, 5}, {64, 64}, {0, 4}};
  input in(data, size);
  const std::size_t chains = numbers.size() + texts.size() + byte_strings.size() + changing.size();
  std::size_t which = in.byte() % (chains + 1);
  if (which == chains) {
    const std::size_t times = 1 + in.byte() % 64;
    code_literals(times, in.rest());
    return 0;
  }
  const zp::dims& shape = shapes[in.byte() % std::size(shapes)];
  const zp::dtype type = zp::all_dtype_kinds[in.byte() % std::size(zp::all_dtype_kinds)];
  if (which < numbers.size()) {
    if (!type.is_variable()) decode(numbers[which], {type, shape}, in.rest());
    return 0;
  }
  which -= numbers.size();
  if (which < texts.size()) {
    decode(texts[which], {zp::dtype_kind::string, shape}, in.rest());
    return 0;
  }
  which -= texts.size();
  if (which < byte_strings.size()) {
    decode(byte_strings[which], {zp::dtype_kind::bytes, shape}, in.rest());
    return 0;
  }
  which -= byte_strings.size();
  if (!type.is_variable()) decode(changing[which], {type, shape}, in.rest(), false);
  return 0;
}
