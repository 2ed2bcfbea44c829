// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/zarrpoint.hpp>

#if __has_include(<zarrpoint/store/read_only_store.hpp>)  // the one file holds it
#include <zarrpoint/store/read_only_store.hpp>
#endif

#include <array>
#include <cstddef>
#include <span>
#include <utility>

namespace example {

namespace zp = zarrpoint;

inline constexpr std::size_t width = 64;
inline constexpr std::size_t classes = 10;

/// A word's row of `embedding`, times `weight`, plus `bias`: a score for each class.
struct model {
  zp::mapped_tensor<float> embedding;  ///< words x width, where it lies in the file
  zp::tensor weight;                   ///< classes x width, decoded to memory of the caller's
  std::array<float, classes> bias;

  std::array<float, classes> scores(std::size_t word) const {
    std::array<float, classes> out = bias;
    for (std::size_t c = 0; c < classes; ++c) {
      for (std::size_t i = 0; i < width; ++i)
        out[c] += embedding.data()[word * width + i] * weight.data<float>()[c * width + i];
    }
    return out;
  }
};

/// What the model was saved with; files that need another codec are refused.
using codecs = zp::codec_registry<zp::bytes_codec, zp::crc32c_codec, zp::zstd_decoder>;

/// Directories, to be read: no zip files, and nothing that writes.
using stores = zp::store_registry<zp::read_only_file_scheme>;

/// No thread is started, whatever the file says costs at most this, and all tensors, staging and
/// codec states come from `memory`.
inline zp::context within(zp::memory_resource& memory) {
  return {.codecs = codecs::table(),
          .stores = stores::table(),
          .limit = {.bytes_in_flight = 256 << 10,
                    .memory = 1 << 20,
                    .metadata_bytes = 64 << 10,
                    .max_inner_chunks = 1024},
          .resource = &memory};
}

/// Every byte is compared with its checksum, those that are only mapped, too.
inline zp::result<model> load_model(const char* path, const zp::context& how) {
  ZARRPOINT_TRY(checkpoint, zp::open(path, how));
  ZARRPOINT_TRY(embedding, checkpoint.view<float>("embedding", true));
  if (embedding.shape().rank() != 2 || embedding.shape()[1] != width)
    return zp::error{zp::errc::shape_mismatch, "embedding has " + to_string(embedding.shape())};
  ZARRPOINT_TRY(weight, checkpoint.load<zp::tensor>("head/weight"));
  if (weight.spec() != zp::tensor_spec{zp::dtype_of<float>, {classes, width}})
    return zp::error{zp::errc::shape_mismatch, "head/weight is " + to_string(weight.spec())};
  std::array<float, classes> bias{};
  ZARRPOINT_CHECK(checkpoint.load_into("head/bias", std::span<float>(bias)));
  return model{std::move(embedding), std::move(weight), bias};
}

}  // namespace example
