// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <array>

// The opposite of literals.hpp: bytes of elements become the Huffman codes of a zstd block (RFC
// 8878, 4.2.2), by a block of threads for each.
//
// First the bytes are counted, for each stream by itself. From that the host makes a code, and
// knows how long each stream will be, and so where it goes. Then each thread takes a part of a
// stream. It sums the lengths of its codes. A stream is read backward, so that its last symbol
// comes first: the bits of the parts behind one's own are before one's own. Then all write. Words
// of 4 bytes that are all a thread's own are stored; those at both ends of its part are joined by
// atomic or, with zeros that lie there before.
//
// The elements should be the ones that were counted. If they are not, a stream gets another length:
// then nobody writes.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

inline constexpr std::uint32_t symbol_bits = 11;  ///< of the longest code
inline constexpr std::uint32_t symbol_streams = 4;
inline constexpr std::uint32_t symbol_word = 4;  ///< bytes that are written at once

/// A thread's part of a stream.
struct symbol_part {
  const std::byte* from = nullptr;  ///< the first byte of the stream
  std::uint32_t stream = 0;
  std::uint32_t symbols = 0;  ///< of the stream
  std::uint32_t threads = 0;  ///< that have a part of it
  std::uint32_t index = 0;    ///< among them
};

constexpr symbol_part part_of_symbols(const device_symbols& job, std::uint32_t thread) noexcept {
  const std::uint32_t streams = job.kind == device_literals::one_stream ? 1 : symbol_streams;
  const std::uint32_t each = job.bytes / streams + (job.bytes % streams != 0 ? 1 : 0);
  symbol_part out;
  out.threads = block_threads / streams;
  out.stream = thread / out.threads;
  out.index = thread % out.threads;
  const std::uint32_t first = each * out.stream;
  const std::uint32_t left = first < job.bytes ? job.bytes - first : 0;
  out.symbols = left < each ? left : each;
  out.from = at_address<const std::byte>(job.from) + std::uint64_t{first} * job.step;
  return out;
}

// -- To count.

/// What the threads of a block share.
struct counts_shared {
  std::array<std::uint32_t, symbol_streams * block_threads> counts;
};

/// First.
constexpr void clear_counts(counts_shared& shared, std::uint32_t thread) noexcept {
  for (std::uint32_t s = 0; s < symbol_streams; ++s) shared.counts[s * block_threads + thread] = 0;
}

/// Second: `add(word)` adds 1 where others do, too.
template <class Add>
constexpr void add_counts(const device_symbols& job, counts_shared& shared, std::uint32_t thread,
                          const Add& add) noexcept {
  const symbol_part part = part_of_symbols(job, thread);
  std::uint32_t* const counts = shared.counts.data() + std::size_t{part.stream} * block_threads;
  for (std::uint32_t i = part.index; i < part.symbols; i += part.threads)
    add(counts + static_cast<std::uint32_t>(part.from[std::uint64_t{i} * job.step]));
}

/// Third. A stream has up to 32,768 symbols.
constexpr void store_counts(const device_symbols& job, const counts_shared& shared,
                            std::uint32_t thread) noexcept {
  auto* const to = at_address<std::byte>(job.to);
  for (std::uint32_t i = thread; i < symbol_streams * block_threads; i += block_threads)
    store<sizeof(std::uint16_t)>(to + i * sizeof(std::uint16_t),
                                 static_cast<std::uint16_t>(shared.counts[i]));
}

// -- To encode.

/// What the threads of a block share.
struct symbols_shared {
  std::array<std::uint8_t, block_threads> lengths;   ///< of the code of each symbol
  std::array<std::uint32_t, block_threads> entries;  ///< the code, and above bit 16 its bits
  std::array<std::uint32_t, block_threads> bits;     ///< of each thread's part
  std::uint32_t bad;                                 ///< whether a stream is none
};

/// First: the lengths.
constexpr void symbol_lengths(const device_symbols& job, symbols_shared& shared,
                              std::uint32_t thread) noexcept {
  shared.lengths[thread] = job.lengths[thread / 2] >> thread % 2 * 4 & 15U;
}

/// Second: the codes. They are numbered from the longest on, and among equals by their symbols.
constexpr void symbol_entries(symbols_shared& shared, std::uint32_t thread) noexcept {
  const std::uint32_t length = shared.lengths[thread];
  std::uint32_t first = 0;  // of codes of 11 bits
  for (std::uint32_t s = 0; s < block_threads; ++s) {
    const std::uint32_t other = shared.lengths[s];
    const bool is_before = other > length || (other == length && s < thread);
    if (is_before && other <= symbol_bits) first += 1U << (symbol_bits - other);
  }
  shared.entries[thread] =
      length == 0 || length > symbol_bits ? 0 : first >> (symbol_bits - length) | length << 16;
}

