// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Copies scalars of `scalar_size` bytes (1, 2, 4 or 8) and reverses the bytes of each: from one
/// byte order to the other. `to` and `from` have one size, a multiple of `scalar_size`; they are
/// the same bytes or do not overlap.
void byteswap_copy(mutable_bytes to, bytes_view from, std::size_t scalar_size);

/// Reverses the bytes of each scalar of `scalar_size` bytes (1, 2, 4 or 8), in place.
void byteswap_elements(mutable_bytes data, std::size_t scalar_size);

}}}  // namespace zarrpoint::v0::detail
