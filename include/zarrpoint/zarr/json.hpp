// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/json_builder.hpp>
#include <zarrpoint/zarr/json_reader.hpp>

#include <string>
#include <string_view>

namespace zarrpoint::inline v0 {

namespace detail {

struct nan_rewrite {
  std::string text;
  nan_tokens tokens;
};

/// Parses any document, and says what is wrong with it.
result<node> parse_any_json(std::string_view text, const json_limits& limits);

}  // namespace detail

/// The JSON document `text` (RFC 8259, UTF-8) as a `node`. Strict but for the bare tokens `NaN`,
/// `Infinity` and `-Infinity`, which `limits` may forbid. Errors: `corrupt` with the line and
/// column when it is not JSON or has a key twice, `out_of_range` for an integer beyond 64 bits,
/// `resource_limit` when it exceeds a limit. A member that is `wanted` is left to who wants it,
/// where that can be.
result<node> parse_json(bytes_view text, const json_limits& limits = {},
                        detail::json_member* wanted = nullptr);

}  // namespace zarrpoint::inline v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/json_impl.hpp>
#endif
