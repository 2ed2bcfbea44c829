// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/checksum/crc32_x86.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/checksum/crc32c_table.hpp>
#include <zarrpoint/core/config.hpp>

#include <array>
#include <atomic>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// -------------------------------------------------------------------------------- crc32c_table.hpp

/// `tables[k][b]`: the register after byte `b` and `k` zero bytes.
using crc32c_tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Made when they are first needed: few processors do, and a program is 8 KiB smaller.
inline crc32c_tables make_crc32c_tables() noexcept {
  crc32c_tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = crc32c_times_x(value);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 255];
    }
  }
  return tables;
}

ZARRPOINT_INLINE std::uint32_t crc32c_table(std::uint32_t state, const std::byte* data,
                                            std::size_t size) noexcept {
  static const crc32c_tables tables = make_crc32c_tables();
  const auto step = [](std::uint32_t value, std::byte next) {
    return value >> 8 ^ tables[0][(value ^ static_cast<std::uint32_t>(next)) & 255];
  };
  // Four bytes by the tables from `k` down. Written out: as a loop it takes twice as long.
  const auto slices = [](std::size_t k, std::uint32_t word) {
    return (tables[k][word & 255] ^ tables[k - 1][word >> 8 & 255]) ^
           (tables[k - 2][word >> 16 & 255] ^ tables[k - 3][word >> 24]);
  };
  for (; size >= 8; size -= 8, data += 8) {
    // The second half does not wait for the state.
    const std::uint32_t second = slices(3, load_le<std::uint32_t>(data + 4));
    state = slices(7, load_le<std::uint32_t>(data) ^ state) ^ second;
  }
  for (; size != 0; --size) state = step(state, *data++);
  return state;
}

}  // namespace detail

// -------------------------------------------------------------------------------------- crc32c.hpp

namespace detail {

using crc32c_function = std::uint32_t (*)(std::uint32_t, const std::byte*, std::size_t) noexcept;

/// The kernel, or null when this CPU cannot run it.
ZARRPOINT_INLINE crc32c_function find_crc32c(crc32c_kernel kernel) noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool any = kernel == crc32c_kernel::automatic;
  if ((any || kernel == crc32c_kernel::avx512) && has_crc32c_avx512()) return crc32c_avx512;
  if ((any || kernel == crc32c_kernel::sse42) && has_crc32c_sse42()) return crc32c_sse42;
#endif
  const bool portable = kernel == crc32c_kernel::automatic || kernel == crc32c_kernel::table;
  return portable ? crc32c_table : nullptr;
}

inline std::uint32_t crc32c_first_call(std::uint32_t state, const std::byte* data,
                                       std::size_t size) noexcept;

/// Chosen at the first call. Relaxed: every value is a good one.
inline constinit std::atomic<crc32c_function> crc32c_chosen{crc32c_first_call};

ZARRPOINT_INLINE std::uint32_t crc32c_first_call(std::uint32_t state, const std::byte* data,
                                                 std::size_t size) noexcept {
  const crc32c_function chosen = find_crc32c(crc32c_kernel::automatic);
  crc32c_chosen.store(chosen, std::memory_order_relaxed);
  return chosen(state, data, size);
}

ZARRPOINT_INLINE bool use_crc32c_kernel(crc32c_kernel kernel) noexcept {
  const detail::crc32c_function found = detail::find_crc32c(kernel);
  if (found == nullptr) return false;
  detail::crc32c_chosen.store(found, std::memory_order_relaxed);
  return true;
}

}  // namespace detail

ZARRPOINT_INLINE std::uint32_t crc32c(bytes_view data, std::uint32_t seed) noexcept {
  return ~detail::crc32c_chosen.load(std::memory_order_relaxed)(~seed, data.data(), data.size());
}

namespace detail {

// --------------------------------------------------------------------------------------- crc32.hpp

struct crc32_tables {
  std::uint32_t of[16][256];
};

consteval crc32_tables make_crc32_tables() {
  crc32_tables out{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1U) != 0 ? value >> 1 ^ crc32_polynomial : value >> 1;
    out.of[0][i] = value;
  }
  for (std::size_t t = 1; t < 16; ++t) {
    for (std::size_t i = 0; i < 256; ++i)
      out.of[t][i] = out.of[t - 1][i] >> 8 ^ out.of[0][out.of[t - 1][i] & 255U];
  }
  return out;
}

ZARRPOINT_INLINE std::uint32_t crc32_table(std::uint32_t state, bytes_view bytes) noexcept {
  static constexpr crc32_tables all = make_crc32_tables();
  constexpr auto& tables = all.of;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 16; left -= 16, at += 16) {
    const std::uint32_t words[] = {load_le<std::uint32_t>(at) ^ state,
                                   load_le<std::uint32_t>(at + 4), load_le<std::uint32_t>(at + 8),
                                   load_le<std::uint32_t>(at + 12)};
    state = 0;
    for (std::size_t w = 0; w < 4; ++w) {
      const std::size_t last = 12 - 4 * w;
      state ^= tables[last + 3][words[w] & 255U] ^ tables[last + 2][words[w] >> 8 & 255U] ^
               tables[last + 1][words[w] >> 16 & 255U] ^ tables[last][words[w] >> 24];
    }
  }
  for (; left > 0; --left, ++at)
    state = state >> 8 ^ tables[0][(state ^ static_cast<std::uint32_t>(*at)) & 255U];
  return state;
}

#if defined(__x86_64__) && defined(__GNUC__)

/// How many lanes this CPU multiplies without carries at a time, 0, 1 or 4; -1 for not asked.
/// Relaxed: all who ask find the same.
inline constinit std::atomic<int> crc32_lanes{-1};

ZARRPOINT_INLINE int lanes_of_crc32() noexcept {
  int known = crc32_lanes.load(std::memory_order_relaxed);
  if (known < 0) {
    known = has_crc32c_avx512() ? 4 : has_crc32c_sse42() ? 1 : 0;
    crc32_lanes.store(known, std::memory_order_relaxed);
  }
  return known;
}

#endif

ZARRPOINT_INLINE std::uint32_t crc32(std::uint32_t crc, bytes_view bytes) noexcept {
  std::uint32_t state = ~crc;
#if defined(__x86_64__) && defined(__GNUC__)
  constexpr std::size_t width = 64;
  constexpr std::size_t worthwhile = 2 * width;  // 32 bytes go through the table in any case
  const int lanes = bytes.size() >= worthwhile ? lanes_of_crc32() : 0;
  if (lanes == 4) return ~crc32_avx512(state, bytes);
  if (lanes == 1) {
    const std::size_t folded = bytes.size() / width * width;
    std::byte rest[width];
    crc32_fold<4>(state, bytes.data(), folded, rest);
    state = crc32_short(0, rest, width);
    return ~crc32_short(state, bytes.data() + folded, bytes.size() - folded);
  }
#endif
  return ~crc32_table(state, bytes);
}

ZARRPOINT_INLINE std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second,
                                             std::uint64_t second_size) noexcept {
  std::uint32_t shift = std::uint32_t{1} << 31;  // x^(8 * second_size), by squaring
  std::uint32_t power = std::uint32_t{1} << 23;  // x^8
  for (; second_size != 0; second_size >>= 1) {
    if ((second_size & 1U) != 0) shift = crc32_multiply(power, shift);
    power = crc32_multiply(power, power);
  }
  return crc32_multiply(shift, first) ^ second;
}

}  // namespace detail

}}  // namespace zarrpoint::v0
