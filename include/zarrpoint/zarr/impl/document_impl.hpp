// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE error corrupt(std::string message) { return {errc::corrupt, std::move(message)}; }

ZARRPOINT_INLINE error unsupported(std::string message) {
  return {errc::unsupported, std::move(message)};
}

ZARRPOINT_INLINE std::optional<std::int64_t> integral_int64(const node& value) {
  if (const auto exact = value.to_int64()) return exact;
  if (value.is_integer() || !value.is_number()) return std::nullopt;
  const double number = *value.to_double();
  // -2^63 and 2^63 are exact doubles; NaN fails the comparison.
  if (!(number >= -0x1p63 && number < 0x1p63)) return std::nullopt;
  const auto truncated = static_cast<std::int64_t>(number);
  if (static_cast<double>(truncated) != number) return std::nullopt;
  return truncated;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> integral_uint64(const node& value) {
  if (const auto exact = value.to_uint64()) return exact;
  if (value.is_integer() || !value.is_number()) return std::nullopt;
  const double number = *value.to_double();
  if (!(number >= 0 && number < 0x1p64)) return std::nullopt;
  const auto truncated = static_cast<std::uint64_t>(number);
  if (static_cast<double>(truncated) != number) return std::nullopt;
  return truncated;
}

ZARRPOINT_INLINE node extents_to_node(const dims& extents) {
  node::array out;
  for (const index_t extent : extents) out.emplace_back(extent);
  return out;
}

ZARRPOINT_INLINE result<dims> parse_extents(const node& value) {
  const node::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be an array of integers");
  if (list->size() > max_rank)
    return unsupported("rank " + std::to_string(list->size()) + " is above " +
                       std::to_string(max_rank));
  dims out;
  for (const node& element : *list) {
    const auto extent = integral_int64(element);
    if (!extent || *extent < 0) return corrupt("must be an array of integers from 0 to 2^63 - 1");
    out.push_back(*extent);
  }
  return out;
}

ZARRPOINT_INLINE result<const node*> required(const node& document, std::string_view key) {
  if (const node* member = document.find(key)) return member;
  return corrupt("member " + in_quotes(key) + " is missing");
}

ZARRPOINT_INLINE result<void> only_members(const node::object& members,
                                           std::initializer_list<std::string_view> known) {
  for (const node::member& member : members) {
    if (std::find(known.begin(), known.end(), member.key) == known.end())
      return unsupported("unknown member " + in_quotes(member.key));
  }
  return {};
}

ZARRPOINT_INLINE result<void> check_format(const node& document, std::int64_t format) {
  if (document.if_object() == nullptr) return corrupt("not a JSON object");
  ZARRPOINT_TRY(value, required(document, "zarr_format"));
  const auto found = value->to_int64();
  if (!found) return corrupt("zarr_format must be an integer");
  if (*found != format)
    return unsupported("zarr_format is " + std::to_string(*found) + ", not " +
                       std::to_string(format));
  return {};
}

ZARRPOINT_INLINE result<node> parse_attributes(node value) {
  if (value.is_null()) return node();
  const node::object* members = value.if_object();
  if (members == nullptr) return corrupt("attributes must be an object");
  return members->empty() ? node() : std::move(value);
}

ZARRPOINT_INLINE bool may_ignore(const node& member) {
  const node* understand = member.find("must_understand");
  const bool* value = understand == nullptr ? nullptr : understand->if_bool();
  return value != nullptr && !*value;
}

ZARRPOINT_INLINE result<void> check_writable(const node& value, std::size_t levels) {
  const auto refuse = [](std::string why) { return error{errc::invalid_argument, std::move(why)}; };
  if (levels == 0) return refuse("nested too deeply");
  if (const std::string* text = value.if_string()) {
    if (!is_utf8(*text)) return refuse("text " + in_quotes(*text) + " is not UTF-8");
  } else if (const node::array* elements = value.if_array()) {
    for (const node& element : *elements) ZARRPOINT_CHECK(check_writable(element, levels - 1));
  } else if (const node::object* members = value.if_object()) {
    std::vector<named_place> keys;
    keys.reserve(members->size());
    for (const node::member& member : *members) {
      if (!is_utf8(member.key)) return refuse("key " + in_quotes(member.key) + " is not UTF-8");
      keys.push_back({member.key, keys.size()});
      ZARRPOINT_CHECK(check_writable(member.value, levels - 1));
    }
    if (const named_place* const twice = find_twice(keys))
      return refuse("key " + in_quotes(twice->text) + " occurs twice");
  }
  return {};
}

ZARRPOINT_INLINE result<void> check_writable_attributes(const node& attributes) {
  if (!attributes.is_null() && attributes.if_object() == nullptr)
    return error{errc::invalid_argument, "attributes must be an object"};
  return check_writable(attributes).at("attributes");
}

}}}  // namespace zarrpoint::v0::detail
