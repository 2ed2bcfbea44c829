// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/spec.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/typestr.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The filters of Zarr v2: what each of them is in v3, and those of elements told as v3 codecs and
// back. Filters of v2 look at bytes, and the `dtype` of each says as what; codecs of v3 look at
// elements, and the byte order comes at the end.
namespace zarrpoint::inline v0::detail {

/// Where a codec of numcodecs stands in a chain of v3.
enum class v2_role { array_filter, object_filter, bytes_filter, compressor };

struct v2_codec_name {
  std::string_view id;    ///< in Zarr v2
  std::string_view name;  ///< in Zarr v3
  v2_role role;
};

inline constexpr v2_codec_name v2_codec_names[] = {
    {"delta", "numcodecs.delta", v2_role::array_filter},
    {"fixedscaleoffset", "numcodecs.fixedscaleoffset", v2_role::array_filter},
    {"quantize", "numcodecs.quantize", v2_role::array_filter},
    {"bitround", "numcodecs.bitround", v2_role::array_filter},
    {"astype", "numcodecs.astype", v2_role::array_filter},
    {"packbits", "numcodecs.packbits", v2_role::array_filter},
    {"vlen-utf8", "vlen-utf8", v2_role::object_filter},
    {"vlen-bytes", "vlen-bytes", v2_role::object_filter},
    {"vlen-array", "numcodecs.vlen-array", v2_role::object_filter},
    {"json2", "numcodecs.json2", v2_role::object_filter},
    {"msgpack2", "numcodecs.msgpack2", v2_role::object_filter},
    {"categorize", "numcodecs.categorize", v2_role::object_filter},
    {"shuffle", "numcodecs.shuffle", v2_role::bytes_filter},
    {"crc32", "numcodecs.crc32", v2_role::bytes_filter},
    {"crc32c", "crc32c", v2_role::bytes_filter},
    {"adler32", "numcodecs.adler32", v2_role::bytes_filter},
    {"fletcher32", "numcodecs.fletcher32", v2_role::bytes_filter},
    {"jenkins_lookup3", "numcodecs.jenkins_lookup3", v2_role::bytes_filter},
    {"zstd", "zstd", v2_role::compressor},
    {"gzip", "gzip", v2_role::compressor},
    {"zlib", "numcodecs.zlib", v2_role::compressor},
    {"blosc", "blosc", v2_role::compressor},
    {"lz4", "numcodecs.lz4", v2_role::compressor},
    {"bz2", "numcodecs.bz2", v2_role::compressor},
    {"lzma", "numcodecs.lzma", v2_role::compressor},
    {"base64", "numcodecs.base64", v2_role::compressor},
};

/// The row of an id of Zarr v2, or null.
inline const v2_codec_name* find_v2_id(std::string_view id) {
  for (const v2_codec_name& row : v2_codec_names) {
    if (row.id == id) return &row;
  }
  return nullptr;
}

/// The row of a codec of Zarr v3, or null. All of them may have "numcodecs." before their ids.
inline const v2_codec_name* find_v2_name(std::string_view name) {
  for (const v2_codec_name& row : v2_codec_names) {
    if (row.name == name) return &row;
  }
  constexpr std::string_view prefix = "numcodecs.";
  return name.starts_with(prefix) ? find_v2_id(name.substr(prefix.size())) : nullptr;
}

/// The options of a filter or compressor: all members but its id.
inline node v2_options(const node& value) {
  node::object out;
  for (const node::member& one : *value.if_object()) {
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

inline v2_filter_types types_of_filter(std::string_view id) {
  if (id == "astype") return {"decode_dtype", "encode_dtype"};
  if (id == "packbits" || id == "bitround") return {};
  return {"dtype", "astype"};
}

/// A `dtype` of a filter: a typestr; one without byte order, `f8`; or a name, `float64`.
inline result<v2_dtype> parse_v2_filter_dtype(const node& value) {
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a string");
  if (const auto named = parse_dtype(*text)) return v2_dtype{*named};
  if (!text->empty() && std::string_view("biufc").find(text->front()) != std::string_view::npos) {
    const bool is_byte = text->size() == 2 && text->back() == '1';
    return parse_v2_dtype(node((is_byte ? "|" : "<") + *text));
  }
  return parse_v2_dtype(value);
}

/// An array filter as a codec; `elements` is what it gets, and becomes what it makes. The codec
/// gets elements in memory: it only has to know whether its `dtype` has another byte order than
/// they have, and `>` says so.
inline result<codec_spec> parse_v2_array_filter(const node& filter, const v2_codec_name& row,
                                                v2_dtype& elements) {
  node options = v2_options(filter);
  const auto [from, to] = types_of_filter(row.id);
  if (const node* given = from.empty() ? nullptr : options.find(from)) {
    ZARRPOINT_TRY(seen, parse_v2_filter_dtype(*given).at(std::string(from)));
    if (seen.type.scalar_size() > 1) {
      const bool is_swapped = elements.type.scalar_size() > 1 && seen.order != elements.order;
      ZARRPOINT_TRY(text, to_v2_dtype({seen.type, is_swapped ? endian::big : endian::little}));
      options.set(std::string(from), std::move(text));
    }
    elements = std::move(seen);
  }
  if (row.id == "packbits") elements = v2_dtype{dtype_kind::uint8};
  if (const node* made = to.empty() ? nullptr : options.find(to); made && !made->is_null()) {
    ZARRPOINT_TRY(type, parse_v2_filter_dtype(*made).at(std::string(to)));
    elements = std::move(type);
  }
  return codec_spec{std::string(row.name), std::move(options)};
}

/// Array codecs of a v3 chain as filters; `elements` is of the array, in the byte order that the
/// chain stores, and all types in between get that order, too.
inline result<node::array> to_v2_array_filters(std::span<const codec_spec> codecs,
                                               const v2_dtype& elements) {
  node::array out;
  const endian order = elements.order;
  dtype type = elements.type;
  for (const codec_spec& spec : codecs) {
    const v2_codec_name& row = *find_v2_name(spec.name);
    node filter{node::object{{"id", row.id}}};
    if (const node::object* members = spec.configuration.if_object()) {
      for (const node::member& one : *members) filter.set(one.key, one.value);
    }
    const auto [from, to] = types_of_filter(row.id);
    bool is_swapped = false;
    if (!from.empty()) {
      const node* given = filter.find(from);
      if (given != nullptr && !given->is_null()) {
        ZARRPOINT_TRY(seen, parse_v2_filter_dtype(*given).at(std::string(from)));
        is_swapped = seen.order == endian::big && seen.type.scalar_size() > 1;
        type = std::move(seen.type);
      }
      const endian other = order == endian::big ? endian::little : endian::big;
      ZARRPOINT_TRY(text, to_v2_dtype({type, is_swapped ? other : order}));
      filter.set(std::string(from), std::move(text));
      const node* made = filter.find(to);
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
    if (row.id == "packbits") type = dtype_kind::uint8;
    out.push_back(std::move(filter));
  }
  return out;
}

}  // namespace zarrpoint::inline v0::detail
