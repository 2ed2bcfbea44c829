// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>
#include <zarrpoint/zarr/v2/v2_codecs.hpp>
#include <zarrpoint/zarr/v2/v2_filters.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline constexpr std::array<std::string_view, 3> blosc_shuffles = {"noshuffle", "shuffle",
                                                                   "bitshuffle"};

/// An integer of a compressor's options, or `otherwise` when it is not given.
ZARRPOINT_INLINE result<node> integer_option(const node& options, std::string_view key,
                                             std::int64_t otherwise) {
  const node* value = options.find(key);
  if (value == nullptr) return node(otherwise);
  const auto number = integral_int64(*value);
  if (!number) return corrupt(in_quotes(key) + " must be an integer");
  return node(*number);
}

ZARRPOINT_INLINE result<std::string> codec_id(const node& value) {
  const node* id = value.find("id");
  const std::string* name = id == nullptr ? nullptr : id->if_string();
  if (name == nullptr) return corrupt("must be an object with an id");
  return *name;
}

ZARRPOINT_INLINE result<codec_spec> parse_v2_blosc(const node& options, std::size_t item_size) {
  ZARRPOINT_CHECK(only_members(*options.if_object(),
                               {"id", "cname", "clevel", "shuffle", "blocksize", "typesize"}));
  const node* cname = options.find("cname");
  ZARRPOINT_TRY(level, integer_option(options, "clevel", 5));
  ZARRPOINT_TRY(shuffle, integer_option(options, "shuffle", 1));
  ZARRPOINT_TRY(block_size, integer_option(options, "blocksize", 0));
  std::int64_t mode = *shuffle.to_int64();
  if (mode == -1) mode = item_size == 1 ? 2 : 1;
  if (mode < 0 || mode > 2) return corrupt("shuffle must be -1, 0, 1 or 2");
  // c-blosc writes 1 for items above 255 bytes; bytes of no elements have items of one.
  const std::size_t type_size = item_size == 0 ? 1 : item_size;
  return codec_spec{"blosc",
                    node::object{{"typesize", static_cast<std::int64_t>(type_size)},
                                 {"cname", cname == nullptr ? node("lz4") : *cname},
                                 {"clevel", std::move(level)},
                                 {"shuffle", blosc_shuffles[static_cast<std::size_t>(mode)]},
                                 {"blocksize", std::move(block_size)}}};
}

ZARRPOINT_INLINE error unknown_v2_codec(std::string_view id) {
  return unsupported(in_quotes(id) + " is not supported" + about_codec(id));
}

ZARRPOINT_INLINE result<codec_spec> parse_v2_bytes_codec(const node& value, std::size_t item_size) {
  ZARRPOINT_TRY(id, codec_id(value));
  const node::object& members = *value.if_object();
  const known_codec* row = find_v2_id(id);
  if (row == nullptr) return unknown_v2_codec(id);
  if (row->role != v2_role::bytes_filter && row->role != v2_role::compressor)
    return unsupported(in_quotes(id) + " cannot follow a codec that makes bytes");
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
    return codec_spec{v3_name_of(*row), node::object{{"level", std::move(level)}}};
  }
  if (id == "blosc") return parse_v2_blosc(value, item_size);
  node options = v2_options(value);
  if (id == "crc32c") {
    // At the end, where numcodecs puts it unless told otherwise, it is the codec of v3.
    ZARRPOINT_CHECK(only_members(members, {"id", "location"}));
    const node* location = value.find("location");
    if (location == nullptr || *location == node("end")) return codec_spec{"crc32c", {}};
    return codec_spec{"numcodecs.crc32c", std::move(options)};
  }
  // In v3 the size of the array's elements, in v2 always four.
  if (id == "shuffle" && options.find("elementsize") == nullptr) options.set("elementsize", 4);
  return codec_spec{v3_name_of(*row), std::move(options)};
}

/// The filter that makes bytes of objects, and what type the objects are then.
ZARRPOINT_INLINE result<codec_spec> parse_v2_object_filter(const node& filter,
                                                           const known_codec& row, dtype& type) {
  node options = v2_options(filter);
  if (row.id() == "vlen-utf8" || row.id() == "vlen-bytes") {
    if (!options.if_object()->empty())
      return unsupported("unknown member " + in_quotes(options.if_object()->front().key));
  }
  if (row.id() == "vlen-bytes" || row.id() == "vlen-array") type = dtype_kind::bytes;
  return codec_spec{v3_name_of(row), std::move(options)};
}

