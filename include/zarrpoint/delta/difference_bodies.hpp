// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/blosc/zstd_literals.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/delta/difference.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ---------------------------------------------------------------------------------- difference.hpp

enum class difference_kind : std::uint8_t { whole, changes };
enum class stream_kind : std::uint8_t { plain, same, coded };

/// Changes are stored in groups of so many, so that a decoder needs little memory.
inline constexpr std::size_t most_changes = 16384;
/// A number is its symbol up to here; beyond, the symbol tells how many bits it has.
inline constexpr std::uint64_t small_numbers = 192;
/// The bits of the smallest number that is not small.
inline constexpr unsigned first_width = 8;

/// Where groups are put together and taken apart.
class difference_memory {
 public:
  explicit difference_memory(memory_resource& from) : resource_(&from) {}

  result<mutable_bytes> get(std::size_t bytes) {
    if (held_.bytes().size() < bytes) {
      held_ = {};
      ZARRPOINT_TRY(made, buffer::allocate(bytes, *resource_));
      held_ = std::move(made);
    }
    return held_.bytes().first(bytes);
  }

 private:
  memory_resource* resource_;
  buffer held_;
};
struct writer_memory : difference_memory {
  using difference_memory::difference_memory;
};

ZARRPOINT_INLINE std::size_t difference_word(const dtype& type) noexcept {
  if (type.is_variable()) return 0;
  const std::size_t size = type.size();
  if (size == 1 || size == 2 || size == 4 || size == 8) return size;
  return size == 16 ? 8 : 1;
}

/// Bytes being written; `full` once they did not fit.
struct delta_sink {
  mutable_bytes to;
  std::size_t used = 0;
  bool full = false;

  void put(std::byte one) {
    if (used < to.size()) {
      to[used++] = one;
    } else {
      full = true;
    }
  }
  void put(bytes_view bytes) {
    if (bytes.size() > to.size() - used) {
      full = true;
    } else if (!bytes.empty()) {
      std::memcpy(to.data() + used, bytes.data(), bytes.size());
      used += bytes.size();
    }
  }
  /// Seven bits a byte, the lowest first.
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) put(static_cast<std::byte>((value & 127) | 128));
    put(static_cast<std::byte>(value));
  }
};

/// The changes of one chunk, group by group.
template <class Word>
class difference_writer {
 public:
  static constexpr std::size_t lanes = 64 / sizeof(Word);
  static constexpr std::size_t room = most_changes + lanes;
  /// Two streams of symbols, the bits of both numbers of each change, the changes themselves.
  static constexpr std::size_t bytes =
      2 * most_changes + 16 * most_changes + room * (sizeof(std::uint32_t) + sizeof(Word));

  difference_writer(delta_sink& to, mutable_bytes memory, codec_workspace& scratch)
      : to_(to),
        scratch_(scratch),
        values_(reinterpret_cast<Word*>(memory.data())),
        places_(reinterpret_cast<std::uint32_t*>(memory.data() + room * sizeof(Word))),
        symbols_(memory.subspan(room * (sizeof(Word) + sizeof(std::uint32_t)))) {}

  result<void> run(bytes_view base, bytes_view result_of) {
    const std::size_t count = base.size() / sizeof(Word);
    std::size_t at = 0;
    for (; at + lanes <= count && !to_.full; at += lanes) {
      const std::byte* const a = base.data() + at * sizeof(Word);
      const std::byte* const b = result_of.data() + at * sizeof(Word);
      std::uint64_t any = 0;
      for (std::size_t i = 0; i < 64; i += 8) any |= word_at(a + i) ^ word_at(b + i);
      if (any != 0) ZARRPOINT_CHECK(add(a, b, {at, lanes}));
    }
    if (at < count && !to_.full)
      ZARRPOINT_CHECK(add(base.data() + at * sizeof(Word), result_of.data() + at * sizeof(Word),
                          {at, count - at}));
    while (held_ != 0 && !to_.full) ZARRPOINT_CHECK(flush(std::min(held_, most_changes)));
    return {};
  }

 private:
  struct run_of {
    std::size_t first;
    std::size_t count;
  };

  static std::uint64_t word_at(const std::byte* from) {
    std::uint64_t out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }

  result<void> add(const std::byte* a, const std::byte* b, run_of at) {
    for (std::size_t i = 0; i < at.count; ++i) {
      Word before;
      Word after;
      std::memcpy(&before, a + i * sizeof(Word), sizeof(Word));
      std::memcpy(&after, b + i * sizeof(Word), sizeof(Word));
      const auto d = static_cast<Word>(after - before);
      places_[held_] = static_cast<std::uint32_t>(at.first + i);
      values_[held_] = d;
      held_ += d != 0 ? 1 : 0;
    }
    if (held_ < most_changes) return {};
    return flush(most_changes);
  }

