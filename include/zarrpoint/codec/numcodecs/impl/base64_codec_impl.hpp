// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/numcodecs/base64_codec.hpp>
#include <zarrpoint/core/base64.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<base64_codec> base64_codec::from_configuration(const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {}));
  static_cast<void>(reader);
  return base64_codec{};
}

ZARRPOINT_INLINE std::uint64_t base64_codec::encoded_bound(std::uint64_t decoded) const {
  return decoded > UINT64_MAX / 2 ? UINT64_MAX : detail::base64_size(decoded);
}

ZARRPOINT_INLINE result<std::size_t> base64_codec::encode(bytes_view from, mutable_bytes to,
                                                          codec_workspace&) const {
  const std::size_t size = detail::base64_size(from.size());
  if (to.size() < size) return error{errc::out_of_range, "the output does not fit"};
  detail::base64_encode(from, reinterpret_cast<char*>(to.data()));
  return size;
}

ZARRPOINT_INLINE result<std::size_t> base64_codec::decode(bytes_view from, mutable_bytes to,
                                                          codec_workspace&) const {
  const std::optional<std::size_t> size = detail::base64_decoded_size(as_text(from));
  if (!size) return error{errc::corrupt, "text that is not base64"};
  if (*size > to.size())
    return error{errc::out_of_range, std::to_string(*size) + " bytes where " +
                                         std::to_string(to.size()) + " are expected"};
  if (!detail::base64_decode(as_text(from), to.data()))
    return error{errc::corrupt, "text that is not base64"};
  return *size;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> base64_codec::decoded_size(bytes_view stored) const {
  return detail::base64_decoded_size(as_text(stored));
}

}}  // namespace zarrpoint::v0
