// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_reader.hpp>

#include <new>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<node> read_json(std::string_view text, const json_limits& limits,
                                        json_member* wanted) {
  node out;
  if (wanted != nullptr) {
    json_reader reader(text, limits, wanted);
    if (reader.read(out)) return out;
    // What is wrong is so for every reader: hostile text is read once.
    if (!reader.gave_up()) return std::move(reader).failure();
  }
  json_reader reader(text, limits);
  if (reader.read(out)) return out;
  return std::move(reader).failure();
}

}  // namespace detail

ZARRPOINT_INLINE result<node> parse_json(bytes_view text, const json_limits& limits,
                                         detail::json_member* wanted) {
  if (text.size() > limits.max_bytes)
    return error{errc::resource_limit, "JSON: " + std::to_string(text.size()) +
                                           " bytes are more than the limit of " +
                                           std::to_string(limits.max_bytes)};
#if ZARRPOINT_EXCEPTIONS
  try {
    return detail::read_json(as_text(text), limits, wanted).at("JSON");
  } catch (const std::bad_alloc&) {
    return error{errc::resource_limit, "JSON: out of memory"};
  }
#else
  return detail::read_json(as_text(text), limits, wanted).at("JSON");
#endif
}

}}  // namespace zarrpoint::v0
