// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What a transport of bytes puts in front of each message: 28 bytes, and in the same packet the
/// body when small.
struct message_header {
  static constexpr std::size_t bytes = 28;
  static constexpr std::size_t max_inline_body = 1024;
  static constexpr std::uint32_t magic = 0x31435a50;  // "PZC1"

  collective_call call;
  std::uint64_t body = 0;

  message pack() const;
  /// Errors: `corrupt` for what is not a header, or not followed by what it tells.
  static result<message_header> unpack(bytes_view packed);
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/communicate/impl/message_header_impl.hpp>
#endif
