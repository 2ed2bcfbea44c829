// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Decodes the blosclz stream that is all of `from`, as c-blosc 1 writes it; returns the bytes
/// written. Control bytes below 32 are literals, others a match of 3 bytes or more. Errors:
/// `out_of_range` when `to` is too small; `corrupt`.
result<std::size_t> blosclz_decode(bytes_view from, mutable_bytes to);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/impl/blosclz_impl.hpp>
#endif