  /// The symbol of a number; what it leaves out goes to the bits.
  std::byte symbol(std::uint64_t number) {
    if (number < small_numbers) return static_cast<std::byte>(number);
    const auto width = static_cast<unsigned>(std::bit_width(number));
    put_bits(number, width - 1);
    return static_cast<std::byte>(small_numbers + width - first_width);
  }
  void put_bits(std::uint64_t value, unsigned count) {
    for (; count != 0;) {
      const unsigned now = std::min(count, 8 - filled_);
      pending_ |= (static_cast<unsigned>(value) & ((1U << now) - 1)) << filled_;
      value >>= now;
      count -= now;
      filled_ += now;
      if (filled_ == 8) end_byte();
    }
  }
  void end_byte() {
    bits()[bit_bytes_++] = static_cast<std::byte>(pending_);
    pending_ = 0;
    filled_ = 0;
  }
  mutable_bytes bits() { return symbols_.subspan(2 * most_changes); }

  result<void> flush(std::size_t count) {
    bit_bytes_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      symbols_[i] = symbol(places_[i] - next_);
      next_ = std::size_t{places_[i]} + 1;
      // Small steps up and down are small numbers.
      const auto d = values_[i];
      const auto down = static_cast<Word>(Word{0} - static_cast<Word>(d >> (8 * sizeof(Word) - 1)));
      const auto folded = static_cast<Word>(static_cast<Word>(d << 1) ^ down);
      symbols_[most_changes + i] = symbol(static_cast<Word>(folded - 1));
    }
    if (filled_ != 0) end_byte();
    to_.number(count);
    ZARRPOINT_CHECK(put_stream(symbols_.first(count)));
    ZARRPOINT_CHECK(put_stream(symbols_.subspan(most_changes, count)));
    to_.number(bit_bytes_);
    to_.put(bits().first(bit_bytes_));
    held_ -= count;
    std::copy_n(places_ + count, held_, places_);
    std::copy_n(values_ + count, held_, values_);
    return {};
  }

  result<void> put_stream(bytes_view from) {
    const auto head = [&](std::size_t size, stream_kind kind) {
      to_.number(size << 2 | static_cast<std::size_t>(kind));
    };
    if (std::all_of(from.begin(), from.end(), [&](std::byte one) { return one == from[0]; })) {
      head(1, stream_kind::same);
      to_.put(from[0]);
      return {};
    }
    // Behind the head, whose size is known when the stream is there.
    constexpr std::size_t head_room = 5;
    const std::size_t free = to_.to.size() - to_.used;
    if (free > head_room && from.size() > 32) {
      const mutable_bytes room = to_.to.subspan(to_.used + head_room);
      const result<std::size_t> coded =
          encode_zstd_literals(from, room.first(std::min(room.size(), from.size())), scratch_);
      if (!coded && coded.failure().code != errc::out_of_range) return coded.failure();
      if (coded && *coded < from.size()) {
        head(*coded, stream_kind::coded);
        std::memmove(to_.to.data() + to_.used, room.data(), *coded);
        to_.used += *coded;
        return {};
      }
    }
    head(from.size(), stream_kind::plain);
    to_.put(from);
    return {};
  }

  delta_sink& to_;
  codec_workspace& scratch_;
  Word* const values_;
  std::uint32_t* const places_;
  const mutable_bytes symbols_;
  std::size_t held_ = 0;
  std::size_t next_ = 0;  // the place that a gap of 0 means
  std::size_t bit_bytes_ = 0;
  unsigned pending_ = 0;
  unsigned filled_ = 0;
};

template <class Word>
result<void> write_changes(const changed_elements& from, delta_sink& to, codec_workspace& scratch) {
  using writer = difference_writer<Word>;
  ZARRPOINT_TRY(memory, scratch.state<writer_memory>().get(writer::bytes));
  return writer(to, memory, scratch).run(from.base, from.result);
}

