// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/data_type.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/metadata.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/node_name.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ------------------------------------------------------------------------------------ document.hpp

ZARRPOINT_INLINE error corrupt(std::string message) { return {errc::corrupt, std::move(message)}; }

ZARRPOINT_INLINE error unsupported(std::string message) {
  return {errc::unsupported, std::move(message)};
}

ZARRPOINT_INLINE std::optional<std::int64_t> integral_int64(const json& value) {
  if (const auto exact = value.to_int64()) return exact;
  if (value.is_integer() || !value.is_number()) return std::nullopt;
  const double number = *value.to_double();
  // -2^63 and 2^63 are exact doubles; NaN fails the comparison.
  if (!(number >= -0x1p63 && number < 0x1p63)) return std::nullopt;
  const auto truncated = static_cast<std::int64_t>(number);
  if (static_cast<double>(truncated) != number) return std::nullopt;
  return truncated;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> integral_uint64(const json& value) {
  if (const auto exact = value.to_uint64()) return exact;
  if (value.is_integer() || !value.is_number()) return std::nullopt;
  const double number = *value.to_double();
  if (!(number >= 0 && number < 0x1p64)) return std::nullopt;
  const auto truncated = static_cast<std::uint64_t>(number);
  if (static_cast<double>(truncated) != number) return std::nullopt;
  return truncated;
}

ZARRPOINT_INLINE json extents_to_json(const dims& extents) {
  json::array out;
  for (const index_t extent : extents) out.emplace_back(extent);
  return out;
}

ZARRPOINT_INLINE result<dims> parse_extents(const json& value) {
  const json::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be an array of integers");
  if (list->size() > max_rank)
    return unsupported("rank " + std::to_string(list->size()) + " is above " +
                       std::to_string(max_rank));
  dims out;
  for (const json& element : *list) {
    const auto extent = integral_int64(element);
    if (!extent || *extent < 0) return corrupt("must be an array of integers from 0 to 2^63 - 1");
    out.push_back(*extent);
  }
  return out;
}

ZARRPOINT_INLINE result<const json*> required(const json& document, std::string_view key) {
  if (const json* member = document.find(key)) return member;
  return corrupt("member " + in_quotes(key) + " is missing");
}

ZARRPOINT_INLINE result<void> only_members(const json::object& members,
                                           std::initializer_list<std::string_view> known) {
  for (const json::member& member : members) {
    if (std::find(known.begin(), known.end(), member.key) == known.end())
      return unsupported("unknown member " + in_quotes(member.key));
  }
  return {};
}

ZARRPOINT_INLINE result<void> check_format(const json& document, std::int64_t format) {
  if (document.if_object() == nullptr) return corrupt("not a JSON object");
  ZARRPOINT_TRY(value, required(document, "zarr_format"));
  const auto found = value->to_int64();
  if (!found) return corrupt("zarr_format must be an integer");
  if (*found != format)
    return unsupported("zarr_format is " + std::to_string(*found) + ", not " +
                       std::to_string(format));
  return {};
}

ZARRPOINT_INLINE result<json> parse_attributes(json value) {
  if (value.is_null()) return json();
  const json::object* members = value.if_object();
  if (members == nullptr) return corrupt("attributes must be an object");
  return members->empty() ? json() : std::move(value);
}

ZARRPOINT_INLINE bool may_ignore(const json& member) {
  const json* understand = member.find("must_understand");
  const bool* value = understand == nullptr ? nullptr : understand->if_bool();
  return value != nullptr && !*value;
}

ZARRPOINT_INLINE result<void> check_writable(const json& value, std::size_t levels) {
  const auto refuse = [](std::string why) { return error{errc::invalid_argument, std::move(why)}; };
  if (levels == 0) return refuse("nested too deeply");
  if (const std::string* text = value.if_string()) {
    if (!is_utf8(*text)) return refuse("text " + in_quotes(*text) + " is not UTF-8");
  } else if (const json::array* elements = value.if_array()) {
    for (const json& element : *elements) ZARRPOINT_CHECK(check_writable(element, levels - 1));
  } else if (const json::object* members = value.if_object()) {
    std::vector<named_place> keys;
    keys.reserve(members->size());
    for (const json::member& member : *members) {
      if (!is_utf8(member.key)) return refuse("key " + in_quotes(member.key) + " is not UTF-8");
      keys.push_back({member.key, keys.size()});
      ZARRPOINT_CHECK(check_writable(member.value, levels - 1));
    }
    if (const named_place* const twice = find_twice(keys))
      return refuse("key " + in_quotes(twice->text) + " occurs twice");
  }
  return {};
}

ZARRPOINT_INLINE result<void> check_writable_attributes(const json& attributes) {
  if (!attributes.is_null() && attributes.if_object() == nullptr)
    return error{errc::invalid_argument, "attributes must be an object"};
  return check_writable(attributes).at("attributes");
}

}  // namespace detail

