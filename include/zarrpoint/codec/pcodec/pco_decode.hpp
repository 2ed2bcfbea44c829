// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_bits.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/resource.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Reads a file of pco of any version (its format, "Standalone Format") into `to`, which is as long
/// as its numbers and need not be aligned. Memory beside that: a table of at most 512 KiB for each
/// of up to three variables, a dictionary as long as the stream has it, and with lookbacks as much
/// as the numbers have, twice at most. Errors: `corrupt`, `unsupported` for a later version,
/// `resource_limit`.
result<void> pco_decode(bytes_view stored, const pco_type& type, mutable_bytes to,
                        memory_resource& memory);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/pcodec/impl/pco_decode_impl.hpp>
#endif
