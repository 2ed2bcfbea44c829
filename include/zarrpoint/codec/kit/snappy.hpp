// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Decodes the raw Snappy stream that is all of `from` ("Snappy compressed format description");
/// returns the bytes written. Errors: `out_of_range` when `to` is too small; `corrupt`, also when
/// the stream is not as long as its beginning says.
result<std::size_t> snappy_decode(bytes_view from, mutable_bytes to);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/snappy_impl.hpp>
#endif