// -------------------------------------------------------------------------------------- chunks.hpp

ZARRPOINT_INLINE axis_edges::axis_edges() : lists_(detail::make_counted<const lists>()) {}

ZARRPOINT_INLINE axis_edges::axis_edges(std::vector<chunk_run> runs, bool repeats)
    : repeats_(repeats) {
  std::vector<chunk> firsts;
  firsts.reserve(runs.size());
  chunk at;
  for (const chunk_run& run : runs) {
    at.extent = run.extent;
    firsts.push_back(at);
    // What overflows is refused by `check`, before anything is looked for.
    at.index = add(at.index, run.count);
    at.start = add(at.start, multiply(run.extent, run.count));
  }
  end_ = at.start;
  count_ = at.index;
  lists_ = detail::make_counted<const lists>(lists{std::move(runs), std::move(firsts)});
}

ZARRPOINT_INLINE axis_edges::chunk axis_edges::find(index_t at) const {
  const auto after = std::upper_bound(lists_->firsts.begin(), lists_->firsts.end(), at,
                                      [](index_t x, const chunk& one) { return x < one.start; });
  const chunk& first = *(after - 1);
  const index_t inside = (at - first.start) / first.extent;
  return {first.index + inside, first.start + inside * first.extent, first.extent};
}

ZARRPOINT_INLINE axis_edges::chunk axis_edges::at(index_t index) const {
  if (!repeats_ && index >= count_) return {index, end_, 0};
  const auto after = std::upper_bound(lists_->firsts.begin(), lists_->firsts.end(), index,
                                      [](index_t x, const chunk& one) { return x < one.index; });
  const chunk& first = *(after - 1);
  return {index, first.start + (index - first.index) * first.extent, first.extent};
}

ZARRPOINT_INLINE index_t axis_edges::largest() const {
  index_t out = 1;
  for (const chunk_run& run : lists_->runs) out = std::max(out, run.extent);
  return out;
}

ZARRPOINT_INLINE result<void> axis_edges::check(index_t length) const {
  if (lists_->runs.empty()) return error{errc::corrupt, "no chunk extents"};
  if (repeats_ && lists_->runs.size() != 1)
    return error{errc::corrupt, "more than one repeated extent"};
  index_t sum = 0;
  for (const chunk_run& run : lists_->runs) {
    if (run.extent < 1 || run.count < 1)
      return error{errc::corrupt, "chunk extents and their numbers must be 1 or more"};
    ZARRPOINT_TRY(extent, checked_mul(run.extent, run.count));
    ZARRPOINT_TRY(end, checked_add(sum, extent));
    sum = end;
  }
  if (sum < length && !repeats_)
    return error{errc::corrupt, "chunk extents sum to " + std::to_string(sum) +
                                    "; the axis has length " + std::to_string(length)};
  return {};
}