ZARRPOINT_INLINE result<void> parse_v2_chain(const node& zarray, v2_dtype type,
                                             array_metadata& out) {
  out.type = type.type;
  const bool is_object = type.type.is_variable();
  bool has_bytes = false;
  const auto make_bytes = [&]() -> result<void> {
    if (has_bytes) return {};
    if (is_object)
      return unsupported("data type \"|O\" without a filter for objects is not supported");
    out.codecs.push_back(v2_bytes_codec(type));
    has_bytes = true;
    return {};
  };
  const auto add = [&](const node& value) -> result<void> {
    ZARRPOINT_TRY(id, codec_id(value));
    const known_codec* row = find_v2_id(id);
    if (row == nullptr) return unknown_v2_codec(id);
    if (row->role == v2_role::array_filter && !has_bytes && !is_object) {
      ZARRPOINT_TRY(spec, parse_v2_array_filter(value, *row, type).at(in_quotes(id)));
      out.codecs.push_back(std::move(spec));
    } else if (row->role == v2_role::object_filter && !has_bytes && is_object) {
      ZARRPOINT_TRY(spec, parse_v2_object_filter(value, *row, out.type).at(in_quotes(id)));
      out.codecs.push_back(std::move(spec));
      has_bytes = true;
      type = v2_dtype{};  // its items are single bytes
    } else if (row->role == v2_role::array_compressor && !has_bytes && !is_object) {
      if (type.order == endian::big && type.type.scalar_size() > 1)
        return unsupported(in_quotes(id) + " does not support big-endian elements");
      out.codecs.emplace_back(v3_name_of(*row), v2_options(value));
      has_bytes = true;
      type = v2_dtype{};
    } else if (row->role == v2_role::object_filter && !is_object) {
      return unsupported(in_quotes(id) + " needs data type \"|O\"");
    } else {
      ZARRPOINT_CHECK(make_bytes());
      // What a checksum or a compressor makes are single bytes, too.
      const bool is_first = out.codecs.back().name == "bytes";
      ZARRPOINT_TRY(spec, parse_v2_bytes_codec(value, is_first ? type.type.size() : 1));
      out.codecs.push_back(std::move(spec));
    }
    return {};
  };
  if (const node* filters = zarray.find("filters"); filters != nullptr && !filters->is_null()) {
    const node::array* list = filters->if_array();
    if (list == nullptr) return corrupt("must be a list or null").at("filters");
    for (const node& filter : *list) ZARRPOINT_CHECK(add(filter).at("filters"));
  }
  const node* compressor = zarray.find("compressor");
  if (compressor != nullptr && !compressor->is_null())
    ZARRPOINT_CHECK(add(*compressor).at("compressor"));
  return make_bytes();
}

ZARRPOINT_INLINE node reversed_axes(std::size_t rank) {
  node::array axes;
  for (std::size_t i = rank; i-- > 0;) axes.emplace_back(static_cast<std::int64_t>(i));
  return axes;
}

ZARRPOINT_INLINE result<node> to_v2_blosc(const node& configuration) {
  const node* shuffle = configuration.find("shuffle");
  const std::string* mode = shuffle == nullptr ? nullptr : shuffle->if_string();
  std::size_t number = 0;
  while (mode != nullptr && number < 3 && blosc_shuffles[number] != *mode) ++number;
  const node* cname = configuration.find("cname");
  if (mode == nullptr || number == 3 || cname == nullptr)
    return unsupported("codec \"blosc\" needs cname and shuffle in Zarr v2");
  ZARRPOINT_TRY(level, integer_option(configuration, "clevel", 5));
  ZARRPOINT_TRY(block_size, integer_option(configuration, "blocksize", 0));
  return node(node::object{{"blocksize", std::move(block_size)},
                           {"clevel", std::move(level)},
                           {"cname", *cname},
                           {"id", "blosc"},
                           {"shuffle", static_cast<std::int64_t>(number)}});
}

