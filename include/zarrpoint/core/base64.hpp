// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The characters that `bytes` bytes take.
constexpr std::size_t base64_size(std::size_t bytes) noexcept { return (bytes + 2) / 3 * 4; }

/// Writes the base64 form of `from`, padded and in one line (RFC 4648, section 4), to
/// `base64_size(from.size())` characters at `to`.
void base64_encode(bytes_view from, char* to) noexcept;

/// The bytes that `text` decodes to when it is base64, padded and in one line; nothing when it can
/// be none.
constexpr std::optional<std::size_t> base64_decoded_size(std::string_view text) noexcept {
  if (text.size() % 4 != 0) return std::nullopt;
  if (text.empty()) return 0;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  return text.size() / 4 * 3 - padding;
}

/// Decodes to `base64_decoded_size(text)` bytes at `to`; false for text that is not base64.
bool base64_decode(std::string_view text, std::byte* to) noexcept;

/// The base64 form as a string.
std::string to_base64(bytes_view from);

/// The bytes of base64 text, as a string; nothing when it is none.
std::optional<std::string> from_base64(std::string_view text);

}}}  // namespace zarrpoint::v0::detail
