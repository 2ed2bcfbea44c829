// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/node_name.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>
#include <zarrpoint/zarr/v2/v2_codecs.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------------- typestr.hpp

/// The digits at the beginning of `text`, which lose them.
ZARRPOINT_INLINE std::optional<std::size_t> take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// What follows the 8 of `<M8[25us]`; nothing at all is the generic unit.
ZARRPOINT_INLINE std::optional<dtype> parse_v2_time(char kind, std::string_view rest) {
  time_unit unit = time_unit::generic;
  std::size_t scale = 1;
  if (!rest.empty()) {
    if (rest.front() != '[' || rest.back() != ']') return std::nullopt;
    rest = rest.substr(1, rest.size() - 2);
    if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      const auto number = take_number(rest);
      if (!number || *number < 1 || *number > INT32_MAX) return std::nullopt;
      scale = *number;
    }
    const auto named = parse_time_unit(rest);
    if (!named) return std::nullopt;
    unit = *named;
  }
  const auto units = static_cast<std::uint32_t>(scale);
  return kind == 'M' ? dtype::datetime(unit, units) : dtype::timedelta(unit, units);
}

/// A number of `size` bytes.
ZARRPOINT_INLINE std::optional<dtype> v2_number(char kind, std::size_t size) {
  for (const dtype_kind one : all_dtype_kinds) {
    const dtype type(one);
    if (type.size() != size || has_bare_name_in_v2(type)) continue;
    if ((kind == 'b' && one == dtype_kind::bool_) || (kind == 'i' && type.is_signed_integer()) ||
        (kind == 'u' && type.is_unsigned_integer()) || (kind == 'f' && type.is_floating()) ||
        (kind == 'c' && type.is_complex()))
      return type;
  }
  return std::nullopt;
}

/// A typestr without its byte order: `f4`, `S12`, `M8[s]`.
ZARRPOINT_INLINE std::optional<dtype> parse_typestr_body(std::string_view body) {
  if (body == "O") return dtype(dtype_kind::string);
  if (body.size() < 2) return std::nullopt;
  const char kind = body.front();
  std::string_view rest = body.substr(1);
  const auto size = take_number(rest);
  if (!size) return std::nullopt;
  if (kind == 'M' || kind == 'm') return *size == 8 ? parse_v2_time(kind, rest) : std::nullopt;
  if (!rest.empty()) return std::nullopt;
  if (kind == 'S') return dtype::null_terminated(*size);
  if (kind == 'V') return dtype::raw_bytes(*size);
  if (kind == 'U' && *size <= max_element_size) return dtype::utf32(*size);
  return v2_number(kind, *size);
}

ZARRPOINT_INLINE result<v2_dtype> parse_typestr(const std::string& text) {
  if (const auto named = parse_dtype(text); named && has_bare_name_in_v2(*named))
    return v2_dtype{*named};
  const char order = text.empty() ? '\0' : text.front();
  if (order == '<' || order == '>' || order == '|') {
    const auto type = parse_typestr_body(std::string_view(text).substr(1));
    // "|" says that there is no order to speak of, which is wrong for wider elements.
    if (type && (order != '|' || type->scalar_size() == 1)) {
      ZARRPOINT_TRY(checked, checked_element(*type).at("data type " + in_quotes(text)));
      return v2_dtype{checked, order == '>' ? endian::big : endian::little};
    }
  }
  return unsupported("data type " + in_quotes(text) + " is not supported");
}

result<v2_dtype> parse_v2_dtype_at(const json& value, std::size_t levels);

/// The third part of a field: its shape, or the length of its only axis.
ZARRPOINT_INLINE result<dims> parse_field_shape(const json& value) {
  if (const auto length = integral_int64(value); length && *length >= 0) return dims{*length};
  return parse_extents(value);
}

