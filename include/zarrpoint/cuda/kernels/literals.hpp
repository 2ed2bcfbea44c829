// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <array>

// Literals of zstd blocks (RFC 8878, 3.1.1.3.1 and 4.2), by many threads. A block of threads makes
// those of one. First it makes a table: the next 11 bits of a stream choose up to four symbols that
// stand in them whole.
//
// Each stream is cut into parts of as many bits, one for each thread. Where the first code of a
// part begins is not known. But codes find their way: who begins anywhere soon reads what is there.
// So all begin at the first bit of their parts, and note where they ended, behind the end. There
// the next part begins. Threads whose beginning was another go again, until no beginning changes.
// That takes two rounds, hardly ever three, and at most as many as there are parts. Then all know
// how many symbols are before theirs, and write them.
//
// Offsets are in bits from the end of a stream, which is read backward, by aligned words. Words at
// both ends may have bytes of others in them. Nobody writes unless the codes of each stream make as
// many bytes as they should, and end with it.
namespace zarrpoint { inline namespace v0 { namespace cuda::detail {

inline constexpr std::uint32_t literal_bits = 11;  ///< of the longest code
inline constexpr std::uint32_t literal_entries = 1U << literal_bits;
inline constexpr std::uint32_t most_symbols = 4;  ///< of an entry
inline constexpr std::uint32_t literal_word = 4;  ///< bytes of a stream that are read at once

/// What the threads of a block share.
struct literals_shared {
  /// Symbols, the first one lowest; above bit 32 the bits of all, how many they are, and the bits
  /// of the first, in a byte each.
  std::array<std::uint64_t, literal_entries> entries;
  std::array<std::uint16_t, literal_entries> singles;  ///< a symbol, and above it its bits
  std::array<std::uint8_t, block_threads> lengths;     ///< of the code of each symbol
  std::array<std::uint32_t, block_threads> starts;     ///< where each thread begins
  std::array<std::uint32_t, block_threads> ends;       ///< and where the next one has to
  std::array<std::uint32_t, block_threads> counts;     ///< symbols between
  std::uint32_t changed;                               ///< whether a beginning did
  std::uint32_t bad;                                   ///< whether a stream is none
};

/// First: the lengths.
constexpr void literals_lengths(const device_literals& job, literals_shared& shared,
                                std::uint32_t thread) noexcept {
  shared.lengths[thread] = job.lengths[thread / 2] >> thread % 2 * 4 & 15U;
}

/// Second: the entries that begin with a symbol. Those of the longest codes come first.
constexpr void literals_singles(literals_shared& shared, std::uint32_t thread) noexcept {
  const std::uint32_t length = shared.lengths[thread];
  if (length == 0 || length > literal_bits) return;
  std::uint32_t first = 0;
  for (std::uint32_t s = 0; s < block_threads; ++s) {
    const std::uint32_t other = shared.lengths[s];
    const bool is_before = other > length || (other == length && s < thread);
    if (is_before && other <= literal_bits) first += 1U << (literal_bits - other);
  }
  std::uint32_t end = first + (1U << (literal_bits - length));
  if (end > literal_entries) end = literal_entries;
  for (std::uint32_t i = first; i < end; ++i)
    shared.singles[i] = static_cast<std::uint16_t>(thread | length << 8);
}

/// Third: all whole symbols of each entry.
constexpr void literals_entries(literals_shared& shared, std::uint32_t thread) noexcept {
  for (std::uint32_t i = thread; i < literal_entries; i += block_threads) {
    std::uint64_t symbols = 0;
    std::uint32_t count = 0;
    std::uint32_t used = 0;
    while (count < most_symbols) {
      const std::uint32_t next = shared.singles[i << used & (literal_entries - 1)];
      if (used + (next >> 8) > literal_bits) break;
      symbols |= std::uint64_t{next & 255} << 8 * count++;
      used += next >> 8;
    }
    const std::uint64_t first = shared.singles[i] >> 8;
    shared.entries[i] =
        symbols | std::uint64_t{used} << 32 | std::uint64_t{count} << 40 | first << 48;
  }
}

/// A thread's part of a stream.
struct literal_part {
  const std::byte* from = nullptr;  ///< of the stream
  std::uint32_t before = 0;         ///< bytes of others in its first word
  std::uint32_t bits = 0;           ///< of the stream; 0 when it is none
  std::uint32_t begin = 0;          ///< offset of the first bit; `bits` when there is none
  std::uint32_t end = 0;            ///< offset behind the last bit
  std::uint32_t index = 0;          ///< among the parts of the stream
  std::uint32_t to = 0;             ///< where the bytes of the stream begin among those of the job
  std::uint32_t count = 0;          ///< how many they are
};

constexpr literal_part part_of_literals(const device_literals& job, std::uint32_t thread) noexcept {
  // A round goes past the end of its part by less than this.
  constexpr std::uint32_t least_bits = 64;
  const std::uint32_t streams = job.kind == device_literals::one_stream ? 1 : 4;
  const std::uint32_t parts = block_threads / streams;
  const std::uint32_t stream = thread / parts;
  const std::uint32_t each = job.bytes / streams + (job.bytes % streams != 0 ? 1 : 0);
  literal_part out;
  out.index = thread % parts;
  out.to = each * stream;
  out.count = stream + 1 < streams ? each : job.bytes - out.to;
  out.from = at_address<const std::byte>(job.from);
  for (std::uint32_t i = 0; i < stream; ++i) out.from += job.sizes[i];
  const std::uint32_t size = job.sizes[stream];
  if (size == 0) return out;
  std::uint32_t mark = static_cast<std::uint32_t>(out.from[size - 1]);
  if (mark == 0) return out;
  out.before = static_cast<std::uint32_t>(address_of(out.from) % literal_word);
  out.bits = 8 * (size - 1);
  while (mark >>= 1) ++out.bits;
  std::uint32_t step = out.bits / parts + (out.bits % parts != 0 ? 1 : 0);
  if (step < least_bits) step = least_bits;
  out.begin = out.bits / step < out.index ? out.bits : out.index * step;
  out.end = out.bits - out.begin < step ? out.bits : out.begin + step;
  return out;
}

/// The bits of a stream from an offset on.
class literal_stream {
 public:
  constexpr literal_stream(const literal_part& of, std::uint32_t offset) noexcept
      : words_(of.from - of.before) {
    const std::uint32_t left = of.bits - offset + 8 * of.before;
    word_ = static_cast<std::int32_t>(left / 32);
    have_ = left % 32;
    if (have_ != 0) bits_ = std::uint64_t{word_at(word_)} << (64 - have_);
    ahead_ = word_at(--word_);
  }

