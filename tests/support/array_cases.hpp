// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/grid/raw_rows.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "support/random_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint_test {

/// `zarrpoint::all_codecs`, whose table is made in one place: forty codecs take a compiler long.
struct all_codecs {
  static zp::codec_table table();
};

inline zp::codec_spec bytes_spec(std::string_view order = "little") {
  return {"bytes", zp::json::object{{"endian", order}}};
}
inline zp::codec_spec zstd_spec() {
  return {"zstd", zp::json::object{{"level", 1}, {"checksum", false}}};
}
inline zp::codec_spec crc32c_spec() { return {"crc32c"}; }
inline zp::codec_spec transpose_spec(const zp::dims& order) {
  zp::json::array axes;
  for (const zp::index_t axis : order) axes.emplace_back(axis);
  return {"transpose", zp::json::object{{"order", std::move(axes)}}};
}

inline zp::codec_spec vlen_spec(const zp::dtype& type) {
  return {type == zp::dtype_kind::bytes ? "vlen-bytes" : "vlen-utf8"};
}

/// Metadata of a v3 array of uncompressed chunks, with fill value 0.
inline zp::array_metadata raw_metadata(zp::dtype type, const zp::dims& shape,
                                       const zp::dims& chunk_shape) {
  zp::array_metadata out;
  out.shape = shape;
  out.type = type;
  out.chunk_shape = chunk_shape;
  out.fill = zp::fill_value::zero(type);
  out.codecs = {type.is_variable() ? vlen_spec(type) : bytes_spec()};
  return out;
}
/// The same in shards of `chunk_shape` with inner chunks of `inner`.
inline zp::array_metadata sharded_metadata(zp::array_metadata of, const zp::dims& inner,
                                           zp::index_location at = zp::index_location::end) {
  zp::sharding_config config;
  config.chunk_shape = inner;
  config.codecs = std::move(of.codecs);
  config.location = at;
  of.codecs = {config.to_spec().value()};
  return of;
}

inline zp::store_key key_of(std::string_view text) { return zp::store_key::parse(text).value(); }

/// The int32 elements 0, 1, 2, ... of a shape.
inline std::vector<std::int32_t> counting(const zp::dims& shape) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(zp::element_count(shape).value()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i) + 1;
  return out;
}
template <class T>
zp::host_view view_of(const std::vector<T>& data, const zp::dims& shape) {
  return zp::dense_view(reinterpret_cast<const std::byte*>(data.data()), {zp::dtype_of<T>, shape});
}
template <class T>
zp::mutable_host_view view_of(std::vector<T>& data, const zp::dims& shape) {
  return zp::dense_view(reinterpret_cast<std::byte*>(data.data()), {zp::dtype_of<T>, shape});
}

/// The elements of a view one by one, in row-major order: bytes of numbers, text of strings.
inline std::vector<std::string> elements_of(const zp::host_view& view) {
  std::vector<std::string> out;
  for_each_coordinate(view.shape, [&](const zp::dims& at) {
    const std::byte* element = view.data + offset_of(at, view.strides);
    if (view.type.is_variable()) {
      out.push_back(*reinterpret_cast<const std::string*>(element));
    } else {
      out.emplace_back(reinterpret_cast<const char*>(element), view.type.size());
    }
  });
  return out;
}

}  // namespace zarrpoint_test