/// `[["x", "<f4"], ["v", "<u2", [3]]]`.
ZARRPOINT_INLINE result<v2_dtype> parse_v2_record(const json::array& list, std::size_t levels) {
  if (levels == 0) return unsupported("records nested too deeply");
  if (list.size() > max_record_fields)
    return corrupt("a record of " + std::to_string(list.size()) +
                   " fields is more than the limit of " + std::to_string(max_record_fields));
  std::vector<record_field> fields;
  fields.reserve(list.size());
  v2_dtype out;
  for (const json& element : list) {
    const json::array* parts = element.if_array();
    if (parts == nullptr || parts->size() < 2 || parts->size() > 3 ||
        parts->front().if_string() == nullptr)
      return corrupt("a field must be a list of name, type and maybe a shape");
    const std::string& name = *parts->front().if_string();
    record_field& field = fields.emplace_back();
    result<v2_dtype> parsed = parse_v2_dtype_at((*parts)[1], levels - 1);
    if (parsed && parts->size() == 3) {
      result<dims> given = parse_field_shape(parts->back());
      if (given) field.shape = *given;
      if (!given) parsed = std::move(given).failure();
    }
    if (!parsed) return std::move(parsed).failure().at(in_quotes(name));
    v2_dtype& type = *parsed;
    if (type.field_orders.empty()) type.field_orders.push_back(type.order);
    // A nested record of one order stands for as many fields as it has.
    std::size_t scalars = 0;
    all_scalars(type.type, [&](const dtype&) { return ++scalars != 0; });
    type.field_orders.resize(scalars, type.field_orders.back());
    out.field_orders.insert(out.field_orders.end(), type.field_orders.begin(),
                            type.field_orders.end());
    field.name = name;
    field.type = std::move(type.type);
  }
  auto made = make_record(std::move(fields));
  if (!made) return corrupt(made.failure().message);
  ZARRPOINT_TRY(checked, checked_element(*std::move(made)));
  out.type = std::move(checked);
  // Of fields of one byte the order says nothing.
  std::optional<endian> common;
  bool mixed = false;
  std::size_t i = 0;
  all_scalars(out.type, [&](const dtype& scalar) {
    const endian order = out.field_orders[i++];
    if (scalar.scalar_size() == 1) return true;
    mixed = mixed || (common && *common != order);
    common = order;
    return true;
  });
  if (mixed) return out;
  out.order = common.value_or(endian::little);
  out.field_orders.clear();
  return out;
}

ZARRPOINT_INLINE result<v2_dtype> parse_v2_dtype_at(const json& value, std::size_t levels) {
  if (const std::string* text = value.if_string()) return parse_typestr(*text);
  if (const json::array* fields = value.if_array()) return parse_v2_record(*fields, levels);
  return corrupt("must be a string or a list of fields");
}

/// The kind and size of a typestr, without the byte order, for types without a bare name.
ZARRPOINT_INLINE std::string typestr_body(const dtype& type) {
  switch (type.kind()) {
    case dtype_kind::string:
    case dtype_kind::bytes: return "O";
    case dtype_kind::raw: return "V" + std::to_string(type.size());
    case dtype_kind::null_terminated_bytes: return "S" + std::to_string(type.size());
    case dtype_kind::fixed_length_utf32: return "U" + std::to_string(type.size() / 4);
    case dtype_kind::datetime64:
    case dtype_kind::timedelta64: {
      std::string out = type.kind() == dtype_kind::datetime64 ? "M8" : "m8";
      if (type.unit() == time_unit::generic) return out;
      out += '[';
      if (type.scale() != 1) out += std::to_string(type.scale());
      return out.append(to_string(type.unit())) + ']';
    }
    default: break;
  }
  const char kind = type.kind() == dtype_kind::bool_ ? 'b'
                    : type.is_signed_integer()       ? 'i'
                    : type.is_unsigned_integer()     ? 'u'
                    : type.is_floating()             ? 'f'
                                                     : 'c';
  return kind + std::to_string(type.size());
}

/// `order_at` counts the scalars of a record of mixed orders.
ZARRPOINT_INLINE result<json> v2_dtype_to_json(const v2_dtype& value, const dtype& type,
                                               std::size_t& order_at) {
  if (type.kind() == dtype_kind::record) {
    json::array fields;
    for (const record_field& one : fields_of(type)) {
      ZARRPOINT_TRY(field, v2_dtype_to_json(value, one.type, order_at));
      json::array parts{json(one.name), std::move(field)};
      if (one.shape.rank() != 0) parts.push_back(extents_to_json(one.shape));
      fields.emplace_back(std::move(parts));
    }
    return json(std::move(fields));
  }
  const std::size_t at = order_at++;
  const endian order = at < value.field_orders.size() ? value.field_orders[at] : value.order;
  if (has_bare_name_in_v2(type)) {
    if (order == endian::big && type.scalar_size() > 1)
      return unsupported("Zarr v2 has no big-endian " + std::string(to_string(type)));
    return json(to_string(type));
  }
  const char mark = type.scalar_size() == 1 ? '|' : order == endian::big ? '>' : '<';
  return json(mark + typestr_body(type));
}

