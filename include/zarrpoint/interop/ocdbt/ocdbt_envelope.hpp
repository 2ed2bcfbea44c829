// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The body of a manifest or a node, decompressed, whose checksum is right. Errors: `corrupt`;
/// `unsupported` for a later version of the format; `resource_limit` for more than `limit` bytes.
result<std::vector<std::byte>> open_ocdbt_envelope(bytes_view stored, std::uint32_t mark,
                                                   std::uint64_t limit);

/// The record of such a body, compressed if there is a level. Errors: `resource_limit`.
result<std::vector<std::byte>> close_ocdbt_envelope(bytes_view body, std::uint32_t mark,
                                                    std::optional<std::int32_t> zstd_level);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/impl/ocdbt_envelope_impl.hpp>
#endif
