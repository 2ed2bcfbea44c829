// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

// The bits of a stream of pco, the lowest of a byte first, and which types of numbers it has.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// How a number becomes an unsigned integer of the same order and back.
enum class pco_order : std::uint8_t { unsigned_integer, signed_integer, floating };

/// A type of numbers of pco (its format, "Standalone Format").
struct pco_type {
  std::uint8_t code = 0;  ///< in the stream
  std::uint8_t size = 0;  ///< bytes of a number
  pco_order order = pco_order::unsigned_integer;
};

/// The type of pco for elements of `type`; nothing when it has none.
std::optional<pco_type> pco_type_of(const dtype& type);

inline constexpr std::size_t pco_batch = 256;     ///< numbers that are coded together
inline constexpr unsigned pco_max_size_log = 14;  ///< log2 of the states of a table, at most
inline constexpr std::uint64_t pco_max_chunk = 1U << 24;  ///< numbers of a chunk of pco, at most

/// A number as an unsigned integer of the same order, and back: `bits` are those of the number.
/// Without branches, so that loops over it become vector code.
template <class L>
constexpr L pco_ordered(L bits, pco_order order) noexcept {
  constexpr int top = sizeof(L) * 8 - 1;
  constexpr L middle = static_cast<L>(L{1} << top);
  if (order == pco_order::unsigned_integer) return bits;
  if (order == pco_order::signed_integer) return static_cast<L>(bits ^ middle);
  return static_cast<L>(bits ^ (static_cast<L>(0 - (bits >> top)) | middle));
}
template <class L>
constexpr L pco_number(L ordered, pco_order order) noexcept {
  constexpr int top = sizeof(L) * 8 - 1;
  constexpr L middle = static_cast<L>(L{1} << top);
  if (order == pco_order::unsigned_integer) return ordered;
  if (order == pco_order::signed_integer) return static_cast<L>(ordered ^ middle);
  return static_cast<L>(ordered ^ (static_cast<L>((ordered >> top) - 1) | middle));
}

/// Reads a stream; each read is checked against its end.
class pco_reader {
 public:
  /// The most bytes that `ahead` is asked for: a batch of the widest numbers in a table of the
  /// most states, and a word behind them.
  static constexpr std::size_t max_ahead = pco_batch * (64 + pco_max_size_log) / 8 + 24;

  explicit pco_reader(bytes_view from) : from_(from) {}

  /// The next `width` bits, of at most 64. Errors: `corrupt`.
  result<std::uint64_t> read(unsigned width);
  /// Goes to the end of the byte; the bits up to there must be 0.
  result<void> align();
  /// The bits that are left.
  std::uint64_t left() const noexcept { return from_.size() * 8 - at_; }

  /// Memory from the current byte on, of `bytes` bytes at least: those after the end are 0. The
  /// first `offset` bits of it have been read.
  const std::byte* ahead(std::size_t bytes, std::size_t& offset);
  /// Goes on to the bit at `offset` of the memory of `ahead`. Errors: `corrupt` after the end.
  result<void> skip_to(std::size_t offset);

 private:
  static error truncated() { return {errc::corrupt, "the stream of pcodec is truncated"}; }

  bytes_view from_;
  std::uint64_t at_ = 0;
  std::byte tail_[max_ahead];
};

/// Writes a stream into memory that has room for it and 8 bytes more.
class pco_writer {
 public:
  explicit pco_writer(std::byte* to) : begin_(to), to_(to) {}

  /// The `width` lowest bits of `bits`, of at most 64; those above are 0.
  void write(std::uint64_t bits, unsigned width) noexcept;
  /// Fills the byte with 0.
  void align() noexcept;
  /// Bytes written, whole ones.
  std::size_t size() const noexcept { return static_cast<std::size_t>(to_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* to_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;  // of `word_`, less than 8
};

}}}  // namespace zarrpoint::v0::detail