ZARRPOINT_INLINE result<std::size_t> encode_difference(const changed_elements& from,
                                                       mutable_bytes to, codec_workspace& scratch) {
  ZARRPOINT_ASSERT(from.base.size() == from.result.size() && to.size() > from.result.size());
  // What takes as much as the whole is stored whole.
  delta_sink out{to.first(from.result.size())};
  std::array<std::byte, 5> head{static_cast<std::byte>(difference_kind::changes)};
  store_le<std::uint32_t>(head.data() + 1, crc32c(from.base));
  out.put(head);
  switch (from.word) {
    case 1: ZARRPOINT_CHECK(write_changes<std::uint8_t>(from, out, scratch)); break;
    case 2: ZARRPOINT_CHECK(write_changes<std::uint16_t>(from, out, scratch)); break;
    case 4: ZARRPOINT_CHECK(write_changes<std::uint32_t>(from, out, scratch)); break;
    default: ZARRPOINT_CHECK(write_changes<std::uint64_t>(from, out, scratch)); break;
  }
  if (!out.full) return out.used;
  to[0] = static_cast<std::byte>(difference_kind::whole);
  if (!from.result.empty()) std::memcpy(to.data() + 1, from.result.data(), from.result.size());
  return from.result.size() + 1;
}

inline error bad_difference(const char* what) {
  return {errc::corrupt, std::string("zarrpoint.delta: ") + what};
}

ZARRPOINT_INLINE result<difference_head> read_difference_head(bytes_view stored) {
  if (stored.empty()) return bad_difference("nothing is stored");
  const auto kind = std::to_integer<unsigned>(stored[0]);
  if (kind == static_cast<unsigned>(difference_kind::whole)) return difference_head{true, 0};
  if (kind != static_cast<unsigned>(difference_kind::changes))
    return bad_difference("its kind is unknown");
  if (stored.size() < 5) return bad_difference("it is cut short");
  return difference_head{false, load_le<std::uint32_t>(stored.data() + 1)};
}

/// Bytes being read; `bad` once they did not suffice.
struct byte_source {
  bytes_view from;
  bool bad = false;

  bytes_view take(std::uint64_t size) {
    if (size > from.size()) {
      bad = true;
      return {};
    }
    const bytes_view out = from.first(static_cast<std::size_t>(size));
    from = from.subspan(out.size());
    return out;
  }
  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const bytes_view one = take(1);
      if (bad) return 0;
      const auto bits = std::to_integer<std::uint64_t>(one[0]);
      out |= (bits & 127) << shift;
      if (bits < 128) return out;
    }
    bad = true;
    return 0;
  }
};

/// The bits behind the symbols of a group, from the lowest of the first byte on.
class bit_source {
 public:
  explicit bit_source(bytes_view from) : from_(from), left_(8 * std::uint64_t{from.size()}) {}

  /// The number of a symbol. Once there are no bits left it is anything, and `bad` says so.
  std::uint64_t number(std::byte symbol) {
    const auto value = std::to_integer<std::uint64_t>(symbol);
    if (value < small_numbers) return value;
    const auto width = static_cast<unsigned>(value - small_numbers) + first_width;
    if (width > 64 || width - 1 > left_) {
      bad_ = true;
      return 0;
    }
    return std::uint64_t{1} << (width - 1) | take(width - 1);
  }
  bool bad() const noexcept { return bad_; }
  /// Less than a byte is padding.
  bool is_spent() const noexcept { return left_ < 8; }

 private:
  std::uint64_t take(unsigned count) {
    const std::uint64_t at = 8 * std::uint64_t{from_.size()} - left_;
    left_ -= count;
    const auto byte = static_cast<std::size_t>(at / 8);
    const auto shift = static_cast<unsigned>(at % 8);
    const std::uint64_t mask = (std::uint64_t{1} << count) - 1;
    if (from_.size() - byte >= 8 && count + shift <= 64)
      return load_le<std::uint64_t>(from_.data() + byte) >> shift & mask;
    std::uint64_t out = 0;
    for (unsigned done = 0; done < count; ++done) {
      const std::uint64_t bit = at + done;
      out |=
          (std::to_integer<std::uint64_t>(from_[static_cast<std::size_t>(bit / 8)]) >> bit % 8 & 1)
          << done;
    }
    return out;
  }

  bytes_view from_;
  std::uint64_t left_;  // bits
  bool bad_ = false;
};

inline result<bytes_view> read_stream(byte_source& from, mutable_bytes room,
                                      codec_workspace& scratch) {
  const std::uint64_t head = from.number();
  const bytes_view stored = from.take(head >> 2);
  if (from.bad) return bad_difference("a stream is cut short");
  switch (static_cast<stream_kind>(head & 3)) {
    case stream_kind::plain:
      if (stored.size() != room.size()) break;
      return stored;
    case stream_kind::same:
      if (stored.size() != 1) break;
      std::memset(room.data(), std::to_integer<int>(stored[0]), room.size());
      return bytes_view(room);
    case stream_kind::coded:
      if (!decode_zstd_literals(stored, room, scratch, 0)) break;
      return bytes_view(room);
    default: break;
  }
  return bad_difference("a stream is damaged");
}

