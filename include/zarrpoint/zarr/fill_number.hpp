// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <cstdint>

// The fill values of numbers, as the bits of one and as JSON (Zarr v3 data types, "Fill value";
// v2.0 "Fill value encoding").
namespace zarrpoint { inline namespace v0 { namespace detail {

std::uint64_t load_native(const std::byte* from, std::size_t size);
void store_native(std::byte* to, std::uint64_t bits, std::size_t size);

/// A date or a span of time: its count of units, or "NaT".
result<std::uint64_t> parse_time_fill(const node& value);

/// Writes the element that `value` says to `to`, in native byte order.
result<void> parse_number_fill(const node& value, const dtype& type, int zarr_format,
                               std::byte* to);

result<node> number_fill_to_node(const std::byte* from, const dtype& type, int zarr_format);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/impl/fill_number_impl.hpp>
#endif