ZARRPOINT_INLINE result<v2_dtype> parse_v2_dtype(const json& value) {
  return detail::parse_v2_dtype_at(value, detail::max_record_depth);
}

ZARRPOINT_INLINE result<json> to_v2_dtype(const v2_dtype& value) {
  std::size_t order_at = 0;
  return detail::v2_dtype_to_json(value, value.type, order_at);
}

ZARRPOINT_INLINE codec_spec v2_bytes_codec(const v2_dtype& value) {
  const auto name_of = [](endian order) { return order == endian::big ? "big" : "little"; };
  if (!value.field_orders.empty()) {
    json::array orders;
    for (const endian one : value.field_orders) orders.emplace_back(name_of(one));
    return {"bytes", json::object{{"field_endian", std::move(orders)}}};
  }
  if (value.type.scalar_size() == 1) return {"bytes", json()};
  return {"bytes", json::object{{"endian", name_of(value.order)}}};
}

ZARRPOINT_INLINE v2_dtype v2_dtype_of(const dtype& type, const json& bytes_configuration) {
  v2_dtype out{type};
  const json* order = bytes_configuration.find("endian");
  if (order != nullptr && *order == json("big")) out.order = endian::big;
  const json::array* list = bytes_configuration.find_array("field_endian");
  if (list == nullptr) return out;
  for (const json& one : *list)
    out.field_orders.push_back(one == json("big") ? endian::big : endian::little);
  return out;
}

ZARRPOINT_INLINE result<fill_value> reorder_record(const fill_value& fill, const v2_dtype& stored,
                                                   bool to_stored) {
  if (fill.is_null() || fill.bytes().empty()) return fill;
  const tensor_spec one{stored.type, {}};
  ZARRPOINT_TRY(codec, make_codec<bytes_codec>(v2_bytes_codec(stored).configuration));
  ZARRPOINT_TRY(bound, codec.resolve(one));
  std::string bytes(fill.bytes().size(), '\0');
  auto* const to = reinterpret_cast<std::byte*>(bytes.data());
  codec_workspace scratch;
  if (to_stored) {
    ZARRPOINT_CHECK(bound.encode(dense_view(fill.bytes().data(), one),
                                 mutable_bytes(to, bytes.size()), scratch));
  } else {
    ZARRPOINT_CHECK(bound.decode(fill.bytes(), dense_view(to, one), scratch));
  }
  return fill_value::of_bytes(as_bytes(std::string_view(bytes)));
}

// ----------------------------------------------------------------------------------- v2_codecs.hpp

inline constexpr std::array<std::string_view, 3> blosc_shuffles = {"noshuffle", "shuffle",
                                                                   "bitshuffle"};

/// An integer of a compressor's options, or `otherwise` when it is not given.
ZARRPOINT_INLINE result<json> integer_option(const json& options, std::string_view key,
                                             std::int64_t otherwise) {
  const json* value = options.find(key);
  if (value == nullptr) return json(otherwise);
  const auto number = integral_int64(*value);
  if (!number) return corrupt(in_quotes(key) + " must be an integer");
  return json(*number);
}

ZARRPOINT_INLINE result<std::string> codec_id(const json& value) {
  const std::string* name = value.find_string("id");
  if (name == nullptr) return corrupt("must be an object with an id");
  return *name;
}

ZARRPOINT_INLINE result<codec_spec> parse_v2_blosc(const json& options, std::size_t item_size) {
  ZARRPOINT_CHECK(only_members(*options.if_object(),
                               {"id", "cname", "clevel", "shuffle", "blocksize", "typesize"}));
  const json* cname = options.find("cname");
  ZARRPOINT_TRY(level, integer_option(options, "clevel", 5));
  ZARRPOINT_TRY(shuffle, integer_option(options, "shuffle", 1));
  ZARRPOINT_TRY(block_size, integer_option(options, "blocksize", 0));
  std::int64_t mode = *shuffle.to_int64();
  if (mode == -1) mode = item_size == 1 ? 2 : 1;
  if (mode < 0 || mode > 2) return corrupt("shuffle must be -1, 0, 1 or 2");
  // c-blosc writes 1 for items above 255 bytes; bytes of no elements have items of one.
  const std::size_t type_size = item_size == 0 ? 1 : item_size;
  return codec_spec{"blosc",
                    json::object{{"typesize", static_cast<std::int64_t>(type_size)},
                                 {"cname", cname == nullptr ? json("lz4") : *cname},
                                 {"clevel", std::move(level)},
                                 {"shuffle", blosc_shuffles[static_cast<std::size_t>(mode)]},
                                 {"blocksize", std::move(block_size)}}};
}