ZARRPOINT_INLINE index_t axis_edges::add(index_t a, index_t b) {
  index_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

ZARRPOINT_INLINE index_t axis_edges::multiply(index_t a, index_t b) {
  index_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

namespace detail {

ZARRPOINT_INLINE result<axis_edges> parse_axis_edges(const json& value) {
  if (const auto extent = integral_int64(value)) return axis_edges({{*extent, 1}}, true);
  const json::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be an integer or a list");
  std::vector<chunk_run> runs;
  runs.reserve(list->size());
  for (const json& one : *list) {
    chunk_run run;
    if (const json::array* pair = one.if_array()) {
      const auto extent = pair->size() == 2 ? integral_int64((*pair)[0]) : std::nullopt;
      const auto count = pair->size() == 2 ? integral_int64((*pair)[1]) : std::nullopt;
      if (!extent || !count) return corrupt("a run must be an extent and a count");
      run = {*extent, *count};
    } else {
      const auto extent = integral_int64(one);
      if (!extent) return corrupt("must hold integers and runs");
      run = {*extent, 1};
    }
    if (!runs.empty() && runs.back().extent == run.extent) {
      ZARRPOINT_TRY(count, checked_add(runs.back().count, run.count));
      runs.back().count = count;
    } else {
      runs.push_back(run);
    }
  }
  return axis_edges(std::move(runs));
}

ZARRPOINT_INLINE json axis_edges_to_json(const axis_edges& edges) {
  if (edges.repeats()) return json(edges.runs().front().extent);
  json::array out;
  for (const chunk_run& run : edges.runs()) {
    if (run.count == 1) {
      out.emplace_back(run.extent);
    } else {
      out.push_back(json::array{json(run.extent), json(run.count)});
    }
  }
  return json(std::move(out));
}

}  // namespace detail

ZARRPOINT_INLINE std::string chunk_key_encoding::key(const dims& index) const {
  std::string out(kind == style::default_ ? 1 : 0, 'c');
  for (std::size_t i = 0; i < index.rank(); ++i) {
    if (i != 0 || kind == style::default_) out += separator;
    out += std::to_string(index[i]);
  }
  if (out.empty()) out += '0';
  return out;
}

ZARRPOINT_INLINE std::optional<dims> chunk_key_encoding::parse(std::string_view key,
                                                               std::size_t rank) const {
  dims out;
  std::string_view rest = key;
  if (kind == style::default_) {
    if (!rest.starts_with('c')) return std::nullopt;
    rest.remove_prefix(1);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != 0 || kind == style::default_) {
      if (!rest.starts_with(separator)) return std::nullopt;
      rest.remove_prefix(1);
    }
    index_t at = -1;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), at);
    if (status != std::errc() || at < 0) return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    out.push_back(at);
  }
  // No other spelling of the same numbers.
  if (this->key(out) != key) return std::nullopt;
  return out;
}

// ------------------------------------------------------------------------------------ metadata.hpp

ZARRPOINT_INLINE bytes_view array_metadata::fill_element() const noexcept {
  return type.is_variable() ? as_bytes(fill.text()) : fill.bytes();
}

