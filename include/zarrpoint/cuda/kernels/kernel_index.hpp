// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// What the kernels have in common: where a thread stands, and loads and stores of a known
// alignment. All that a kernel does is in functions that are `constexpr`. So nvcc compiles them for
// the device, too (--expt-relaxed-constexpr), and the tests run them on the host for every thread.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

/// The threads of a block, of every kernel.
inline constexpr std::uint32_t block_threads = 256;
/// The most blocks of a grid; what is left is done by the same threads in further steps.
inline constexpr std::uint32_t max_blocks = 1U << 16;
/// The widest load and store of a thread.
inline constexpr std::size_t vector_bytes = 16;

/// Where a thread stands in its grid.
struct thread_place {
  std::uint64_t block = 0;
  std::uint64_t blocks = 1;
  std::uint32_t thread = 0;

  /// Of a loop that all threads of the grid share: `for (i = first(); i < count; i += step())`.
  constexpr std::uint64_t first() const noexcept { return block * block_threads + thread; }
  constexpr std::uint64_t step() const noexcept { return blocks * block_threads; }
};

/// `ceil(a / b)`, for `b > 0`.
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The blocks for `work` steps of one thread, of which there is one at least.
constexpr std::uint32_t blocks_for(std::uint64_t work, std::uint32_t most = max_blocks) noexcept {
  const std::uint64_t blocks = divide_up(work, block_threads);
  return blocks < most ? static_cast<std::uint32_t>(blocks) : most;
}

// Templates, since functions that are `constexpr` may not have such casts otherwise.

template <class Byte>
constexpr std::uint64_t address_of(Byte* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at);
}

/// The opposite: what tables on the device name.
template <class Byte>
constexpr Byte* at_address(std::uint64_t address) noexcept {
  return reinterpret_cast<Byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// A value from an address that is a multiple of `Align`, by loads as wide as that allows.
template <class T, std::size_t Align = sizeof(T), class Byte>
constexpr T load(const Byte* from) noexcept {
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(from, Align), sizeof value);
  return value;
}
template <std::size_t Align, class T, class Byte>
constexpr void store(Byte* to, const T& value) noexcept {
  __builtin_memcpy(__builtin_assume_aligned(to, Align), &value, sizeof value);
}

/// `N` values side by side, loaded and stored as one.
template <class T, std::size_t N>
struct lanes {
  T at[N];
};

template <std::size_t Bytes>
struct word_of {
  using type = lanes<std::uint32_t, Bytes / 4>;
};
template <>
struct word_of<1> {
  using type = std::uint8_t;
};
template <>
struct word_of<2> {
  using type = std::uint16_t;
};
/// Trivial, of `Bytes` bytes: 1, 2, 4, 8 or 16.
template <std::size_t Bytes>
using word = typename word_of<Bytes>::type;

/// The largest of 16, 8, 4, 2 and 1 that divides all the numbers whose bits are joined by `|`.
constexpr std::uint32_t common_unit(std::uint64_t joined) noexcept {
  const std::uint64_t bits = joined | vector_bytes;
  return static_cast<std::uint32_t>(bits & (0 - bits));
}

/// Division of numbers below 2^31 by a constant, as a multiplication and a shift.
struct fast_divisor {
  std::uint32_t divisor = 1;
  std::uint32_t factor = 1;
  std::uint32_t shift = 0;

  constexpr fast_divisor() = default;
  /// `1 <= by < 2^31`. With s = ceil(log2(by)), the factor is 2^32 * (2^s - by) / by, rounded down,
  /// and 1 more. Together with the 2^32 that `quotient` adds it is 2^(32 + s) / by, rounded up,
  /// with an error too small to be seen below 2^31.
  constexpr explicit fast_divisor(std::uint32_t by) noexcept : divisor(by) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t above = (std::uint64_t{1} << shift) - by;
    factor = static_cast<std::uint32_t>((above << 32) / by + 1);
  }

  constexpr std::uint32_t quotient(std::uint32_t number) const noexcept {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{number} * factor) >> 32);
    return (high + number) >> shift;
  }
};

}}}  // namespace zarrpoint::v0::cuda::detail