ZARRPOINT_INLINE error unknown_v2_codec(std::string_view id) {
  return unsupported(in_quotes(id) + " is not supported" + about_codec(id));
}

ZARRPOINT_INLINE result<codec_spec> parse_v2_bytes_codec(const json& value, std::size_t item_size) {
  ZARRPOINT_TRY(id, codec_id(value));
  const json::object& members = *value.if_object();
  const known_codec* row = find_v2_id(id);
  if (row == nullptr) return unknown_v2_codec(id);
  if (row->role != v2_role::bytes_filter && row->role != v2_role::compressor)
    return unsupported(in_quotes(id) + " cannot follow a codec that makes bytes");
  if (id == "zstd") {
    ZARRPOINT_CHECK(only_members(members, {"id", "level", "checksum"}));
    ZARRPOINT_TRY(level, integer_option(value, "level", 0));
    const json* checksum = value.find("checksum");
    if (checksum != nullptr && checksum->if_bool() == nullptr)
      return corrupt("\"checksum\" must be a boolean");
    return codec_spec{"zstd",
                      json::object{{"level", std::move(level)},
                                   {"checksum", checksum == nullptr ? json(false) : *checksum}}};
  }
  if (id == "gzip" || id == "zlib") {
    ZARRPOINT_CHECK(only_members(members, {"id", "level"}));
    ZARRPOINT_TRY(level, integer_option(value, "level", 1));
    return codec_spec{v3_name_of(*row), json::object{{"level", std::move(level)}}};
  }
  if (id == "blosc") return parse_v2_blosc(value, item_size);
  json options = v2_options(value);
  if (id == "crc32c") {
    // At the end, where numcodecs puts it unless told otherwise, it is the codec of v3.
    ZARRPOINT_CHECK(only_members(members, {"id", "location"}));
    const json* location = value.find("location");
    if (location == nullptr || *location == json("end")) return codec_spec{"crc32c", {}};
    return codec_spec{"numcodecs.crc32c", std::move(options)};
  }
  // In v3 the size of the array's elements, in v2 always four.
  if (id == "shuffle" && options.find("elementsize") == nullptr) options.set("elementsize", 4);
  return codec_spec{v3_name_of(*row), std::move(options)};
}

/// The filter that makes bytes of objects, and what type the objects are then.
ZARRPOINT_INLINE result<codec_spec> parse_v2_object_filter(const json& filter,
                                                           const known_codec& row, dtype& type) {
  json options = v2_options(filter);
  if (row.id() == "vlen-utf8" || row.id() == "vlen-bytes") {
    if (!options.if_object()->empty())
      return unsupported("unknown member " + in_quotes(options.if_object()->front().key));
  }
  if (row.id() == "vlen-bytes" || row.id() == "vlen-array") type = dtype_kind::bytes;
  return codec_spec{v3_name_of(row), std::move(options)};
}

