// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/json/json_limits.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {
class json_member;
}  // namespace detail

/// The JSON document `text` (RFC 8259, UTF-8) as a `node`. Strict but for the bare tokens `NaN`,
/// `Infinity` and `-Infinity`, which `limits` may forbid. Errors: `corrupt` with the line and
/// column when it is not JSON, and when it has a key twice; `out_of_range` for an integer beyond 64
/// bits (`limits` may have the text of both instead), `resource_limit` when it exceeds a limit. A
/// member that is `wanted` is left to its reader where that takes the text.
result<node> parse_json(bytes_view text, const json_limits& limits = {},
                        detail::json_member* wanted = nullptr);

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/json/impl/json_impl.hpp>
#endif
