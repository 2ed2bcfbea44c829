// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/spec.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/typestr.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The codecs of Zarr v2, where order, byte order, filters and compressor are members of their own,
// told as a v3 chain and back.
namespace zarrpoint::inline v0::detail {

inline constexpr std::array<std::string_view, 3> blosc_shuffles = {"noshuffle", "shuffle",
                                                                   "bitshuffle"};

/// An integer of a compressor's options, or `otherwise` when it is not given.
inline result<node> integer_option(const node& options, std::string_view key,
                                   std::int64_t otherwise) {
  const node* value = options.find(key);
  if (value == nullptr) return node(otherwise);
  const auto number = value->to_int64();
  if (!number) return corrupt(in_quotes(key) + " must be an integer");
  return node(*number);
}

inline result<std::string> codec_id(const node& value) {
  const node* id = value.find("id");
  const std::string* name = id == nullptr ? nullptr : id->if_string();
  if (name == nullptr) return corrupt("must be an object with an id");
  return *name;
}

inline result<codec_spec> parse_v2_blosc(const node& options, std::size_t item_size) {
  ZARRPOINT_CHECK(only_members(*options.if_object(),
                               {"id", "cname", "clevel", "shuffle", "blocksize", "typesize"}));
  const node* cname = options.find("cname");
  ZARRPOINT_TRY(level, integer_option(options, "clevel", 5));
  ZARRPOINT_TRY(shuffle, integer_option(options, "shuffle", 1));
  ZARRPOINT_TRY(block_size, integer_option(options, "blocksize", 0));
  std::int64_t mode = *shuffle.to_int64();
  if (mode == -1) mode = item_size == 1 ? 2 : 1;
  if (mode < 0 || mode > 2) return corrupt("shuffle must be -1, 0, 1 or 2");
  // c-blosc writes 1 for items above 255 bytes; |O has items of pointer size in zarr-python.
  const std::size_t type_size = item_size == 0 ? 8 : item_size;
  return codec_spec{"blosc",
                    node::object{{"typesize", static_cast<std::int64_t>(type_size)},
                                 {"cname", cname == nullptr ? node("lz4") : *cname},
                                 {"clevel", std::move(level)},
                                 {"shuffle", blosc_shuffles[static_cast<std::size_t>(mode)]},
                                 {"blocksize", std::move(block_size)}}};
}

/// A `compressor` that is not null, as the codec of the same bytes.
inline result<codec_spec> parse_v2_compressor(const node& value, std::size_t item_size) {
  ZARRPOINT_TRY(id, codec_id(value));
  const node::object& members = *value.if_object();
  if (id == "zstd") {
    ZARRPOINT_CHECK(only_members(members, {"id", "level", "checksum"}));
    ZARRPOINT_TRY(level, integer_option(value, "level", 0));
    const node* checksum = value.find("checksum");
    if (checksum != nullptr && checksum->if_bool() == nullptr)
      return corrupt("\"checksum\" must be a boolean");
    return codec_spec{"zstd",
                      node::object{{"level", std::move(level)},
                                   {"checksum", checksum == nullptr ? node(false) : *checksum}}};
  }
  if (id == "gzip" || id == "zlib") {
    ZARRPOINT_CHECK(only_members(members, {"id", "level"}));
    ZARRPOINT_TRY(level, integer_option(value, "level", 1));
    return codec_spec{id == "zlib" ? "numcodecs.zlib" : "gzip",
                      node::object{{"level", std::move(level)}}};
  }
  if (id == "blosc") return parse_v2_blosc(value, item_size);
  if (id == "crc32c") {
    // At the end, where numcodecs puts it unless told otherwise, it is the codec of v3.
    ZARRPOINT_CHECK(only_members(members, {"id", "location"}));
    const node* location = value.find("location");
    if (location == nullptr || *location == node("end")) return codec_spec{"crc32c", {}};
  }
  return unsupported(in_quotes(id) + " is not supported");
}

/// The filters, of which we know the one that makes bytes of strings. Absent, null and `[]` mean
/// none.
inline result<bool> has_vlen_utf8_filter(const node* value, dtype type) {
  if (value == nullptr || value->is_null()) return false;
  const node::array* filters = value->if_array();
  if (filters == nullptr) return corrupt("must be a list or null");
  if (filters->empty()) return false;
  ZARRPOINT_TRY(id, codec_id(filters->front()));
  if (id != "vlen-utf8" || type.kind() != dtype_kind::string)
    return unsupported(in_quotes(id) + " is not supported");
  ZARRPOINT_CHECK(only_members(*filters->front().if_object(), {"id"}).at(in_quotes(id)));
  if (filters->size() > 1) {
    ZARRPOINT_TRY(next, codec_id((*filters)[1]));
    return unsupported(in_quotes(next) + " is not supported");
  }
  return true;
}

inline node reversed_axes(std::size_t rank) {
  node::array axes;
  for (std::size_t i = rank; i-- > 0;) axes.emplace_back(static_cast<std::int64_t>(i));
  return axes;
}

inline result<node> to_v2_blosc(const node& configuration) {
  const node* shuffle = configuration.find("shuffle");
  const std::string* mode = shuffle == nullptr ? nullptr : shuffle->if_string();
  std::size_t number = 0;
  while (mode != nullptr && number < 3 && blosc_shuffles[number] != *mode) ++number;
  const node* cname = configuration.find("cname");
  if (mode == nullptr || number == 3 || cname == nullptr)
    return unsupported("codec \"blosc\" without cname or shuffle");
  ZARRPOINT_TRY(level, integer_option(configuration, "clevel", 5));
  ZARRPOINT_TRY(block_size, integer_option(configuration, "blocksize", 0));
  return node(node::object{{"blocksize", std::move(block_size)},
                           {"clevel", std::move(level)},
                           {"cname", *cname},
                           {"id", "blosc"},
                           {"shuffle", static_cast<std::int64_t>(number)}});
}

/// A codec as a `compressor`.
inline result<node> to_v2_compressor(const codec_spec& spec) {
  if (spec.name == "zstd") {
    const node* checksum = spec.configuration.find("checksum");
    if (checksum != nullptr && *checksum != node(false))
      return unsupported("TensorStore refuses zstd with a checksum in Zarr v2");
    ZARRPOINT_TRY(level, integer_option(spec.configuration, "level", 0));
    return node(node::object{{"id", "zstd"}, {"level", std::move(level)}});
  }
  if (spec.name == "gzip" || spec.name == "numcodecs.zlib") {
    ZARRPOINT_TRY(level, integer_option(spec.configuration, "level", 1));
    return node(
        node::object{{"id", spec.name == "gzip" ? "gzip" : "zlib"}, {"level", std::move(level)}});
  }
  if (spec.name == "blosc") return to_v2_blosc(spec.configuration);
  return unsupported("Zarr v2 has no codec " + in_quotes(spec.name));
}

/// What of a `.zarray` the codecs say.
struct v2_codecs {
  node dtype;
  bool is_fortran = false;
  node filters;
  node compressor;
};

/// Reads a chain as `[transpose of all axes] (bytes | vlen-utf8) [compressor]`, which is what v2
/// can say.
inline result<v2_codecs> to_v2_codecs(const array_metadata& array) {
  v2_codecs out;
  std::span<const codec_spec> rest = array.codecs;
  if (rest.front().name == "transpose") {
    const node* order = rest.front().configuration.find("order");
    if (order == nullptr || (*order != reversed_axes(array.shape.rank()) && *order != node("F")))
      return unsupported("Zarr v2 can transpose all axes or none");
    out.is_fortran = array.shape.rank() > 1;
    rest = rest.subspan(1);
  }
  const std::string serializer = rest.empty() ? "" : rest.front().name;
  v2_dtype type{array.type};
  if (array.type.kind() == dtype_kind::string) {
    if (serializer != "vlen-utf8") return unsupported("Zarr v2 stores strings with vlen-utf8");
    out.filters = node::array{node::object{{"id", "vlen-utf8"}}};
  } else {
    if (serializer != "bytes") return unsupported("Zarr v2 has no codec " + in_quotes(serializer));
    type = v2_dtype_of(array.type, rest.front().configuration);
  }
  ZARRPOINT_TRY(text, to_v2_dtype(type));
  out.dtype = std::move(text);
  rest = rest.subspan(1);
  if (rest.size() > 1) return unsupported("Zarr v2 has one compressor at most");
  if (!rest.empty()) {
    ZARRPOINT_TRY(compressor, to_v2_compressor(rest.front()));
    out.compressor = std::move(compressor);
  }
  return out;
}

}  // namespace zarrpoint::inline v0::detail