ZARRPOINT_INLINE result<void> parse_v2_chain(const json& zarray, v2_dtype type,
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
  const auto add = [&](const json& value) -> result<void> {
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
  if (const json* filters = zarray.find("filters"); filters != nullptr && !filters->is_null()) {
    const json::array* list = filters->if_array();
    if (list == nullptr) return corrupt("must be a list or null").at("filters");
    for (const json& filter : *list) ZARRPOINT_CHECK(add(filter).at("filters"));
  }
  const json* compressor = zarray.find("compressor");
  if (compressor != nullptr && !compressor->is_null())
    ZARRPOINT_CHECK(add(*compressor).at("compressor"));
  return make_bytes();
}

ZARRPOINT_INLINE json reversed_axes(std::size_t rank) {
  json::array axes;
  for (std::size_t i = rank; i-- > 0;) axes.emplace_back(static_cast<std::int64_t>(i));
  return axes;
}

ZARRPOINT_INLINE result<json> to_v2_blosc(const json& configuration) {
  const std::string* mode = configuration.find_string("shuffle");
  std::size_t number = 0;
  while (mode != nullptr && number < 3 && blosc_shuffles[number] != *mode) ++number;
  const json* cname = configuration.find("cname");
  if (mode == nullptr || number == 3 || cname == nullptr)
    return unsupported("codec \"blosc\" needs cname and shuffle in Zarr v2");
  ZARRPOINT_TRY(level, integer_option(configuration, "clevel", 5));
  ZARRPOINT_TRY(block_size, integer_option(configuration, "blocksize", 0));
  return json(json::object{{"blocksize", std::move(block_size)},
                           {"clevel", std::move(level)},
                           {"cname", *cname},
                           {"id", "blosc"},
                           {"shuffle", static_cast<std::int64_t>(number)}});
}

ZARRPOINT_INLINE result<json> to_v2_bytes_codec(const codec_spec& spec) {
  const known_codec* row = find_v2_name(spec.name);
  if (row == nullptr || (row->role != v2_role::bytes_filter && row->role != v2_role::compressor))
    return unsupported("Zarr v2 has no codec " + in_quotes(spec.name));
  if (row->id() == "zstd") {
    const json* checksum = spec.configuration.find("checksum");
    if (checksum != nullptr && *checksum != json(false))
      return unsupported(
          "zstd with a checksum is not written to Zarr v2, since TensorStore cannot read it");
    ZARRPOINT_TRY(level, integer_option(spec.configuration, "level", 0));
    return json(json::object{{"id", "zstd"}, {"level", std::move(level)}});
  }
  if (row->id() == "gzip" || row->id() == "zlib") {
    ZARRPOINT_TRY(level, integer_option(spec.configuration, "level", 1));
    return json(json::object{{"id", row->id()}, {"level", std::move(level)}});
  }
  if (row->id() == "blosc") return to_v2_blosc(spec.configuration);
  json out{json::object{{"id", row->id()}}};
  // Older versions of numcodecs have it at the start.
  if (row->id() == "crc32c") out.set("location", "end");
  if (const json::object* members = spec.configuration.if_object()) {
    for (const json::member& one : *members) out.set(one.key, one.value);
  }
  return out;
}

ZARRPOINT_INLINE result<v2_codecs> to_v2_codecs(const array_metadata& array) {
  v2_codecs out;
  json::array filters;
  std::span<const codec_spec> rest = array.codecs;
  if (rest.front().name == "transpose") {
    const json* order = rest.front().configuration.find("order");
    if (order == nullptr || (*order != reversed_axes(array.shape.rank()) && *order != json("F")))
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
    json filter{json::object{{"id", find_v2_name(serializer.name)->id()}}};
    if (const json::object* members = serializer.configuration.if_object()) {
      for (const json::member& one : *members) filter.set(one.key, one.value);
    }
    filters.push_back(std::move(filter));
    out.dtype = "|O";
  } else {
    const bool is_compressed = role_at(arrays) == v2_role::array_compressor;
    if (!is_compressed && serializer.name != "bytes" && serializer.name != "endian")
      return unsupported("Zarr v2 has no codec " + in_quotes(serializer.name));
    const v2_dtype stored =
        v2_dtype_of(array.type, is_compressed ? json() : serializer.configuration);
    ZARRPOINT_TRY(found, to_v2_array_filters(rest.first(arrays), stored));
    ZARRPOINT_TRY(type, to_v2_dtype(stored));
    out.dtype = std::move(type);
    filters = std::move(found);
    if (is_compressed) {
      json one{json::object{{"id", find_v2_name(serializer.name)->id()}}};
      if (const json::object* members = serializer.configuration.if_object()) {
        for (const json::member& member : *members) one.set(member.key, member.value);
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

ZARRPOINT_INLINE const known_codec* find_v2_id(std::string_view id) {
  for (const known_codec& row : known_codecs) {
    if (row.role != v2_role::none && row.id() == id) return &row;
  }
  return nullptr;
}

ZARRPOINT_INLINE const known_codec* find_v2_name(std::string_view name) {
  constexpr std::string_view prefix = "numcodecs.";
  if (name.starts_with(prefix)) return find_v2_id(name.substr(prefix.size()));
  const known_codec* row = find_v2_id(name);
  return row != nullptr && row->spelling == v3_spelling::plain ? row : nullptr;
}

ZARRPOINT_INLINE std::string v3_name_of(const known_codec& row) {
  return row.spelling == v3_spelling::plain ? row.name : std::string("numcodecs.") + row.name;
}

ZARRPOINT_INLINE json v2_options(const json& value) {
  json::object out;
  for (const json::member& one : *value.if_object()) {
    if (one.key != "id") out.push_back(one);
  }
  return out;
}

/// The members that say as what an array filter sees elements and as what it leaves them; none
/// where the filter has no such member.
struct v2_filter_types {
  std::string_view from{};
  std::string_view to{};
};

ZARRPOINT_INLINE v2_filter_types types_of_filter(std::string_view id) {
  if (id == "astype") return {"decode_dtype", "encode_dtype"};
  if (id == "packbits" || id == "bitround") return {};
  return {"dtype", "astype"};
}

ZARRPOINT_INLINE result<v2_dtype> parse_v2_filter_dtype(const json& value) {
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a string");
  if (const auto named = parse_dtype(*text)) return v2_dtype{*named};
  if (!text->empty() && std::string_view("biufc").find(text->front()) != std::string_view::npos) {
    const bool is_byte = text->size() == 2 && text->back() == '1';
    return parse_v2_dtype(json((is_byte ? "|" : "<") + *text));
  }
  return parse_v2_dtype(value);
}

ZARRPOINT_INLINE result<codec_spec> parse_v2_array_filter(const json& filter,
                                                          const known_codec& row,
                                                          v2_dtype& elements) {
  json options = v2_options(filter);
  const auto [from, to] = types_of_filter(row.id());
  if (const json* given = from.empty() ? nullptr : options.find(from)) {
    ZARRPOINT_TRY(seen, parse_v2_filter_dtype(*given).at(std::string(from)));
    if (seen.type.scalar_size() > 1) {
      const bool is_swapped = elements.type.scalar_size() > 1 && seen.order != elements.order;
      ZARRPOINT_TRY(text, to_v2_dtype({seen.type, is_swapped ? endian::big : endian::little}));
      options.set(std::string(from), std::move(text));
    }
    elements = std::move(seen);
  }
  if (row.id() == "packbits") elements = v2_dtype{dtype_kind::uint8};
  if (const json* made = to.empty() ? nullptr : options.find(to); made && !made->is_null()) {
    ZARRPOINT_TRY(type, parse_v2_filter_dtype(*made).at(std::string(to)));
    elements = std::move(type);
  }
  return codec_spec{v3_name_of(row), std::move(options)};
}

ZARRPOINT_INLINE result<json::array> to_v2_array_filters(std::span<const codec_spec> codecs,
                                                         const v2_dtype& elements) {
  json::array out;
  const endian order = elements.order;
  dtype type = elements.type;
  for (const codec_spec& spec : codecs) {
    const known_codec& row = *find_v2_name(spec.name);
    json filter{json::object{{"id", row.id()}}};
    if (const json::object* members = spec.configuration.if_object()) {
      for (const json::member& one : *members) filter.set(one.key, one.value);
    }
    const auto [from, to] = types_of_filter(row.id());
    bool is_swapped = false;
    if (!from.empty()) {
      const json* given = filter.find(from);
      if (given != nullptr && !given->is_null()) {
        ZARRPOINT_TRY(seen, parse_v2_filter_dtype(*given).at(std::string(from)));
        is_swapped = seen.order == endian::big && seen.type.scalar_size() > 1;
        type = std::move(seen.type);
      }
      const endian other = order == endian::big ? endian::little : endian::big;
      ZARRPOINT_TRY(text, to_v2_dtype({type, is_swapped ? other : order}));
      filter.set(std::string(from), std::move(text));
      const json* made = filter.find(to);
      const bool has_made = made != nullptr && !made->is_null();
      if (has_made) {
        ZARRPOINT_TRY(next, parse_v2_filter_dtype(*made).at(std::string(to)));
        type = std::move(next.type);
      }
      if (has_made || is_swapped) {
        ZARRPOINT_TRY(text_made, to_v2_dtype({type, order}));
        filter.set(std::string(to), std::move(text_made));
      }
    }
    if (row.id() == "packbits") type = dtype_kind::uint8;
    out.push_back(std::move(filter));
  }
  return out;
}

// --------------------------------------------------------------------------------- metadata_v2.hpp

ZARRPOINT_INLINE result<std::vector<v2_node>> parse_zmetadata(const json& document) {
  ZARRPOINT_TRY(format, detail::required(document, "zarr_consolidated_format"));
  if (*format != json(1)) return detail::unsupported("zarr_consolidated_format is not 1");
  ZARRPOINT_TRY(metadata, detail::required(document, "metadata"));
  const json::object* members = metadata->if_object();
  if (members == nullptr) return detail::corrupt("metadata must be an object");
  std::vector<v2_node> nodes;
  std::vector<std::pair<std::string_view, const json*>> attributes;
  for (const auto& [key, value] : *members) {
    const std::string_view whole = key;
    const auto slash = whole.rfind('/');
    const std::string_view path = slash == whole.npos ? "" : whole.substr(0, slash);
    const std::string_view name = slash == whole.npos ? whole : whole.substr(slash + 1);
    const bool is_array = name == ".zarray";
    if (!is_array && name != ".zgroup" && name != ".zattrs") continue;
    if (slash != whole.npos) ZARRPOINT_CHECK(detail::check_safe_path(path));
    if (value.if_object() == nullptr)
      return detail::corrupt(detail::in_quotes(key) + " must be an object");
    if (name == ".zattrs") {
      attributes.emplace_back(path, &value);
    } else {
      nodes.push_back(
          {std::string(path), is_array ? node_kind::array : node_kind::group, value, json()});
    }
  }
  detail::sort_by_text(nodes, [](const v2_node& one) -> std::string_view { return one.path; });
  const auto twice =
      std::adjacent_find(nodes.begin(), nodes.end(),
                         [](const v2_node& a, const v2_node& b) { return a.path == b.path; });
  if (twice != nodes.end())
    return detail::corrupt(detail::in_quotes(twice->path) + " is both an array and a group");
  for (const auto& [path, value] : attributes) {
    const auto at =
        std::lower_bound(nodes.begin(), nodes.end(), path,
                         [](const v2_node& a, std::string_view wanted) { return a.path < wanted; });
    if (at != nodes.end() && at->path == path) at->attributes = *value;
  }
  return nodes;
}

ZARRPOINT_INLINE result<json> to_zmetadata(std::span<const v2_node> nodes) {
  json::object metadata;
  for (const v2_node& one : nodes) {
    if (!one.path.empty()) ZARRPOINT_CHECK(check_node_path(one.path));
    const std::string prefix = one.path.empty() ? "" : one.path + "/";
    const bool is_array = one.kind == node_kind::array;
    metadata.push_back({prefix + (is_array ? ".zarray" : ".zgroup"), one.document});
    if (!one.attributes.is_null()) metadata.push_back({prefix + ".zattrs", one.attributes});
  }
  detail::sort_by_text(metadata,
                       [](const json::member& one) -> std::string_view { return one.key; });
  json out(json::object{{"metadata", std::move(metadata)}, {"zarr_consolidated_format", 1}});
  ZARRPOINT_CHECK(detail::check_writable(out));
  return out;
}

ZARRPOINT_INLINE result<chunk_key_encoding> parse_v2_separator(const json* value) {
  chunk_key_encoding out{chunk_key_encoding::style::v2, '.'};
  if (value == nullptr) return out;
  const std::string* text = value->if_string();
  if (text == nullptr || (*text != "." && *text != "/")) return corrupt("must be \".\" or \"/\"");
  out.separator = (*text)[0];
  return out;
}

ZARRPOINT_INLINE result<bool> parse_v2_order(const json& value) {
  if (value == json("C")) return false;
  if (value == json("F")) return true;
  return corrupt("must be \"C\" or \"F\"");
}

/// The v3 chain of the members `order`, `dtype`, `filters` and `compressor`.
ZARRPOINT_INLINE result<void> read_v2_codecs(const json& zarray, array_metadata& out) {
  ZARRPOINT_TRY(dtype_member, required(zarray, "dtype"));
  ZARRPOINT_TRY(order_member, required(zarray, "order"));
  ZARRPOINT_TRY(type, parse_v2_dtype(*dtype_member).at("dtype"));
  ZARRPOINT_TRY(is_fortran, parse_v2_order(*order_member).at("order"));
  if (is_fortran && out.shape.rank() > 1)
    out.codecs.emplace_back("transpose", json::object{{"order", reversed_axes(out.shape.rank())}});
  return parse_v2_chain(zarray, std::move(type), out);
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> parse_array_v2(const json& zarray, const json* attributes) {
  ZARRPOINT_CHECK(detail::check_format(zarray, 2));
  array_metadata out;
  out.zarr_format = 2;
  ZARRPOINT_TRY(shape, detail::required(zarray, "shape"));
  ZARRPOINT_TRY(chunks, detail::required(zarray, "chunks"));
  ZARRPOINT_TRY(fill, detail::required(zarray, "fill_value"));
  ZARRPOINT_TRY(extents, detail::parse_extents(*shape).at("shape"));
  ZARRPOINT_TRY(chunk_extents, detail::parse_extents(*chunks).at("chunks"));
  out.shape = extents;
  out.chunk_shape = chunk_extents;
  ZARRPOINT_CHECK(detail::read_v2_codecs(zarray, out));
  ZARRPOINT_TRY(parsed_fill, detail::parse_fill_value(*fill, out.type, 2).at("fill_value"));
  if (out.type.record() != nullptr && fill->if_string() != nullptr) {
    // All bytes of the record as it is stored.
    ZARRPOINT_TRY(stored, detail::parse_v2_dtype(*zarray.find("dtype")));
    ZARRPOINT_TRY(native, detail::reorder_record(parsed_fill, stored, false).at("fill_value"));
    parsed_fill = std::move(native);
  }
  out.fill = std::move(parsed_fill);
  ZARRPOINT_TRY(
      keys,
      detail::parse_v2_separator(zarray.find("dimension_separator")).at("dimension_separator"));
  out.keys = keys;
  ZARRPOINT_TRY(parsed_attributes, detail::parse_attributes(attributes ? *attributes : json()));
  out.attributes = std::move(parsed_attributes);
  detail::mend_empty_chunks(out);
  ZARRPOINT_CHECK(detail::check_array_metadata(out));
  return out;
}

ZARRPOINT_INLINE result<v2_documents> to_v2(const array_metadata& array) {
  if (auto status = detail::check_array_metadata(array); !status)
    return error{errc::invalid_argument, status.failure().message};
  if (array.keys.kind != chunk_key_encoding::style::v2)
    return detail::unsupported("Zarr v2 has no chunk key encoding \"default\"");
  if (array.dimension_names) return detail::unsupported("Zarr v2 has no dimension names");
  if (!array.edges.empty()) return detail::unsupported("Zarr v2 has no rectilinear grids");
  ZARRPOINT_TRY(codecs, detail::to_v2_codecs(array));
  fill_value stored_fill = array.fill;
  if (array.type.record() != nullptr) {
    ZARRPOINT_TRY(stored, detail::parse_v2_dtype(codecs.dtype));
    ZARRPOINT_TRY(reordered, detail::reorder_record(array.fill, stored, true).at("fill_value"));
    stored_fill = std::move(reordered);
  }
  ZARRPOINT_TRY(fill, detail::fill_value_to_json(stored_fill, array.type, 2).at("fill_value"));
  v2_documents out;
  out.document = json::object{{"chunks", detail::extents_to_json(array.chunk_shape)},
                              {"compressor", std::move(codecs.compressor)},
                              {"dimension_separator", std::string(1, array.keys.separator)},
                              {"dtype", std::move(codecs.dtype)},
                              {"fill_value", std::move(fill)},
                              {"filters", std::move(codecs.filters)},
                              {"order", codecs.is_fortran ? "F" : "C"},
                              {"shape", detail::extents_to_json(array.shape)},
                              {"zarr_format", 2}};
  ZARRPOINT_CHECK(detail::check_writable(out.document));
  ZARRPOINT_CHECK(detail::check_writable_attributes(array.attributes));
  const json::object* members = array.attributes.if_object();
  if (members != nullptr && !members->empty()) out.attributes = array.attributes;
  return out;
}

ZARRPOINT_INLINE result<group_metadata> parse_group_v2(const json& zgroup, const json* attributes) {
  ZARRPOINT_CHECK(detail::check_format(zgroup, 2));
  group_metadata out;
  out.zarr_format = 2;
  ZARRPOINT_TRY(parsed, detail::parse_attributes(attributes ? *attributes : json()));
  out.attributes = std::move(parsed);
  return out;
}

ZARRPOINT_INLINE result<v2_documents> to_v2(const group_metadata& group) {
  ZARRPOINT_CHECK(detail::check_writable_attributes(group.attributes));
  v2_documents out{json::object{{"zarr_format", 2}}, json()};
  const json::object* members = group.attributes.if_object();
  if (members != nullptr && !members->empty()) out.attributes = group.attributes;
  return out;
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/array_to_bytes/bodies.hpp>
#include <zarrpoint/zarr/type_bodies.hpp>
#endif
