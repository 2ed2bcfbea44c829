// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), of which signatures are made.

namespace zarrpoint { inline namespace v0 { namespace detail {

using sha256_digest = std::array<std::byte, 32>;

/// The digest of bytes that come in parts.
class sha256 {
 public:
  sha256() noexcept;
  void add(bytes_view bytes) noexcept;
  void add(std::string_view text) noexcept;
  /// Call it once.
  sha256_digest finish() noexcept;

 private:
  void block(const std::byte* at) noexcept;

  std::array<std::uint32_t, 8> state_;
  std::array<std::byte, 64> waiting_{};
  std::uint64_t size_ = 0;
};

sha256_digest sha256_of(std::string_view text) noexcept;
sha256_digest hmac_sha256(bytes_view key, std::string_view text) noexcept;

/// In lower case.
std::string to_hex(bytes_view bytes);

}}}  // namespace zarrpoint::v0::detail
