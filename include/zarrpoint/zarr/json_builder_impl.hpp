// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/zarr/json_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

ZARRPOINT_INLINE std::size_t json_limits::node_limit() const noexcept {
  return max_nodes != 0 ? max_nodes : std::max<std::size_t>(max_bytes / 12, 4096);
}

namespace detail {

ZARRPOINT_INLINE json_builder::json_builder(const json_limits& limits, const nan_tokens& tokens)
    : limits_(limits), tokens_(tokens) {}

ZARRPOINT_INLINE bool json_builder::number_float(double value, const std::string& token) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!tokens_.nan.empty()) {
    if (token == tokens_.nan) return add(node(std::numeric_limits<double>::quiet_NaN()));
    if (token == tokens_.infinity) return add(node(infinity));
    if (token == tokens_.negative_infinity) return add(node(-infinity));
  }
  // The parser turns integers that do not fit into doubles; rounding them would be silent.
  if (token.find_first_not_of("-0123456789") == std::string::npos)
    return fail(errc::out_of_range, "integer " + in_quotes(token) + " does not fit in 64 bits");
  return add(node(value));
}

ZARRPOINT_INLINE bool json_builder::key(std::string& name) {
  frames_.back().members.push_back({std::move(name), node()});
  return true;
}

ZARRPOINT_INLINE bool json_builder::end_object() {
  node::object members = std::move(frames_.back().members);
  frames_.pop_back();
  if (const std::string* twice = duplicate_key(members))
    return fail(errc::corrupt, "duplicate key " + in_quotes(*twice));
  return place(node(std::move(members)));
}

ZARRPOINT_INLINE bool json_builder::end_array() {
  node::array elements = std::move(frames_.back().elements);
  frames_.pop_back();
  return place(node(std::move(elements)));
}

ZARRPOINT_INLINE const std::string* json_builder::duplicate_key(const node::object& members) {
  constexpr std::size_t few = 12;
  if (members.size() <= few) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (members[i].key == members[j].key) return &members[i].key;
      }
    }
    return nullptr;
  }
  std::vector<const std::string*> keys;
  keys.reserve(members.size());
  for (const node::member& member : members) keys.push_back(&member.key);
  // Sorted, since a hostile object of a million keys would make a search by pairs quadratic.
  std::sort(keys.begin(), keys.end(),
            [](const std::string* a, const std::string* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(keys.begin(), keys.end(),
                         [](const std::string* a, const std::string* b) { return *a == *b; });
  return twice == keys.end() ? nullptr : *twice;
}

ZARRPOINT_INLINE bool json_builder::fail(errc code, std::string message) {
  if (!failure_) failure_ = error{code, std::move(message)};
  return false;
}

ZARRPOINT_INLINE bool json_builder::count() {
  const std::size_t most = limits_.node_limit();
  if (++nodes_ > most)
    return fail(errc::resource_limit, "more than " + std::to_string(most) + " values");
  return true;
}

ZARRPOINT_INLINE bool json_builder::open(bool is_object) {
  if (frames_.size() >= limits_.max_depth)
    return fail(errc::resource_limit,
                "nested deeper than " + std::to_string(limits_.max_depth) + " levels");
  if (!count()) return false;
  frames_.push_back({is_object, {}, {}});
  return true;
}

ZARRPOINT_INLINE bool json_builder::place(node value) {
  if (frames_.empty()) {
    root_ = std::move(value);
  } else if (frames_.back().is_object) {
    frames_.back().members.back().value = std::move(value);
  } else {
    frames_.back().elements.push_back(std::move(value));
  }
  return true;
}

}  // namespace detail

}  // namespace zarrpoint::inline v0
