// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_bits.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Reads a file of pco of any version (its format, "Standalone Format") into `to`, which is as long
/// as its numbers and need not be aligned. Memory beside that: a table of at most 512 KiB for each
/// of up to three variables, a dictionary as long as the stream has it, and with lookbacks as much
/// as the numbers have, twice at most. Errors: `corrupt`, `unsupported` for a later version,
/// `resource_limit`.
result<void> pco_decode(bytes_view stored, const pco_type& type, mutable_bytes to,
                        memory_resource& memory);

/// How numbers are written: in classic mode, with consecutive deltas.
struct pco_plan {
  pco_type type;
  std::optional<unsigned> order;   ///< of the deltas, 7 at most; nothing: chosen for each chunk
  std::uint64_t chunk = 1U << 18;  ///< numbers of a chunk of pco, at least 1
  bool one_bin = false;            ///< do not look for bins
};

/// The most bytes that `pco_encode` takes for `count` numbers; UINT64_MAX when that overflows.
std::uint64_t pco_bound(const pco_plan& plan, std::uint64_t count);

/// Writes the numbers of `from` as a file of pco, in the format that all its readers since 0.3
/// have, into a `to` of `pco_bound` bytes; returns the bytes written.
result<std::size_t> pco_encode(const pco_plan& plan, bytes_view from, mutable_bytes to,
                               memory_resource& memory);

}}}  // namespace zarrpoint::v0::detail
