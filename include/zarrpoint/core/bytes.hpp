// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace zarrpoint { inline namespace v0 {

/// Borrowed bytes.
using bytes_view = std::span<const std::byte>;
/// Borrowed bytes that may be written.
using mutable_bytes = std::span<std::byte>;

/// The bytes of `text`.
inline bytes_view as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}
/// The bytes as text.
inline std::string_view as_text(bytes_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The order of the bytes of a multi-byte element in storage.
enum class endian : std::uint8_t { little, big };

/// That of this machine.
inline constexpr endian native_endian =
    std::endian::native == std::endian::little ? endian::little : endian::big;

/// Its bytes in the other order.
template <std::unsigned_integral T>
constexpr T byteswap(T value) noexcept {
  if constexpr (sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

/// An unsigned integer at `from`, which need not be aligned.
template <std::unsigned_integral T>
T load_le(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return native_endian == endian::little ? value : byteswap(value);
}
/// Writes `sizeof(T)` bytes, the lowest first, aligned or not.
template <std::unsigned_integral T>
void store_le(std::byte* to, std::type_identity_t<T> value) noexcept {
  if (native_endian != endian::little) value = byteswap(value);
  std::memcpy(to, &value, sizeof value);
}

namespace detail {

/// The bits of a number of up to 8 bytes, in the order of this machine, aligned or not.
inline std::uint64_t load_native(const std::byte* from, std::size_t size) noexcept {
  std::uint64_t bits = 0;
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(reinterpret_cast<std::byte*>(&bits) + skip, from, size);
  return bits;
}
inline void store_native(std::byte* to, std::uint64_t bits, std::size_t size) noexcept {
  const std::size_t skip = native_endian == endian::little ? 0 : sizeof bits - size;
  std::memcpy(to, reinterpret_cast<const std::byte*>(&bits) + skip, size);
}

}  // namespace detail

}}  // namespace zarrpoint::v0
