// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <type_traits>

namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

static_assert(sizeof(device_segment) == 24 && std::is_trivially_copyable_v<device_segment>,
              "what the kernel reads from the device is what the host wrote");

/// How many blocks share a run when there are `count` runs: few runs may be long ones.
constexpr std::uint32_t blocks_per_run(std::uint64_t count) noexcept {
  constexpr std::uint64_t wanted = 4096;
  constexpr std::uint64_t most = 256;
  const std::uint64_t share = count == 0 ? 1 : wanted / count;
  return static_cast<std::uint32_t>(share < 1 ? 1 : share > most ? most : share);
}

/// Where a thread stands among those that share a run.
struct team_place {
  std::uint64_t first = 0;
  std::uint64_t step = 1;
};

/// The thread's share of a run, in words of `Unit` bytes between the bytes at both ends; both
/// addresses leave the same rest by `Unit`.
template <std::size_t Unit>
constexpr void copy_run(std::byte* to, const std::byte* from, std::uint64_t bytes,
                        team_place place) noexcept {
  const std::uint64_t before = (Unit - address_of(to) % Unit) % Unit;
  const std::uint64_t head = before < bytes ? before : bytes;
  const std::uint64_t words = (bytes - head) / Unit;
  std::byte* const to_words = to + head;
  const std::byte* const from_words = from + head;
  std::uint64_t i = place.first;
  // Loads before stores, which could be of the same bytes for all the compiler knows.
  for (; i + 3 * place.step < words; i += 4 * place.step) {
    word<Unit> group[4];
    for (std::uint64_t k = 0; k < 4; ++k)
      group[k] = load<word<Unit>, Unit>(from_words + (i + k * place.step) * Unit);
    for (std::uint64_t k = 0; k < 4; ++k)
      store<Unit>(to_words + (i + k * place.step) * Unit, group[k]);
  }
  for (; i < words; i += place.step)
    store<Unit>(to_words + i * Unit, load<word<Unit>, Unit>(from_words + i * Unit));
  for (i = place.first; i < head; i += place.step) to[i] = from[i];
  for (i = head + words * Unit + place.first; i < bytes; i += place.step) to[i] = from[i];
}

/// The same for any addresses.
constexpr void copy_run_of_any(std::byte* to, const std::byte* from, std::uint64_t bytes,
                               team_place place) noexcept {
  switch (common_unit(address_of(to) ^ address_of(from))) {
    case 16: return copy_run<16>(to, from, bytes, place);
    case 8: return copy_run<8>(to, from, bytes, place);
    case 4: return copy_run<4>(to, from, bytes, place);
    case 2: return copy_run<2>(to, from, bytes, place);
    default: return copy_run<1>(to, from, bytes, place);
  }
}

/// What one thread copies of all runs.
constexpr void scatter_runs(const device_segment* table, std::uint64_t count, std::uint32_t share,
                            thread_place place) noexcept {
  for (std::uint64_t task = place.block; task < count * share; task += place.blocks) {
    const device_segment run = table[task / share];
    const std::uint64_t first = task % share * block_threads + place.thread;
    // NOLINTBEGIN(performance-no-int-to-ptr): the table holds addresses as numbers
    copy_run_of_any(reinterpret_cast<std::byte*>(run.to),
                    reinterpret_cast<const std::byte*>(run.from), run.bytes,
                    {first, std::uint64_t{share} * block_threads});
    // NOLINTEND(performance-no-int-to-ptr)
  }
}

}}}  // namespace zarrpoint::v0::cuda::detail