ZARRPOINT_INLINE result<node> to_v2_bytes_codec(const codec_spec& spec) {
  const known_codec* row = find_v2_name(spec.name);
  if (row == nullptr || (row->role != v2_role::bytes_filter && row->role != v2_role::compressor))
    return unsupported("Zarr v2 has no codec " + in_quotes(spec.name));
  if (row->id() == "zstd") {
    const node* checksum = spec.configuration.find("checksum");
    if (checksum != nullptr && *checksum != node(false))
      return unsupported(
          "zstd with a checksum is not written to Zarr v2, since TensorStore cannot read it");
    ZARRPOINT_TRY(level, integer_option(spec.configuration, "level", 0));
    return node(node::object{{"id", "zstd"}, {"level", std::move(level)}});
  }
  if (row->id() == "gzip" || row->id() == "zlib") {
    ZARRPOINT_TRY(level, integer_option(spec.configuration, "level", 1));
    return node(node::object{{"id", row->id()}, {"level", std::move(level)}});
  }
  if (row->id() == "blosc") return to_v2_blosc(spec.configuration);
  node out{node::object{{"id", row->id()}}};
  // Older versions of numcodecs have it at the start.
  if (row->id() == "crc32c") out.set("location", "end");
  if (const node::object* members = spec.configuration.if_object()) {
    for (const node::member& one : *members) out.set(one.key, one.value);
  }
  return out;
}

ZARRPOINT_INLINE result<v2_codecs> to_v2_codecs(const array_metadata& array) {
  v2_codecs out;
  node::array filters;
  std::span<const codec_spec> rest = array.codecs;
  if (rest.front().name == "transpose") {
    const node* order = rest.front().configuration.find("order");
    if (order == nullptr || (*order != reversed_axes(array.shape.rank()) && *order != node("F")))
      return unsupported("Zarr v2 can only reverse all axes (order F)");
    out.is_fortran = array.shape.rank() > 1;
    rest = rest.subspan(1);
  }
  const auto role_at = [&](std::size_t i) -> std::optional<v2_role> {
    const known_codec* row = i < rest.size() ? find_v2_name(rest[i].name) : nullptr;
    return row == nullptr ? std::nullopt : std::optional(row->role);
  };
  std::size_t arrays = 0;
  while (role_at(arrays) == v2_role::array_filter) ++arrays;
  if (arrays == rest.size()) return unsupported("the chain has no codec that makes bytes");
  const codec_spec& serializer = rest[arrays];
  if (array.type.is_variable()) {
    if (arrays != 0 || role_at(0) != v2_role::object_filter)
      return unsupported("Zarr v2 stores objects with filters such as vlen-utf8, not " +
                         in_quotes(rest.front().name));
    node filter{node::object{{"id", find_v2_name(serializer.name)->id()}}};
    if (const node::object* members = serializer.configuration.if_object()) {
      for (const node::member& one : *members) filter.set(one.key, one.value);
    }
    filters.push_back(std::move(filter));
    out.dtype = "|O";
  } else {
    const bool is_compressed = role_at(arrays) == v2_role::array_compressor;
    if (!is_compressed && serializer.name != "bytes" && serializer.name != "endian")
      return unsupported("Zarr v2 has no codec " + in_quotes(serializer.name));
    const v2_dtype stored =
        v2_dtype_of(array.type, is_compressed ? node() : serializer.configuration);
    ZARRPOINT_TRY(found, to_v2_array_filters(rest.first(arrays), stored));
    ZARRPOINT_TRY(type, to_v2_dtype(stored));
    out.dtype = std::move(type);
    filters = std::move(found);
    if (is_compressed) {
      node one{node::object{{"id", find_v2_name(serializer.name)->id()}}};
      if (const node::object* members = serializer.configuration.if_object()) {
        for (const node::member& member : *members) one.set(member.key, member.value);
      }
      if (arrays + 1 == rest.size()) {
        out.compressor = std::move(one);
      } else {
        filters.push_back(std::move(one));
      }
    }
  }
  rest = rest.subspan(arrays + 1);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    ZARRPOINT_TRY(one, to_v2_bytes_codec(rest[i]));
    if (i + 1 == rest.size() && role_at(i) == v2_role::compressor) {
      out.compressor = std::move(one);
    } else {
      filters.push_back(std::move(one));
    }
  }
  if (!filters.empty()) out.filters = std::move(filters);
  return out;
}

}}}  // namespace zarrpoint::v0::detail
