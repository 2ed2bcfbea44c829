// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<node_kind> parse_node_kind_v3(const node& document) {
  ZARRPOINT_CHECK(detail::check_format(document, 3));
  ZARRPOINT_TRY(type, detail::required(document, "node_type"));
  const std::string* name = type->if_string();
  if (name != nullptr && *name == "array") return node_kind::array;
  if (name != nullptr && *name == "group") return node_kind::group;
  return detail::corrupt("node_type must be \"array\" or \"group\"");
}

/// `{"kind": "inline", "chunk_shapes": [[[3, 2], 4], 5]}`.
ZARRPOINT_INLINE result<void> parse_rectilinear_grid(const node& configuration,
                                                     array_metadata& out) {
  ZARRPOINT_TRY(kind, required(configuration, "kind"));
  if (*kind != node("inline")) return unsupported("a rectilinear grid must be of kind \"inline\"");
  ZARRPOINT_TRY(shapes, required(configuration, "chunk_shapes"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"kind", "chunk_shapes"}));
  const node::array* axes = shapes->if_array();
  if (axes == nullptr || axes->size() > max_rank)
    return corrupt("chunk_shapes must be a list with one entry for each axis");
  for (const node& axis : *axes) {
    ZARRPOINT_TRY(edges, parse_axis_edges(axis).at("chunk_shapes"));
    out.chunk_shape.push_back(edges.largest());
    out.edges.push_back(std::move(edges));
  }
  return {};
}

ZARRPOINT_INLINE result<void> parse_chunk_grid(const node& value, array_metadata& out) {
  ZARRPOINT_TRY(named, parse_named(value));
  if (named.name == "rectilinear") return parse_rectilinear_grid(*named.configuration, out);
  if (named.name != "regular")
    return unsupported("chunk grid " + in_quotes(named.name) + " is not supported");
  ZARRPOINT_TRY(shape, required(*named.configuration, "chunk_shape"));
  ZARRPOINT_CHECK(only_members(*named.configuration->if_object(), {"chunk_shape"}));
  ZARRPOINT_TRY(extents, parse_extents(*shape).at("chunk_shape"));
  out.chunk_shape = extents;
  return {};
}

ZARRPOINT_INLINE node chunk_grid_to_node(const array_metadata& array) {
  if (array.edges.empty())
    return node::object{
        {"name", "regular"},
        {"configuration", node::object{{"chunk_shape", extents_to_node(array.chunk_shape)}}}};
  node::array axes;
  for (const axis_edges& axis : array.edges) axes.push_back(axis_edges_to_node(axis));
  return node::object{
      {"name", "rectilinear"},
      {"configuration", node::object{{"kind", "inline"}, {"chunk_shapes", std::move(axes)}}}};
}

/// `{"name": "default", "configuration": {"separator": "/"}}`. The configuration may be absent, the
/// whole be a bare name, and the separator stand beside the name; all of these occur.
ZARRPOINT_INLINE result<chunk_key_encoding> parse_chunk_key_encoding(const node& value) {
  ZARRPOINT_TRY(named, parse_named(value, "separator"));
  const node* separator = value.find("separator");
  chunk_key_encoding out;
  if (named.name == "v2") {
    out = {chunk_key_encoding::style::v2, '.'};
  } else if (named.name != "default") {
    return unsupported("chunk key encoding " + in_quotes(named.name) + " is not supported");
  }
  if (const node::object* members = named.configuration->if_object()) {
    ZARRPOINT_CHECK(only_members(*members, {"separator"}));
    if (const node* configured = named.configuration->find("separator")) {
      if (separator != nullptr) return corrupt("separator is given twice");
      separator = configured;
    }
  }
  if (separator != nullptr) {
    const std::string* text = separator->if_string();
    if (text == nullptr || (*text != "/" && *text != "."))
      return corrupt("separator must be \"/\" or \".\"");
    out.separator = (*text)[0];
  }
  return out;
}

