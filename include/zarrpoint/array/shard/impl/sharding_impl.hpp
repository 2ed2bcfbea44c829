// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::vector<codec_spec> sharding_config::default_index_codecs() {
  return {{"bytes", node::object{{"endian", "little"}}}, {"crc32c"}};
}

namespace detail {

/// Whether shards lie within each other deeper than `levels`. What is made of each level holds a
/// copy of all below it, which must not make a short document take long.
ZARRPOINT_INLINE bool is_deeper(const node& configuration, std::size_t levels) {
  const node* const codecs = configuration.find("codecs");
  const node::array* const list = codecs != nullptr ? codecs->if_array() : nullptr;
  if (list == nullptr) return false;
  for (const node& one : *list) {
    const node* const name = one.find("name");
    if (name == nullptr || *name != node(sharding_config::name)) continue;
    const node* const inner = one.find("configuration");
    if (levels == 1 || (inner != nullptr && is_deeper(*inner, levels - 1))) return true;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<sharding_config> sharding_config::from_configuration(
    const node& configuration) {
  const node::object* members = configuration.if_object();
  if (members == nullptr) return error{errc::corrupt, "sharding_indexed: configuration is missing"};
  if (detail::is_deeper(configuration, most_levels))
    return error{errc::unsupported, "sharding_indexed: shards within each other deeper than " +
                                        std::to_string(most_levels) + " levels"};
  return parse(configuration, *members).at(name);
}

ZARRPOINT_INLINE result<node> sharding_config::configuration() const {
  ZARRPOINT_TRY(inner, detail::codec_specs_to_node(codecs));
  ZARRPOINT_TRY(index, detail::codec_specs_to_node(index_codecs));
  return node(node::object{{"chunk_shape", detail::extents_to_node(chunk_shape)},
                           {"codecs", std::move(inner)},
                           {"index_codecs", std::move(index)},
                           {"index_location", location == index_location::end ? "end" : "start"}});
}

ZARRPOINT_INLINE result<codec_spec> sharding_config::to_spec() const {
  ZARRPOINT_TRY(members, configuration());
  return codec_spec{std::string(name), std::move(members), true};
}

ZARRPOINT_INLINE result<sharding_config> sharding_config::parse(const node& configuration,
                                                                const node::object& members) {
  ZARRPOINT_CHECK(
      detail::only_members(members, {"chunk_shape", "codecs", "index_codecs", "index_location"}));
  sharding_config out;
  ZARRPOINT_TRY(shape_node, detail::required(configuration, "chunk_shape"));
  ZARRPOINT_TRY(shape, detail::parse_extents(*shape_node).at("chunk_shape"));
  out.chunk_shape = shape;
  ZARRPOINT_TRY(codecs_node, detail::required(configuration, "codecs"));
  ZARRPOINT_TRY(inner, detail::parse_codec_specs(*codecs_node).at("codecs"));
  out.codecs = std::move(inner);
  ZARRPOINT_TRY(index_node, detail::required(configuration, "index_codecs"));
  ZARRPOINT_TRY(index, detail::parse_codec_specs(*index_node).at("index_codecs"));
  out.index_codecs = std::move(index);
  if (const node* at = configuration.find("index_location")) {
    const std::string* text = at->if_string();
    if (text == nullptr || (*text != "start" && *text != "end"))
      return error{errc::corrupt, "index_location must be \"start\" or \"end\""};
    out.location = *text == "end" ? index_location::end : index_location::start;
  }
  return out;
}

}}  // namespace zarrpoint::v0
