// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/pcodec/pco_bits.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/resource.hpp>

#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/pcodec/impl/pco_encode_impl.hpp>
#endif