/// The changes of a chunk, group by group, to its elements.
template <class Word>
result<void> apply_changes(byte_source from, mutable_bytes elements, codec_workspace& scratch) {
  ZARRPOINT_TRY(memory, scratch.state<difference_memory>().get(2 * most_changes));
  const std::uint64_t count = elements.size() / sizeof(Word);
  std::uint64_t next = 0;
  while (!from.from.empty()) {
    const std::uint64_t changes = from.number();
    if (from.bad || changes == 0 || changes > most_changes)
      return bad_difference("a group has an impossible number of changes");
    const auto size = static_cast<std::size_t>(changes);
    ZARRPOINT_TRY(gaps, read_stream(from, memory.first(size), scratch));
    ZARRPOINT_TRY(values, read_stream(from, memory.subspan(most_changes, size), scratch));
    bit_source bits(from.take(from.number()));
    if (from.bad) return bad_difference("a group is cut short");
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t gap = bits.number(gaps[i]);
      const std::uint64_t value = bits.number(values[i]);
      if (gap >= count - next || value >= static_cast<Word>(-1) || bits.bad())
        return bad_difference("a change lies outside of the chunk, or is none");
      next += gap;
      const auto folded = static_cast<Word>(value + 1);
      const auto down = static_cast<Word>(Word{0} - static_cast<Word>(folded & 1));
      const auto d = static_cast<Word>(static_cast<Word>(folded >> 1) ^ down);
      std::byte* const at = elements.data() + next * sizeof(Word);
      Word word;
      std::memcpy(&word, at, sizeof word);
      word = static_cast<Word>(word + d);
      std::memcpy(at, &word, sizeof word);
      ++next;
    }
    if (!bits.is_spent()) return bad_difference("a group has bits that nothing needs");
  }
  return {};
}

ZARRPOINT_INLINE result<void> apply_difference(bytes_view stored, mutable_bytes elements,
                                               std::size_t word, codec_workspace& scratch) {
  ZARRPOINT_TRY(head, read_difference_head(stored));
  if (head.is_whole) {
    if (stored.size() - 1 != elements.size())
      return bad_difference("a whole chunk has another size");
    if (!elements.empty()) std::memcpy(elements.data(), stored.data() + 1, elements.size());
    return {};
  }
  const byte_source from{stored.subspan(5)};
  switch (word) {
    case 1: return apply_changes<std::uint8_t>(from, elements, scratch);
    case 2: return apply_changes<std::uint16_t>(from, elements, scratch);
    case 4: return apply_changes<std::uint32_t>(from, elements, scratch);
    default: return apply_changes<std::uint64_t>(from, elements, scratch);
  }
}

}  // namespace detail

ZARRPOINT_INLINE result<difference_codec> difference_codec::resolve(
    const tensor_spec& decoded) const {
  if (detail::difference_word(decoded.type) == 0)
    return error{errc::unsupported,
                 "zarrpoint.delta has no differences of elements of variable length"};
  if (native_endian != endian::little)
    return error{errc::unsupported, "zarrpoint.delta needs a little-endian machine"};
  return *this;
}

ZARRPOINT_INLINE std::uint64_t difference_codec::encoded_bound(const tensor_spec& decoded) const {
  const result<std::size_t> bytes = byte_count(decoded);
  return bytes && *bytes < UINT32_MAX ? *bytes + 1 : UINT64_MAX;
}

ZARRPOINT_INLINE result<std::uint64_t> difference_codec::encoded_size(const host_view& from) const {
  return encoded_bound(from.spec());
}

ZARRPOINT_INLINE result<std::size_t> difference_codec::encode(const host_view& from,
                                                              mutable_bytes to,
                                                              codec_workspace& scratch) const {
  ZARRPOINT_TRY(plain, bytes_codec(endian::little).resolve(from.spec()));
  to[0] = static_cast<std::byte>(detail::difference_kind::whole);
  ZARRPOINT_TRY(size, plain.encode(from, to.subspan(1), scratch));
  return size + 1;
}

ZARRPOINT_INLINE result<void> difference_codec::decode(bytes_view stored,
                                                       const mutable_host_view& into,
                                                       codec_workspace& scratch) const {
  ZARRPOINT_TRY(head, detail::read_difference_head(stored));
  if (!head.is_whole)
    return error{errc::unsupported,
                 "it differs from a chunk of its base: open the delta by zp::open_delta of "
                 "<zarrpoint/delta.hpp>"};
  ZARRPOINT_TRY(plain, bytes_codec(endian::little).resolve(into.spec()));
  return plain.decode(stored.subspan(1), into, scratch);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/array_to_bytes/bodies.hpp>
#include <zarrpoint/codec/blosc/huffman_bodies.hpp>
#endif
