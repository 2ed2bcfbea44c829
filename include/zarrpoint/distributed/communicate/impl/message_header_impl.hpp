// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/message_header.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>

#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE message message_header::pack() const {
  message out(bytes);
  store_le<std::uint32_t>(out.data(), magic);
  store_le<std::uint32_t>(out.data() + 4, static_cast<std::uint32_t>(call.step.what));
  store_le<std::uint32_t>(out.data() + 8, static_cast<std::uint32_t>(call.step.root));
  store_le<std::uint64_t>(out.data() + 12, call.number);
  store_le<std::uint64_t>(out.data() + 20, body);
  return out;
}

ZARRPOINT_INLINE result<message_header> message_header::unpack(bytes_view packed) {
  if (packed.size() < bytes || load_le<std::uint32_t>(packed.data()) != magic)
    return error{errc::corrupt, "a packet was not sent by a communicator"};
  const auto what = load_le<std::uint32_t>(packed.data() + 4);
  if (what > static_cast<std::uint32_t>(collective::agree))
    return error{errc::corrupt, "a packet belongs to an unknown collective"};
  message_header header;
  header.call.step.what = static_cast<collective>(what);
  header.call.step.root = static_cast<int>(load_le<std::uint32_t>(packed.data() + 8));
  header.call.number = load_le<std::uint64_t>(packed.data() + 12);
  header.body = load_le<std::uint64_t>(packed.data() + 20);
  const std::uint64_t here = packed.size() - bytes;
  if (here != (header.body <= max_inline_body ? header.body : 0))
    return error{errc::corrupt, "the length of a packet is not the one in its header"};
  return header;
}

}}}  // namespace zarrpoint::v0::detail
