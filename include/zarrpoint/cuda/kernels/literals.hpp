// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/cuda/kernels/kernel_index.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <array>

// Literals of zstd blocks (RFC 8878, 3.1.1.3.1 and 4.2). A block of threads makes those of one: all
// threads make a table of the code, then one thread decodes each stream. Streams are many, since a
// launch has those of many chunks, so that no thread needs to begin within one.
//
// The next 11 bits of a stream choose up to four symbols that stand in them whole. A stream is read
// by aligned words from its end on. The words at both ends may have bytes of others in them: what
// was taken is counted, and must be all bits in the end.
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

/// The bits of a stream from its end on.
class literal_stream {
 public:
  /// `size` > 0 bytes, the last of which is not 0.
  constexpr literal_stream(const std::byte* from, std::uint32_t size) noexcept {
    const std::uint64_t before = address_of(from) % literal_word;
    words_ = from - before;
    auto last = static_cast<std::uint32_t>(from[size - 1]);
    std::uint32_t mark = 0;
    while (last >>= 1) ++mark;
    left_ = 8 * (std::uint64_t{size} - 1) + mark;
    const std::uint64_t end = left_ + 8 * before;
    word_ = static_cast<std::int64_t>(end / 32);
    have_ = static_cast<std::uint32_t>(end % 32);
    if (have_ != 0) bits_ = std::uint64_t{word_at(word_)} << (64 - have_);
    for (std::uint32_t& one : ahead_) one = word_at(--word_);
  }

  /// After it 33 bits are there at least: those behind the end are 0.
  constexpr void refill() noexcept {
    while (have_ <= 32) {
      bits_ |= std::uint64_t{ahead_[0]} << (32 - have_);
      have_ += 32;
      ahead_[0] = ahead_[1];
      ahead_[1] = ahead_[2];
      ahead_[2] = ahead_[3];
      ahead_[3] = word_at(--word_);
    }
  }
  constexpr std::uint32_t next() const noexcept {
    return static_cast<std::uint32_t>(bits_ >> (64 - literal_bits));
  }
  constexpr void take(std::uint32_t count) noexcept {
    bits_ <<= count;
    have_ -= count;
    left_ -= count;
  }
  /// Whether all bits were taken, and no more.
  constexpr bool is_done() const noexcept { return left_ == 0; }

 private:
  constexpr std::uint32_t word_at(std::int64_t i) const noexcept {
    return i < 0 ? 0 : load<std::uint32_t>(words_ + i * literal_word);
  }

  const std::byte* words_ = nullptr;      ///< aligned; the first one has the first byte
  std::uint64_t left_ = 0;                ///< bits that were not taken
  std::uint64_t bits_ = 0;                ///< the next ones highest
  std::uint32_t have_ = 0;                ///< of them
  std::int64_t word_ = 0;                 ///< the last one in `ahead_`
  std::array<std::uint32_t, 4> ahead_{};  ///< so that no load is waited for
};

struct stored_stream {
  const std::byte* data;
  std::uint32_t size;
};
struct literal_bytes {
  std::byte* data;
  std::uint32_t size;
};

/// Decodes one stream; false when it does not end with the last byte that is made.
constexpr bool decode_literal_stream(const literals_shared& shared, literal_bytes made,
                                     stored_stream stream) noexcept {
  if (stream.size == 0 || stream.data[stream.size - 1] == std::byte{}) return false;
  literal_stream in(stream.data, stream.size);
  std::byte* to = made.data;
  std::uint32_t count = made.size;
  const auto one_symbol = [&] {
    in.refill();
    const std::uint64_t entry = shared.entries[in.next()];
    *to++ = static_cast<std::byte>(entry & 255);
    in.take(static_cast<std::uint32_t>(entry >> 48));
    --count;
  };
  while (count != 0 && address_of(to) % sizeof(std::uint64_t) != 0) one_symbol();
  std::uint64_t held = 0;    // symbols that are not stored yet
  std::uint32_t filled = 0;  // how many
  constexpr std::uint32_t look_ups = 3;
  while (count >= look_ups * most_symbols) {
    in.refill();
    for (std::uint32_t i = 0; i < look_ups; ++i) {
      const std::uint64_t entry = shared.entries[in.next()];
      const auto symbols = static_cast<std::uint32_t>(entry);
      const auto more = static_cast<std::uint32_t>(entry >> 40) & 255;
      in.take(static_cast<std::uint32_t>(entry >> 32) & 255);
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
  return in.is_done();
}

/// Fourth: the streams, a thread each; false where one is none.
constexpr bool literals_streams(const device_literals& job, const literals_shared& shared,
                                std::uint32_t thread) noexcept {
  const std::uint32_t streams = job.kind == device_literals::one_stream ? 1 : 4;
  if (thread >= streams) return true;
  const std::uint32_t each = job.bytes / streams + (job.bytes % streams != 0 ? 1 : 0);
  const std::uint32_t count = thread + 1 < streams ? each : job.bytes - each * (streams - 1);
  auto* const to = at_address<std::byte>(job.to) + std::uint64_t{each} * thread;
  const auto* from = at_address<const std::byte>(job.from);
  for (std::uint32_t i = 0; i < thread; ++i) from += job.sizes[i];
  return decode_literal_stream(shared, {to, count}, {from, job.sizes[thread]});
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
