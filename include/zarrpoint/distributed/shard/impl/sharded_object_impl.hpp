// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/replica_id.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>
#include <zarrpoint/handler/types/blob.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE sharded_object::sharded_object(object_id id, replica_id replica)
    : id_(std::move(id)), replica_(std::move(replica)) {}

ZARRPOINT_INLINE std::string unique_key(const object_id& id) {
  std::string text = id.key + "/shard_";
  const auto append = [&text](const dims& values) {
    for (std::size_t i = 0; i < values.rank(); ++i) {
      if (i != 0) text += '.';
      text += std::to_string(values[i]);
    }
  };
  append(id.global_offset);
  text += '_';
  append(id.global_shape);
  return text;
}

namespace detail {

ZARRPOINT_INLINE error bad_object(const object_id& id, const std::string& what) {
  return {errc::invalid_argument, "object \"" + id.key + "\": " + what};
}

/// "0.3" as {0, 3}; nothing unless it is written just as `unique_key` would.
ZARRPOINT_INLINE bool parse_dotted(std::string_view text, dims& out) {
  if (text.empty()) return true;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (out.rank() < max_rank) {
    index_t value = 0;
    const auto [stop, failure] = std::from_chars(at, end, value);
    if (failure != std::errc() || *at == '-' || (*at == '0' && stop - at > 1)) return false;
    out.push_back(value);
    if (stop == end) return true;
    if (*stop != '.') return false;
    at = stop + 1;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<void> object_id::check() const {
  if (key.empty()) return error{errc::invalid_argument, "object without a key"};
  if (global_offset.rank() != global_shape.rank())
    return detail::bad_object(*this, "global offset " + to_string(global_offset) +
                                         " must have the same rank as global shape " +
                                         to_string(global_shape));
  for (std::size_t axis = 0; axis < global_shape.rank(); ++axis) {
    if (global_offset[axis] < 0 || global_offset[axis] >= global_shape[axis])
      return error{errc::out_of_range,
                   detail::bad_object(*this, "global offset " + to_string(global_offset) +
                                                 " leaves global shape " + to_string(global_shape))
                       .message};
  }
  ZARRPOINT_CHECK(element_count(global_shape).at("object \"" + key + "\""));
  return {};
}

namespace detail {

/// The parts of a unique key; whether they fit each other is for the caller to see.
ZARRPOINT_INLINE result<object_id> split_unique_key(std::string_view text) {
  constexpr std::string_view marker = "/shard_";
  const auto refused = [text](std::string_view why) {
    std::string message = in_quotes(text) + " is not the unique key of an object: ";
    return error{errc::corrupt, message.append(why)};
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || !text.substr(slash).starts_with(marker))
    return refused("no \"/shard_\" behind the key");
  if (slash == 0) return refused("no key");
  const std::string_view place = text.substr(slash + marker.size());
  const std::size_t middle = place.find('_');
  if (middle == std::string_view::npos) return refused("no shape");
  object_id id{std::string(text.substr(0, slash)), {}, {}};
  if (!parse_dotted(place.substr(0, middle), id.global_offset) ||
      !parse_dotted(place.substr(middle + 1), id.global_shape))
    return refused("not numbers with dots between them");
  return id;
}

/// Whether the last extent is missing, which some writers took for the suffix of a file's name.
ZARRPOINT_INLINE bool lost_extent(const object_id& id) {
  return !id.global_shape.empty() && id.global_offset.rank() == id.global_shape.rank() + 1;
}

ZARRPOINT_INLINE result<void> check_parsed(const object_id& id) {
  if (id.global_offset.rank() == id.global_shape.rank()) return id.check();
  return error{errc::corrupt, in_quotes(unique_key(id)) +
                                  " is not the unique key of an object: its offset and its shape "
                                  "differ in rank"};
}

}  // namespace detail

ZARRPOINT_INLINE result<object_id> parse_unique_key(std::string_view text) {
  ZARRPOINT_TRY(id, detail::split_unique_key(text));
  ZARRPOINT_CHECK(detail::check_parsed(id));
  return std::move(id);
}

ZARRPOINT_INLINE result<std::vector<object_id>> parse_unique_keys(
    std::span<const std::string> texts) {
  std::vector<object_id> out;
  out.reserve(texts.size());
  std::map<std::string, index_t> extents;
  for (const std::string& text : texts) {
    ZARRPOINT_TRY(id, detail::split_unique_key(text));
    if (detail::lost_extent(id)) {
      ZARRPOINT_TRY(needed, checked_add(id.global_offset.back(), 1).at(detail::in_quotes(text)));
      index_t& extent = extents[id.key];
      extent = std::max(extent, needed);
    }
    out.push_back(std::move(id));
  }
  for (object_id& id : out) {
    if (detail::lost_extent(id)) id.global_shape.push_back(extents[id.key]);
    ZARRPOINT_CHECK(detail::check_parsed(id));
  }
  return out;
}

ZARRPOINT_INLINE result<sharded_object> sharded_object::from_bytes(std::string key,
                                                                   std::vector<std::byte> bytes,
                                                                   const object_place& where) {
  ZARRPOINT_TRY(out, request(std::move(key), where));
  return out.with_bytes(std::move(bytes));
}

ZARRPOINT_INLINE result<sharded_object> sharded_object::request(std::string key,
                                                                const object_place& where) {
  return request({std::move(key), where.global_shape, where.global_offset}, where.replica);
}

ZARRPOINT_INLINE result<sharded_object> sharded_object::request(object_id id, replica_id replica) {
  ZARRPOINT_CHECK(id.check());
  return sharded_object(std::move(id), std::move(replica));
}

ZARRPOINT_INLINE sharded_object sharded_object::with_bytes(std::vector<std::byte> bytes) const {
  sharded_object out = without_data();
  out.bytes_ = detail::make_counted<const std::vector<std::byte>>(std::move(bytes));
  return out;
}

ZARRPOINT_INLINE sharded_object sharded_object::with_key(std::string key) const {
  sharded_object out = *this;
  out.id_.key = std::move(key);
  return out;
}

ZARRPOINT_INLINE sharded_object sharded_object::with_replica(replica_id replica) const {
  sharded_object out = *this;
  out.replica_ = std::move(replica);
  return out;
}

ZARRPOINT_INLINE result<void> sharded_object::check_same_grid(const dims& stored) const {
  if (stored == id_.global_shape) return {};
  return error{errc::shape_mismatch, "object \"" + key() + "\": stored in a grid of " +
                                         to_string(stored) + ", asked for in one of " +
                                         to_string(id_.global_shape) +
                                         "; objects are not resharded"};
}

}}  // namespace zarrpoint::v0
