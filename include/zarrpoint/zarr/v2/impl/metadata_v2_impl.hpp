// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>
#include <zarrpoint/zarr/v2/v2_codecs.hpp>

#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<chunk_key_encoding> parse_v2_separator(const node* value) {
  chunk_key_encoding out{chunk_key_encoding::style::v2, '.'};
  if (value == nullptr) return out;
  const std::string* text = value->if_string();
  if (text == nullptr || (*text != "." && *text != "/")) return corrupt("must be \".\" or \"/\"");
  out.separator = (*text)[0];
  return out;
}

ZARRPOINT_INLINE result<bool> parse_v2_order(const node& value) {
  if (value == node("C")) return false;
  if (value == node("F")) return true;
  return corrupt("must be \"C\" or \"F\"");
}

/// The v3 chain of the members `order`, `dtype`, `filters` and `compressor`.
ZARRPOINT_INLINE result<void> read_v2_codecs(const node& zarray, array_metadata& out) {
  ZARRPOINT_TRY(dtype_member, required(zarray, "dtype"));
  ZARRPOINT_TRY(order_member, required(zarray, "order"));
  ZARRPOINT_TRY(type, parse_v2_dtype(*dtype_member).at("dtype"));
  ZARRPOINT_TRY(is_fortran, parse_v2_order(*order_member).at("order"));
  if (is_fortran && out.shape.rank() > 1)
    out.codecs.emplace_back("transpose", node::object{{"order", reversed_axes(out.shape.rank())}});
  return parse_v2_chain(zarray, std::move(type), out);
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> parse_array_v2(const node& zarray, const node* attributes) {
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
  ZARRPOINT_TRY(parsed_attributes, detail::parse_attributes(attributes ? *attributes : node()));
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
  ZARRPOINT_TRY(fill, detail::fill_value_to_node(stored_fill, array.type, 2).at("fill_value"));
  v2_documents out;
  out.document = node::object{{"chunks", detail::extents_to_node(array.chunk_shape)},
                              {"compressor", std::move(codecs.compressor)},
                              {"dimension_separator", std::string(1, array.keys.separator)},
                              {"dtype", std::move(codecs.dtype)},
                              {"fill_value", std::move(fill)},
                              {"filters", std::move(codecs.filters)},
                              {"order", codecs.is_fortran ? "F" : "C"},
                              {"shape", detail::extents_to_node(array.shape)},
                              {"zarr_format", 2}};
  ZARRPOINT_CHECK(detail::check_writable(out.document));
  ZARRPOINT_CHECK(detail::check_writable_attributes(array.attributes));
  const node::object* members = array.attributes.if_object();
  if (members != nullptr && !members->empty()) out.attributes = array.attributes;
  return out;
}

ZARRPOINT_INLINE result<group_metadata> parse_group_v2(const node& zgroup, const node* attributes) {
  ZARRPOINT_CHECK(detail::check_format(zgroup, 2));
  group_metadata out;
  out.zarr_format = 2;
  ZARRPOINT_TRY(parsed, detail::parse_attributes(attributes ? *attributes : node()));
  out.attributes = std::move(parsed);
  return out;
}

ZARRPOINT_INLINE result<v2_documents> to_v2(const group_metadata& group) {
  ZARRPOINT_CHECK(detail::check_writable_attributes(group.attributes));
  v2_documents out{node::object{{"zarr_format", 2}}, node()};
  const node::object* members = group.attributes.if_object();
  if (members != nullptr && !members->empty()) out.attributes = group.attributes;
  return out;
}

}}  // namespace zarrpoint::v0