namespace detail {

ZARRPOINT_INLINE result<void> check_array_metadata(const array_metadata& array) {
  const std::size_t rank = array.shape.rank();
  const auto wrong_chunks = [&](std::string why) {
    why.insert(0, "chunk shape " + to_string(array.chunk_shape));
    return error{errc::corrupt, std::move(why)};
  };
  if (!array.type.valid()) return error{errc::corrupt, "the data type is missing"};
  if (array.type.size() == 0 && !array.type.is_variable())
    return error{errc::corrupt, "elements have a size of 0 bytes"};
  if (array.chunk_shape.rank() != rank)
    return wrong_chunks(" must have the same rank as shape " + to_string(array.shape));
  // How many elements there are is not asked: 2^63 and more can be read in parts.
  for (const index_t extent : array.shape) {
    if (extent < 0)
      return error{errc::out_of_range, "negative extent in shape " + to_string(array.shape)};
  }
  for (const index_t extent : array.chunk_shape) {
    if (extent < 1) return wrong_chunks(" has an extent below 1");
  }
  if (!array.edges.empty()) {
    if (array.edges.size() != rank)
      return error{errc::corrupt, "chunk extents for " + std::to_string(array.edges.size()) +
                                      " axes of an array of rank " + std::to_string(rank)};
    for (std::size_t i = 0; i < rank; ++i) {
      ZARRPOINT_CHECK(array.edges[i].check(array.shape[i]).at("axis " + std::to_string(i)));
      if (array.chunk_shape[i] != array.edges[i].largest())
        return wrong_chunks(" must be the largest extent along each axis");
    }
  }
  const std::size_t element_size = std::max<std::size_t>(array.type.size(), 1);
  ZARRPOINT_CHECK(byte_count(array.chunk_shape, element_size));
  if (array.dimension_names && array.dimension_names->size() != rank)
    return error{errc::corrupt, std::to_string(array.dimension_names->size()) +
                                    " dimension names for rank " + std::to_string(rank)};
  if (array.codecs.empty()) return error{errc::corrupt, "the list of codecs is empty"};
  return {};
}

ZARRPOINT_INLINE void mend_empty_chunks(array_metadata& array) {
  if (array.chunk_shape.rank() != array.shape.rank()) return;
  for (std::size_t i = 0; i < array.shape.rank(); ++i) {
    if (array.shape[i] == 0 && array.chunk_shape[i] == 0) array.chunk_shape[i] = 1;
  }
}

// --------------------------------------------------------------------------------- codec_specs.hpp

ZARRPOINT_INLINE result<named_json> find_named(const json& value, std::string_view also) {
  static const json none;
  named_json out{{}, &none, true};
  if (const std::string* name = value.if_string()) {
    out.name = *name;
  } else {
    const json::object* members = value.if_object();
    if (members == nullptr) return detail::corrupt("must be an object with a name");
    ZARRPOINT_TRY(given, detail::required(value, "name"));
    if (given->if_string() == nullptr) return detail::corrupt("name must be a string");
    out.name = *given->if_string();
    ZARRPOINT_CHECK(only_members(*members, {"name", "configuration", "must_understand", also})
                        .at(in_quotes(out.name)));
    if (const json* configuration = value.find("configuration")) {
      if (configuration->if_object() == nullptr)
        return detail::corrupt(detail::in_quotes(out.name) + ": configuration must be an object");
      out.configuration = configuration;
    }
    if (const json* understand = value.find("must_understand")) {
      if (understand->if_bool() == nullptr)
        return detail::corrupt(detail::in_quotes(out.name) + ": must_understand must be a boolean");
      out.must_understand = *understand->if_bool();
    }
  }
  if (out.name.empty()) return detail::corrupt("name is empty");
  return out;
}

ZARRPOINT_INLINE result<codec_spec> parse_codec_spec(const json& value) {
  ZARRPOINT_TRY(found, find_named(value, "name"));
  codec_spec out;
  out.name = std::move(found.name);
  out.configuration = *found.configuration;
  out.must_understand = found.must_understand;
  return out;
}

ZARRPOINT_INLINE result<std::vector<codec_spec>> parse_codec_specs(const json& value) {
  const json::array* list = value.if_array();
  if (list == nullptr || list->empty()) return detail::corrupt("must be a list of codecs");
  // Chains have up to 32. More are said to be too many before anything is made of them.
  if (constexpr std::size_t most = 1024; list->size() > most)
    return error{errc::unsupported, std::to_string(list->size()) + " codecs; a chain may have 32"};
  std::vector<codec_spec> out;
  out.reserve(list->size());
  for (const json& element : *list) {
    ZARRPOINT_TRY(spec, parse_codec_spec(element));
    out.push_back(std::move(spec));
  }
  return out;
}

ZARRPOINT_INLINE result<json> codec_specs_to_json(std::span<const codec_spec> specs) {
  if (specs.empty()) return error{errc::invalid_argument, "a list of codecs must not be empty"};
  json::array out;
  for (const codec_spec& spec : specs) {
    if (!spec.must_understand)
      return error{errc::invalid_argument,
                   "codec " + detail::in_quotes(spec.name) +
                       " has must_understand: false, so the array can only be read"};
    json::object members{{"name", spec.name}};
    if (!spec.configuration.is_null()) members.push_back({"configuration", spec.configuration});
    out.emplace_back(std::move(members));
  }
  return json(std::move(out));
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
    const json* const given = spec.configuration.find("level");
    const std::optional<std::int64_t> level = given ? given->to_int64() : std::nullopt;
    return level && (*level < low || *level > high) ? level : std::nullopt;
  }
};