ZARRPOINT_INLINE result<std::optional<dimension_names_list>> parse_dimension_names(
    const node& value) {
  std::optional<dimension_names_list> out;
  if (value.is_null()) return out;
  const node::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be a list");
  out.emplace();
  for (const node& name : *list) {
    if (name.is_null()) {
      out->emplace_back();
    } else if (const std::string* text = name.if_string()) {
      out->emplace_back(*text);
    } else {
      return corrupt("must be strings or null");
    }
  }
  return out;
}

/// There are none that we know; those that may be left out are.
ZARRPOINT_INLINE result<void> check_storage_transformers(const node& value) {
  if (value.is_null()) return {};
  const node::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be a list");
  for (const node& transformer : *list) {
    ZARRPOINT_TRY(named, parse_codec_spec(transformer));
    if (named.must_understand) return unsupported(in_quotes(named.name) + " is not supported");
  }
  return {};
}

/// Takes the documents out of `value`: they may be tens of megabytes.
ZARRPOINT_INLINE result<consolidated_documents> take_consolidated(node& value) {
  ZARRPOINT_CHECK(required(value, "metadata"));
  node::object* members = value.find("metadata")->if_object();
  if (members == nullptr) return corrupt("metadata must be an object");
  for (const node::member& member : *members) {
    ZARRPOINT_CHECK(check_safe_path(member.key));
    if (member.value.if_object() == nullptr)
      return corrupt(in_quotes(member.key) + " must be an object");
  }
  return std::move(*members);
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> parse_array_v3(const node& document) {
  ZARRPOINT_TRY(kind, detail::parse_node_kind_v3(document));
  if (kind != node_kind::array) return detail::corrupt("is a group, not an array");
  array_metadata out;
  const node* type = nullptr;
  const node* fill = nullptr;
  bool has_shape = false;
  bool has_grid = false;
  bool has_keys = false;
  bool has_codecs = false;
  for (const auto& [key, value] : *document.if_object()) {
    if (key == "zarr_format" || key == "node_type") continue;
    if (key == "shape") {
      ZARRPOINT_TRY(shape, detail::parse_extents(value).at(key));
      out.shape = shape;
      has_shape = true;
    } else if (key == "data_type") {
      type = &value;
    } else if (key == "chunk_grid") {
      ZARRPOINT_CHECK(detail::parse_chunk_grid(value, out).at(key));
      has_grid = true;
    } else if (key == "chunk_key_encoding") {
      ZARRPOINT_TRY(keys, detail::parse_chunk_key_encoding(value).at(key));
      out.keys = keys;
      has_keys = true;
    } else if (key == "fill_value") {
      fill = &value;
    } else if (key == "codecs") {
      ZARRPOINT_TRY(codecs, detail::parse_codec_specs(value).at(key));
      out.codecs = std::move(codecs);
      has_codecs = true;
    } else if (key == "attributes") {
      ZARRPOINT_TRY(attributes, detail::parse_attributes(value));
      out.attributes = std::move(attributes);
    } else if (key == "dimension_names") {
      ZARRPOINT_TRY(names, detail::parse_dimension_names(value).at(key));
      out.dimension_names = std::move(names);
    } else if (key == "storage_transformers") {
      ZARRPOINT_CHECK(detail::check_storage_transformers(value).at(key));
    } else if (!detail::may_ignore(value)) {
      return detail::unsupported("unknown member " + detail::in_quotes(key));
    }
  }
  for (const auto& [present, name] :
       {std::pair{has_shape, "shape"}, std::pair{type != nullptr, "data_type"},
        std::pair{has_grid, "chunk_grid"}, std::pair{has_keys, "chunk_key_encoding"},
        std::pair{fill != nullptr, "fill_value"}, std::pair{has_codecs, "codecs"}}) {
    if (!present) return detail::corrupt("member " + detail::in_quotes(name) + " is missing");
  }
  ZARRPOINT_TRY(data_type, detail::parse_data_type_v3(*type));
  out.type = data_type;
  ZARRPOINT_TRY(parsed_fill, detail::parse_fill_value(*fill, data_type, 3).at("fill_value"));
  out.fill = std::move(parsed_fill);
  detail::mend_empty_chunks(out);
  ZARRPOINT_CHECK(detail::check_array_metadata(out));
  return out;
}

ZARRPOINT_INLINE result<node> to_v3(const array_metadata& array) {
  if (auto status = detail::check_array_metadata(array); !status)
    return error{errc::invalid_argument, status.failure().message};
  ZARRPOINT_TRY(fill, detail::fill_value_to_node(array.fill, array.type, 3).at("fill_value"));
  ZARRPOINT_TRY(type, detail::data_type_to_node(array.type).at("data_type"));
  for (const codec_spec& one : array.codecs) {
    if (one.configuration.find("field_endian") != nullptr)
      return detail::unsupported("Zarr v3 cannot hold records whose fields differ in byte order");
  }
  ZARRPOINT_TRY(codecs, detail::codec_specs_to_node(array.codecs));
  const bool is_v2_key = array.keys.kind == chunk_key_encoding::style::v2;
  node out(node::object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", detail::extents_to_node(array.shape)},
      {"data_type", std::move(type)},
      {"chunk_grid", detail::chunk_grid_to_node(array)},
      {"chunk_key_encoding",
       node::object{
           {"name", is_v2_key ? "v2" : "default"},
           {"configuration", node::object{{"separator", std::string(1, array.keys.separator)}}}}},
      {"fill_value", std::move(fill)},
      {"codecs", std::move(codecs)},
  });
  if (const auto* members = array.attributes.if_object(); members != nullptr && !members->empty())
    out.set("attributes", array.attributes);
  if (array.dimension_names) {
    node::array names;
    for (const auto& name : *array.dimension_names) names.push_back(name ? node(*name) : node());
    out.set("dimension_names", std::move(names));
  }
  ZARRPOINT_CHECK(detail::check_writable_attributes(array.attributes));
  ZARRPOINT_CHECK(detail::check_writable(out));
  return out;
}

