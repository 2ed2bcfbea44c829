// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/document.hpp>
#include <zarrpoint/zarr/v2/typestr.hpp>
#include <zarrpoint/zarr/v2/v2_filters.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

ZARRPOINT_INLINE node v2_options(const node& value) {
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

ZARRPOINT_INLINE v2_filter_types types_of_filter(std::string_view id) {
  if (id == "astype") return {"decode_dtype", "encode_dtype"};
  if (id == "packbits" || id == "bitround") return {};
  return {"dtype", "astype"};
}

ZARRPOINT_INLINE result<v2_dtype> parse_v2_filter_dtype(const node& value) {
  const std::string* text = value.if_string();
  if (text == nullptr) return corrupt("must be a string");
  if (const auto named = parse_dtype(*text)) return v2_dtype{*named};
  if (!text->empty() && std::string_view("biufc").find(text->front()) != std::string_view::npos) {
    const bool is_byte = text->size() == 2 && text->back() == '1';
    return parse_v2_dtype(node((is_byte ? "|" : "<") + *text));
  }
  return parse_v2_dtype(value);
}

ZARRPOINT_INLINE result<codec_spec> parse_v2_array_filter(const node& filter,
                                                          const known_codec& row,
                                                          v2_dtype& elements) {
  node options = v2_options(filter);
  const auto [from, to] = types_of_filter(row.id());
  if (const node* given = from.empty() ? nullptr : options.find(from)) {
    ZARRPOINT_TRY(seen, parse_v2_filter_dtype(*given).at(std::string(from)));
    if (seen.type.scalar_size() > 1) {
      const bool is_swapped = elements.type.scalar_size() > 1 && seen.order != elements.order;
      ZARRPOINT_TRY(text, to_v2_dtype({seen.type, is_swapped ? endian::big : endian::little}));
      options.set(std::string(from), std::move(text));
    }
    elements = std::move(seen);
  }
  if (row.id() == "packbits") elements = v2_dtype{dtype_kind::uint8};
  if (const node* made = to.empty() ? nullptr : options.find(to); made && !made->is_null()) {
    ZARRPOINT_TRY(type, parse_v2_filter_dtype(*made).at(std::string(to)));
    elements = std::move(type);
  }
  return codec_spec{v3_name_of(row), std::move(options)};
}

ZARRPOINT_INLINE result<node::array> to_v2_array_filters(std::span<const codec_spec> codecs,
                                                         const v2_dtype& elements) {
  node::array out;
  const endian order = elements.order;
  dtype type = elements.type;
  for (const codec_spec& spec : codecs) {
    const known_codec& row = *find_v2_name(spec.name);
    node filter{node::object{{"id", row.id()}}};
    if (const node::object* members = spec.configuration.if_object()) {
      for (const node::member& one : *members) filter.set(one.key, one.value);
    }
    const auto [from, to] = types_of_filter(row.id());
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
    if (row.id() == "packbits") type = dtype_kind::uint8;
    out.push_back(std::move(filter));
  }
  return out;
}

}}}  // namespace zarrpoint::v0::detail