ZARRPOINT_INLINE result<void> check_levels(std::span<const codec_spec> specs) {
  for (const codec_spec& spec : specs) {
    if (spec.name == "sharding_indexed") {
      for (const std::string_view list : {"codecs", "index_codecs"}) {
        const json* const inner = spec.configuration.find(list);
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

ZARRPOINT_INLINE result<named_json> parse_named(const json& value, std::string_view also) {
  if (value.find("must_understand") != nullptr)
    return unsupported("unknown member \"must_understand\"");
  return find_named(value, also);
}

// ----------------------------------------------------------------------------------- node_name.hpp

ZARRPOINT_INLINE result<void> check_safe_name(std::string_view name) {
  const auto refuse = [name](std::string_view why) {
    return error{errc::corrupt, "node name " + in_quotes(name) + " " + std::string(why)};
  };
  if (name.empty()) return refuse("is empty");
  if (name.find('/') != name.npos) return refuse("contains \"/\"");
  if (name.find_first_not_of('.') == name.npos) return refuse("consists of periods");
  if (name.find('\0') != name.npos) return refuse("contains a NUL byte");
  if (!is_utf8(name)) return refuse("is not UTF-8");
  return {};
}

ZARRPOINT_INLINE result<void> check_safe_path(std::string_view path) {
  for (;;) {
    const auto slash = path.find('/');
    ZARRPOINT_CHECK(check_safe_name(path.substr(0, slash)));
    if (slash == path.npos) return {};
    path.remove_prefix(slash + 1);
  }
}

ZARRPOINT_INLINE result<void> check_node_name(std::string_view name) {
  if (auto safe = detail::check_safe_name(name); !safe)
    return error{errc::invalid_argument, safe.failure().message};
  const bool is_document = name == "zarr.json" || name == ".zarray" || name == ".zgroup" ||
                           name == ".zattrs" || name == ".zmetadata";
  if (is_document || name.starts_with("__"))
    return error{errc::invalid_argument, "node name " + detail::in_quotes(name) + " is reserved"};
  return {};
}

ZARRPOINT_INLINE result<void> check_node_path(std::string_view path) {
  for (;;) {
    const auto slash = path.find('/');
    ZARRPOINT_CHECK(check_node_name(path.substr(0, slash)));
    if (slash == path.npos) return {};
    path.remove_prefix(slash + 1);
  }
}

}  // namespace detail

// --------------------------------------------------------------------------------- metadata_v3.hpp

namespace detail {

ZARRPOINT_INLINE result<node_kind> parse_node_kind_v3(const json& document) {
  ZARRPOINT_CHECK(detail::check_format(document, 3));
  ZARRPOINT_TRY(type, detail::required(document, "node_type"));
  const std::string* name = type->if_string();
  if (name != nullptr && *name == "array") return node_kind::array;
  if (name != nullptr && *name == "group") return node_kind::group;
  return detail::corrupt("node_type must be \"array\" or \"group\"");
}

/// `{"kind": "inline", "chunk_shapes": [[[3, 2], 4], 5]}`.
ZARRPOINT_INLINE result<void> parse_rectilinear_grid(const json& configuration,
                                                     array_metadata& out) {
  ZARRPOINT_TRY(kind, required(configuration, "kind"));
  if (*kind != json("inline")) return unsupported("a rectilinear grid must be of kind \"inline\"");
  ZARRPOINT_TRY(shapes, required(configuration, "chunk_shapes"));
  ZARRPOINT_CHECK(only_members(*configuration.if_object(), {"kind", "chunk_shapes"}));
  const json::array* axes = shapes->if_array();
  if (axes == nullptr || axes->size() > max_rank)
    return corrupt("chunk_shapes must have an entry for each axis");
  for (const json& axis : *axes) {
    ZARRPOINT_TRY(edges, parse_axis_edges(axis).at("chunk_shapes"));
    out.chunk_shape.push_back(edges.largest());
    out.edges.push_back(std::move(edges));
  }
  return {};
}

ZARRPOINT_INLINE result<void> parse_chunk_grid(const json& value, array_metadata& out) {
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

ZARRPOINT_INLINE json chunk_grid_to_json(const array_metadata& array) {
  if (array.edges.empty())
    return json::object{
        {"name", "regular"},
        {"configuration", json::object{{"chunk_shape", extents_to_json(array.chunk_shape)}}}};
  json::array axes;
  for (const axis_edges& axis : array.edges) axes.push_back(axis_edges_to_json(axis));
  return json::object{
      {"name", "rectilinear"},
      {"configuration", json::object{{"kind", "inline"}, {"chunk_shapes", std::move(axes)}}}};
}

/// `{"name": "default", "configuration": {"separator": "/"}}`. The configuration may be absent, the
/// whole be a bare name, and the separator stand beside the name; all of these occur.
ZARRPOINT_INLINE result<chunk_key_encoding> parse_chunk_key_encoding(const json& value) {
  ZARRPOINT_TRY(named, parse_named(value, "separator"));
  const json* separator = value.find("separator");
  chunk_key_encoding out;
  if (named.name == "v2") {
    out = {chunk_key_encoding::style::v2, '.'};
  } else if (named.name != "default") {
    return unsupported("chunk key encoding " + in_quotes(named.name) + " is not supported");
  }
  if (const json::object* members = named.configuration->if_object()) {
    ZARRPOINT_CHECK(only_members(*members, {"separator"}));
    if (const json* configured = named.configuration->find("separator")) {
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
    const json& value) {
  std::optional<dimension_names_list> out;
  if (value.is_null()) return out;
  const json::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be a list");
  out.emplace();
  for (const json& name : *list) {
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
ZARRPOINT_INLINE result<void> check_storage_transformers(const json& value) {
  if (value.is_null()) return {};
  const json::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be a list");
  for (const json& transformer : *list) {
    ZARRPOINT_TRY(named, parse_codec_spec(transformer));
    if (named.must_understand) return unsupported(in_quotes(named.name) + " is not supported");
  }
  return {};
}

/// Takes the documents out of `value`: they may be tens of megabytes.
ZARRPOINT_INLINE result<consolidated_documents> take_consolidated(json& value) {
  ZARRPOINT_CHECK(required(value, "metadata"));
  json::object* members = value.find("metadata")->if_object();
  if (members == nullptr) return corrupt("metadata must be an object");
  for (const json::member& member : *members) {
    ZARRPOINT_CHECK(check_safe_path(member.key));
    if (member.value.if_object() == nullptr)
      return corrupt(in_quotes(member.key) + " must be an object");
  }
  return std::move(*members);
}

}  // namespace detail

ZARRPOINT_INLINE result<array_metadata> parse_array_v3(const json& document) {
  ZARRPOINT_TRY(kind, detail::parse_node_kind_v3(document));
  if (kind != node_kind::array) return detail::corrupt("is a group, not an array");
  array_metadata out;
  const json* type = nullptr;
  const json* fill = nullptr;
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

ZARRPOINT_INLINE result<json> to_v3(const array_metadata& array) {
  if (auto status = detail::check_array_metadata(array); !status)
    return error{errc::invalid_argument, status.failure().message};
  ZARRPOINT_TRY(fill, detail::fill_value_to_json(array.fill, array.type, 3).at("fill_value"));
  ZARRPOINT_TRY(type, detail::data_type_to_json(array.type).at("data_type"));
  for (const codec_spec& one : array.codecs) {
    if (one.configuration.find("field_endian") != nullptr)
      return detail::unsupported("Zarr v3 cannot hold records whose fields differ in byte order");
  }
  ZARRPOINT_TRY(codecs, detail::codec_specs_to_json(array.codecs));
  const bool is_v2_key = array.keys.kind == chunk_key_encoding::style::v2;
  json out(json::object{
      {"zarr_format", 3},
      {"node_type", "array"},
      {"shape", detail::extents_to_json(array.shape)},
      {"data_type", std::move(type)},
      {"chunk_grid", detail::chunk_grid_to_json(array)},
      {"chunk_key_encoding",
       json::object{
           {"name", is_v2_key ? "v2" : "default"},
           {"configuration", json::object{{"separator", std::string(1, array.keys.separator)}}}}},
      {"fill_value", std::move(fill)},
      {"codecs", std::move(codecs)},
  });
  if (const auto* members = array.attributes.if_object(); members != nullptr && !members->empty())
    out.set("attributes", array.attributes);
  if (array.dimension_names) {
    json::array names;
    for (const auto& name : *array.dimension_names) names.push_back(name ? json(*name) : json());
    out.set("dimension_names", std::move(names));
  }
  ZARRPOINT_CHECK(detail::check_writable_attributes(array.attributes));
  ZARRPOINT_CHECK(detail::check_writable(out));
  return out;
}

ZARRPOINT_INLINE result<group_metadata> parse_group_v3(json document) {
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
      const json* form = value.find("kind");
      if (form != nullptr && *form == json("inline")) {
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

ZARRPOINT_INLINE result<json> to_v3(const group_metadata& group) {
  return to_v3(group_metadata(group));
}

ZARRPOINT_INLINE result<json> to_v3(group_metadata&& group) {
  ZARRPOINT_CHECK(detail::check_writable_attributes(group.attributes));
  json out(json::object{{"zarr_format", 3}, {"node_type", "group"}});
  if (const auto* members = group.attributes.if_object(); members != nullptr && !members->empty())
    out.set("attributes", std::move(group.attributes));
  if (group.consolidated) {
    for (const auto& [path, document] : *group.consolidated) {
      if (auto status = detail::check_safe_path(path); !status)
        return error{errc::invalid_argument, status.failure().message};
    }
    // Not as elements of a list in braces, which are copied.
    json inline_documents(json::object{{"kind", "inline"}, {"must_understand", false}});
    inline_documents.set("metadata", *std::move(group.consolidated));
    out.set("consolidated_metadata", std::move(inline_documents));
  }
  ZARRPOINT_CHECK(detail::check_writable(out));
  return out;
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/type_bodies.hpp>
#endif