ZARRPOINT_INLINE result<group_metadata> parse_group_v3(node document) {
  ZARRPOINT_TRY(kind, detail::parse_node_kind_v3(document));
  if (kind != node_kind::group) return detail::corrupt("is an array, not a group");
  group_metadata out;
  for (auto& [key, value] : *document.if_object()) {
    if (key == "zarr_format" || key == "node_type") continue;
    if (key == "attributes") {
      ZARRPOINT_TRY(attributes, detail::parse_attributes(std::move(value)));
      out.attributes = std::move(attributes);
    } else if (key == "consolidated_metadata") {
      // zarr-python before 3.1.4 and acquire-zarr write null for none.
      if (value.is_null()) continue;
      const node* form = value.find("kind");
      if (form != nullptr && *form == node("inline")) {
        ZARRPOINT_TRY(documents, detail::take_consolidated(value).at(key));
        out.consolidated = std::move(documents);
      } else if (!detail::may_ignore(value)) {
        return detail::unsupported("consolidated_metadata is not of the kind \"inline\"");
      }
    } else if (!detail::may_ignore(value)) {
      return detail::unsupported("unknown member " + detail::in_quotes(key));
    }
  }
  return out;
}

ZARRPOINT_INLINE result<node> to_v3(const group_metadata& group) {
  return to_v3(group_metadata(group));
}

ZARRPOINT_INLINE result<node> to_v3(group_metadata&& group) {
  ZARRPOINT_CHECK(detail::check_writable_attributes(group.attributes));
  node out(node::object{{"zarr_format", 3}, {"node_type", "group"}});
  if (const auto* members = group.attributes.if_object(); members != nullptr && !members->empty())
    out.set("attributes", std::move(group.attributes));
  if (group.consolidated) {
    for (const auto& [path, document] : *group.consolidated) {
      if (auto status = detail::check_safe_path(path); !status)
        return error{errc::invalid_argument, status.failure().message};
    }
    // Not as elements of a list in braces, which are copied.
    node inline_documents(node::object{{"kind", "inline"}, {"must_understand", false}});
    inline_documents.set("metadata", *std::move(group.consolidated));
    out.set("consolidated_metadata", std::move(inline_documents));
  }
  ZARRPOINT_CHECK(detail::check_writable(out));
  return out;
}

}}  // namespace zarrpoint::v0
