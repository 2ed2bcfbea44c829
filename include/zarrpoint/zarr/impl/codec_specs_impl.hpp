// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<named_node> find_named(const node& value, std::string_view also) {
  static const node none;
  named_node out{{}, &none, true};
  if (const std::string* name = value.if_string()) {
    out.name = *name;
  } else {
    const node::object* members = value.if_object();
    if (members == nullptr) return detail::corrupt("must be an object with a name");
    ZARRPOINT_TRY(given, detail::required(value, "name"));
    if (given->if_string() == nullptr) return detail::corrupt("name must be a string");
    out.name = *given->if_string();
    ZARRPOINT_CHECK(only_members(*members, {"name", "configuration", "must_understand", also})
                        .at(in_quotes(out.name)));
    if (const node* configuration = value.find("configuration")) {
      if (configuration->if_object() == nullptr)
        return detail::corrupt(detail::in_quotes(out.name) + ": configuration must be an object");
      out.configuration = configuration;
    }
    if (const node* understand = value.find("must_understand")) {
      if (understand->if_bool() == nullptr)
        return detail::corrupt(detail::in_quotes(out.name) + ": must_understand must be a boolean");
      out.must_understand = *understand->if_bool();
    }
  }
  if (out.name.empty()) return detail::corrupt("name is empty");
  return out;
}

ZARRPOINT_INLINE result<codec_spec> parse_codec_spec(const node& value) {
  ZARRPOINT_TRY(found, find_named(value, "name"));
  codec_spec out;
  out.name = std::move(found.name);
  out.configuration = *found.configuration;
  out.must_understand = found.must_understand;
  return out;
}

ZARRPOINT_INLINE result<std::vector<codec_spec>> parse_codec_specs(const node& value) {
  const node::array* list = value.if_array();
  if (list == nullptr || list->empty()) return detail::corrupt("must be a list of codecs");
  // Chains have up to 32. More are said to be too many before anything is made of them.
  if (constexpr std::size_t most = 1024; list->size() > most)
    return error{errc::unsupported, std::to_string(list->size()) + " codecs; a chain may have 32"};
  std::vector<codec_spec> out;
  out.reserve(list->size());
  for (const node& element : *list) {
    ZARRPOINT_TRY(spec, parse_codec_spec(element));
    out.push_back(std::move(spec));
  }
  return out;
}

ZARRPOINT_INLINE result<node> codec_specs_to_node(std::span<const codec_spec> specs) {
  if (specs.empty()) return error{errc::invalid_argument, "a list of codecs must not be empty"};
  node::array out;
  for (const codec_spec& spec : specs) {
    if (!spec.must_understand)
      return error{errc::invalid_argument,
                   "codec " + detail::in_quotes(spec.name) +
                       " has must_understand: false, so the array can only be read"};
    node::object members{{"name", spec.name}};
    if (!spec.configuration.is_null()) members.push_back({"configuration", spec.configuration});
    out.emplace_back(std::move(members));
  }
  return node(std::move(out));
}

/// The levels that a codec has, by either of its names.
struct level_range {
  std::string_view name;
  std::string_view alias;
  std::int64_t low;
  std::int64_t high;

  static const level_range* of(std::string_view name) {
    // numcodecs passes -1 to zlib, whose default it means; `gzip` of Zarr v3 has no such level.
    static constexpr level_range ranges[] = {{"zstd", "numcodecs.zstd", -131072, 22},
                                             {"gzip", "numcodecs.gzip", 0, 9},
                                             {"zlib", "numcodecs.zlib", -1, 9}};
    for (const level_range& one : ranges)
      if (name == one.name || name == one.alias) return &one;
    return nullptr;
  }

  /// The level of `spec`, if it has one that is outside.
  std::optional<std::int64_t> outside(const codec_spec& spec) const {
    const node* const given = spec.configuration.find("level");
    const std::optional<std::int64_t> level = given ? given->to_int64() : std::nullopt;
    return level && (*level < low || *level > high) ? level : std::nullopt;
  }
};

ZARRPOINT_INLINE result<void> check_levels(std::span<const codec_spec> specs) {
  for (const codec_spec& spec : specs) {
    if (spec.name == "sharding_indexed") {
      for (const std::string_view list : {"codecs", "index_codecs"}) {
        const node* const inner = spec.configuration.find(list);
        if (inner == nullptr) continue;
        ZARRPOINT_TRY(parsed, parse_codec_specs(*inner).at(list).at(spec.name));
        ZARRPOINT_CHECK(check_levels(parsed));
      }
    }
    const level_range* const range = level_range::of(spec.name);
    const std::optional<std::int64_t> level = range ? range->outside(spec) : std::nullopt;
    if (level)
      return error{errc::invalid_argument, "codec " + in_quotes(spec.name) + ": level " +
                                               std::to_string(*level) + " is not from " +
                                               std::to_string(range->low) + " to " +
                                               std::to_string(range->high)};
  }
  return {};
}

ZARRPOINT_INLINE void mend_levels(std::span<codec_spec> specs) {
  for (codec_spec& spec : specs) {
    const level_range* const range = level_range::of(spec.name);
    const std::optional<std::int64_t> level = range ? range->outside(spec) : std::nullopt;
    if (!level) continue;
    // -1 of gzip is zlib's default, which is 6.
    const bool is_default = *level == -1 && range->name == "gzip";
    spec.configuration.set("level", is_default ? 6 : std::clamp(*level, range->low, range->high));
  }
}

ZARRPOINT_INLINE result<named_node> parse_named(const node& value, std::string_view also) {
  if (value.find("must_understand") != nullptr)
    return unsupported("unknown member \"must_understand\"");
  return find_named(value, also);
}

}}}  // namespace zarrpoint::v0::detail