/// The symbols of a thread: those of `[begin, end)` of its stream.
struct symbol_range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
constexpr symbol_range range_of(const symbol_part& part) noexcept {
  const std::uint32_t each = part.symbols / part.threads + (part.symbols % part.threads != 0);
  const std::uint32_t begin = part.index * each < part.symbols ? part.index * each : part.symbols;
  return {begin, part.symbols - begin < each ? part.symbols : begin + each};
}

constexpr std::uint32_t entry_at(const device_symbols& job, const symbol_part& part,
                                 const symbols_shared& shared, std::uint32_t i) noexcept {
  return shared.entries[static_cast<std::uint32_t>(part.from[std::uint64_t{i} * job.step])];
}

/// Third: the bits of a part. Symbols without a code make the stream none.
constexpr void measure_symbols(const device_symbols& job, const symbol_part& part,
                               symbols_shared& shared, std::uint32_t thread) noexcept {
  const symbol_range range = range_of(part);
  std::uint32_t bits = 0;
  bool known = true;
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    const std::uint32_t length = entry_at(job, part, shared, i) >> 16;
    known &= length != 0;
    bits += length;
  }
  shared.bits[thread] = bits;
  if (!known) shared.bad = 1;
}

/// Fourth: the bits that come before those of a part. The first part looks at the whole stream.
constexpr std::uint32_t place_symbols(const device_symbols& job, const symbol_part& part,
                                      symbols_shared& shared, std::uint32_t thread) noexcept {
  std::uint32_t before = 0;
  for (std::uint32_t i = part.index + 1; i < part.threads; ++i)
    before += shared.bits[thread - part.index + i];
  // And a bit that marks the end.
  if (part.index == 0 && (before + shared.bits[thread]) / 8 + 1 != job.sizes[part.stream])
    shared.bad = 1;
  return before;
}

/// Fifth: the codes of a part. `join(word, value)` is an atomic or.
template <class Join>
constexpr void write_symbols(const device_symbols& job, const symbol_part& part,
                             const symbols_shared& shared, std::uint32_t before,
                             const Join& join) noexcept {
  const symbol_range range = range_of(part);
  if (range.begin == range.end) return;
  std::uint64_t at = job.to;
  for (std::uint32_t i = 0; i < part.stream; ++i) at += job.sizes[i];
  const std::uint64_t begin = 8 * (at % symbol_word) + before;
  auto* word = at_address<std::byte>(at - at % symbol_word + begin / 32 * symbol_word);
  auto have = static_cast<std::uint32_t>(begin % 32);
  bool is_own = have == 0;
  std::uint64_t held = 0;
  const auto put = [&](std::uint32_t code, std::uint32_t length) {
    held |= std::uint64_t{code} << have;
    have += length;
    if (have < 32) return;
    const auto value = static_cast<std::uint32_t>(held);
    if (is_own) {
      store<symbol_word>(word, value);
    } else {
      join(word, value);
    }
    is_own = true;
    word += symbol_word;
    held >>= 32;
    have -= 32;
  };
  for (std::uint32_t i = range.end; i-- > range.begin;) {
    const std::uint32_t entry = entry_at(job, part, shared, i);
    put(entry & 0xffff, entry >> 16);
  }
  if (range.begin == 0) put(1, 1);
  if (have != 0) join(word, static_cast<std::uint32_t>(held));
}

/// What one thread copies of bytes that stay as they are.
constexpr void copy_symbols(const device_symbols& job, std::uint32_t thread) noexcept {
  auto* const to = at_address<std::byte>(job.to);
  const auto* const from = at_address<const std::byte>(job.from);
  const std::uint64_t step = job.step;
  // A word of 4 bytes at once, but for those at both ends.
  const auto unaligned = static_cast<std::uint32_t>((symbol_word - job.to % symbol_word) % 4);
  const std::uint32_t head = unaligned < job.bytes ? unaligned : job.bytes;
  const std::uint32_t words = (job.bytes - head) / symbol_word;
  for (std::uint32_t i = thread; i < words; i += block_threads) {
    const std::uint32_t first = head + i * symbol_word;
    std::uint32_t value = 0;
    for (std::uint32_t k = 0; k < symbol_word; ++k)
      value |= static_cast<std::uint32_t>(from[(first + k) * step]) << 8 * k;
    store<symbol_word>(to + first, value);
  }
  const std::uint32_t tail = head + words * symbol_word;
  const std::uint32_t mine = thread < head ? thread : tail + (thread - head);
  if (mine < job.bytes) to[mine] = from[mine * step];
}

}}}  // namespace zarrpoint::v0::cuda::detail
