// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

/// What a JSON document may cost, so that a hostile one is an error and not an exhausted machine.
struct json_limits {
  /// Consolidated metadata of 100,000 arrays are about 80 MB.
  std::size_t max_bytes = std::size_t{128} << 20;
  /// Nesting of arrays and objects; nested shards need 6 levels each. No more than 1,024, since the
  /// reader calls itself for each.
  std::size_t max_depth = 64;
  /// Values in all; 0 for one for each 12 bytes that a document may have (they have one for 16), at
  /// 40 to 80 bytes of `json` each.
  std::size_t max_nodes = 0;
  /// Bytes of memory for lists of values and members, those included that are not complete. Strings
  /// have no more bytes than the document.
  std::size_t max_memory = SIZE_MAX;
  /// Whether the bare tokens `NaN`, `Infinity` and `-Infinity` are numbers. JSON has none, but
  /// zarr-python writes them in attributes.
  bool allow_nan_literals = true;
  /// Whether text stands for what a `json` cannot hold, in place of an error. An integer beyond 64
  /// bits and a number too large for a double are strings of their digits, half of a surrogate pair
  /// is its escape. In members called `attributes` or `.zattrs` it is as if `keep_twice` was set.
  bool keep_text = false;
  /// Whether an object that has a key twice is one with the member `duplicate_keys`, a string of
  /// its JSON.
  bool keep_twice = false;

  constexpr std::size_t node_limit() const noexcept {
    return max_nodes != 0 ? max_nodes : std::max<std::size_t>(max_bytes / 12, 4096);
  }
};

namespace detail {
class json_member;
}  // namespace detail

/// The JSON document `text` (RFC 8259, UTF-8) as a `json`. Strict but for the bare tokens `NaN`,
/// `Infinity` and `-Infinity`, which `limits` may forbid. Errors: `corrupt` with the line and
/// column when it is not JSON, and when it has a key twice; `out_of_range` for an integer beyond 64
/// bits (`limits` may have the text of both instead), `resource_limit` when it exceeds a limit. A
/// member that is `wanted` is left to its reader where that takes the text.
result<json> parse_json(bytes_view text, const json_limits& limits = {},
                        detail::json_member* wanted = nullptr);

}}  // namespace zarrpoint::v0