  /// After it 33 bits are there at least: those behind the end are of others, or 0.
  constexpr void refill() noexcept {
    while (have_ <= 32) {
      bits_ |= std::uint64_t{ahead_} << (32 - have_);
      have_ += 32;
      ahead_ = word_at(--word_);
    }
  }
  constexpr std::uint32_t next() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> (64 - literal_bits));
  }
  constexpr void take(std::uint32_t count) noexcept {
    bits_ <<= count;
    have_ -= count;
  }

 private:
  constexpr std::uint32_t word_at(std::int32_t i) const noexcept {
    return i < 0 ? 0 : load<std::uint32_t>(words_ + std::int64_t{i} * literal_word);
  }

  const std::byte* words_ = nullptr;  ///< aligned; the first one has the first byte
  std::uint64_t bits_ = 0;            ///< the next ones highest
  std::uint32_t have_ = 0;            ///< of them
  std::uint32_t ahead_ = 0;           ///< the next word, loaded before it is needed
  std::int32_t word_ = 0;             ///< its number
};

inline constexpr std::uint32_t look_ups = 3;  ///< between two refills

constexpr std::uint32_t bits_of(std::uint64_t entry) noexcept {
  return static_cast<std::uint32_t>(entry >> 32) & 255;
}
constexpr std::uint32_t count_of(std::uint64_t entry) noexcept {
  return static_cast<std::uint32_t>(entry >> 40) & 255;
}
constexpr std::uint32_t first_bits_of(std::uint64_t entry) noexcept {
  return static_cast<std::uint32_t>(entry >> 48);
}

/// Fourth: reads a part from where it begins, and notes where it ends.
constexpr void scan_literals(const literal_part& part, literals_shared& shared,
                             std::uint32_t thread) noexcept {
  std::uint32_t at = shared.starts[thread];
  std::uint32_t count = 0;
  literal_stream in(part, at < part.bits ? at : part.bits);
  while (at + look_ups * literal_bits <= part.end) {
    in.refill();
    for (std::uint32_t i = 0; i < look_ups; ++i) {
      const std::uint64_t entry = shared.entries[in.next()];
      in.take(bits_of(entry));
      at += bits_of(entry);
      count += count_of(entry);
    }
  }
  // The first code behind the end, whatever was read at a time before.
  while (at < part.end) {
    in.refill();
    const std::uint64_t entry = shared.entries[in.next()];
    in.take(first_bits_of(entry));
    at += first_bits_of(entry);
    ++count;
  }
  shared.ends[thread] = at;
  shared.counts[thread] = count;
}

/// Between two rounds: begins where the part before has ended. Whether that is elsewhere.
constexpr bool move_literals(const literal_part& part, literals_shared& shared,
                             std::uint32_t thread) noexcept {
  if (part.index == 0 || part.begin == part.end) return false;
  const std::uint32_t start = shared.ends[thread - 1];
  if (start == shared.starts[thread]) return false;
  shared.starts[thread] = start;
  return true;
}

/// Fifth: how many symbols are before those of a part. The last part looks at the whole stream.
constexpr std::uint32_t sum_literals(const literal_part& part, literals_shared& shared,
                                     std::uint32_t thread) noexcept {
  std::uint32_t before = 0;
  for (std::uint32_t i = thread - part.index; i < thread; ++i) before += shared.counts[i];
  const bool is_last = part.end == part.bits && (part.index == 0 || part.begin != part.end);
  const bool is_whole =
      shared.ends[thread] == part.bits && before + shared.counts[thread] == part.count;
  if (is_last && (part.bits == 0 || !is_whole)) shared.bad = 1;
  return before;
}

/// Sixth: the symbols of a part.
constexpr void write_literals(const literal_part& part, const literals_shared& shared,
                              std::uint32_t thread, std::byte* to) noexcept {
  std::uint32_t count = shared.counts[thread];
  literal_stream in(part, shared.starts[thread]);
  const auto one_symbol = [&] {
    in.refill();
    const std::uint64_t entry = shared.entries[in.next()];
    *to++ = static_cast<std::byte>(entry & 255);
    in.take(first_bits_of(entry));
    --count;
  };
  while (count != 0 && address_of(to) % sizeof(std::uint64_t) != 0) one_symbol();
  std::uint64_t held = 0;    // symbols that are not stored yet
  std::uint32_t filled = 0;  // how many
  while (count >= look_ups * most_symbols) {
    in.refill();
    for (std::uint32_t i = 0; i < look_ups; ++i) {
      const std::uint64_t entry = shared.entries[in.next()];
      const auto symbols = static_cast<std::uint32_t>(entry);
      const std::uint32_t more = count_of(entry);
      in.take(bits_of(entry));
      held |= std::uint64_t{symbols} << 8 * filled;
      filled += more;
      count -= more;
      if (filled < sizeof held) continue;
      store<sizeof held>(to, held);
      to += sizeof held;
      filled -= static_cast<std::uint32_t>(sizeof held);
      held = std::uint64_t{symbols} >> 8 * (more - filled);
    }
  }
  for (; filled != 0; --filled, held >>= 8) *to++ = static_cast<std::byte>(held & 255);
  while (count != 0) one_symbol();
}

template <std::size_t Unit>
constexpr void copy_literals(std::byte* to, const std::byte* from, std::uint32_t bytes,
                             std::uint32_t thread) noexcept {
  for (std::uint32_t i = thread; i < bytes / Unit; i += block_threads)
    store<Unit>(to + i * Unit, load<word<Unit>, Unit>(from + i * Unit));
}

/// What one thread makes of bytes that are as they are, or one byte again and again.
constexpr void literals_bytes(const device_literals& job, std::uint32_t thread) noexcept {
  auto* const to = at_address<std::byte>(job.to);
  const auto* const from = at_address<const std::byte>(job.from);
  if (job.kind == device_literals::repeated) {
    for (std::uint32_t i = thread; i < job.bytes; i += block_threads) to[i] = *from;
    return;
  }
  switch (common_unit(address_of(to) | address_of(from) | job.bytes)) {
    case 16: return copy_literals<16>(to, from, job.bytes, thread);
    case 8: return copy_literals<8>(to, from, job.bytes, thread);
    case 4: return copy_literals<4>(to, from, job.bytes, thread);
    default: return copy_literals<1>(to, from, job.bytes, thread);
  }
}

}}}  // namespace zarrpoint::v0::cuda::detail
