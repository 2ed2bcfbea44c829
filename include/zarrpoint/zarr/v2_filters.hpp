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
inline result<v2_dtype> parse_filter_dtype(const node& value) {
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a string");
  if (const auto named = parse_dtype(*text)) return v2_dtype{*named};
  if (!text->empty() && (text->front() == 'i' || text->front() == 'u' || text->front() == 'f' ||
                         text->front() == 'b' || text->front() == 'c')) {
    const bool is_byte = text->size() == 2 && text->back() == '1';
    return parse_v2_dtype(node((is_byte ? "|" : "<") + *text));
  }
  return parse_v2_dtype(value);
}

inline bool same_elements(const v2_dtype& a, const v2_dtype& b) {
  return a.type == b.type && (a.type.scalar_size() == 1 || a.order == b.order);
}

/// An array filter as a codec; `elements` is what it gets, and becomes what it makes.
inline result<codec_spec> parse_v2_array_filter(const node& filter, const v2_codec_name& row,
                                                v2_dtype& elements) {
  node options = v2_options(filter);
  const auto [from, to] = types_of_filter(row.id);
  if (const node* given = from.empty() ? nullptr : options.find(from)) {
    ZARRPOINT_TRY(seen, parse_filter_dtype(*given).at(std::string(from)));
    if (!same_elements(seen, elements)) {
      ZARRPOINT_TRY(found, to_v2_dtype(elements));
      return unsupported("elements of type " + in_quotes(*found.if_string()) + " taken for " +
                         in_quotes(*given->if_string()));
    }
  }
  if (row.id == "packbits") elements = v2_dtype{dtype_kind::uint8};
  if (const node* made = to.empty() ? nullptr : options.find(to); made && !made->is_null()) {
    ZARRPOINT_TRY(type, parse_filter_dtype(*made).at(std::string(to)));
    elements = std::move(type);
  }
  return codec_spec{std::string(row.name), std::move(options)};
}

/// What the array codecs of a v3 chain are in v2.
struct v2_array_filters {
  node::array filters{};
  v2_dtype first;  ///< the elements of the array
  v2_dtype last;   ///< those that are stored
};

/// `elements` is of the array, in the byte order that the chain stores; `is_forced` gives all
/// elements in between that order, too, since only the last ones have any in v3.
inline result<v2_array_filters> to_v2_array_filters(std::span<const codec_spec> codecs,
                                                    const v2_dtype& elements, bool is_forced) {
  v2_array_filters out{{}, elements, elements};
  for (const codec_spec& spec : codecs) {
    const v2_codec_name& row = *find_v2_name(spec.name);
    node filter{node::object{{"id", row.id}}};
    if (const node::object* members = spec.configuration.if_object()) {
      for (const node::member& one : *members) filter.set(one.key, one.value);
    }
    const auto [from, to] = types_of_filter(row.id);
    const auto typed = [&](std::string_view key, v2_dtype type) -> result<v2_dtype> {
      if (const node* given = filter.find(key); given != nullptr && !given->is_null()) {
        ZARRPOINT_TRY(parsed, parse_filter_dtype(*given).at(std::string(key)));
        type = is_forced ? v2_dtype{parsed.type, elements.order} : std::move(parsed);
      }
      ZARRPOINT_TRY(text, to_v2_dtype(type));
      filter.set(std::string(key), std::move(text));
      return type;
    };
    if (!from.empty()) {
      ZARRPOINT_TRY(seen, typed(from, out.last));
      if (seen.type != out.last.type)
        return unsupported("codec " + in_quotes(spec.name) +
                           " takes other elements than there are");
      // Nothing before the first filter says anything else about the order.
      if (out.filters.empty()) out.first = out.last = seen;
      if (!same_elements(seen, out.last))
        return unsupported("codec " + in_quotes(spec.name) + " changes the byte order");
      if (const node* made = filter.find(to); made != nullptr && !made->is_null()) {
        ZARRPOINT_TRY(type, typed(to, out.last));
        out.last = std::move(type);
      }
    } else if (row.id == "packbits") {
      out.last = v2_dtype{dtype_kind::uint8};
    }
    out.filters.push_back(std::move(filter));
  }
  return out;
}

}  // namespace zarrpoint::inline v0::detail
