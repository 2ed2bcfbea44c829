// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

class shard_table;

/// Writes what processes send each other: numbers in seven bits a byte, the low ones first, so that
/// the small ones, which are most, take a byte. There is neither a byte order nor padding.
class wire_writer {
 public:
  void number(std::uint64_t value);
  /// A number of either sign.
  void index(index_t value);
  void indexes(std::span<const index_t> values) {
    for (const index_t value : values) index(value);
  }
  void flag(bool value) { number(value ? 1 : 0); }
  void bytes(bytes_view value);
  void text(std::string_view value) { bytes(as_bytes(value)); }
  void shape(const dims& value);
  void part(const box& value);
  void type(const dtype& value);

  std::size_t size() const noexcept { return out_.size(); }
  std::vector<std::byte> take() && { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

/// Reads what a `wire_writer` wrote, from a process that may be of another mind. After the first
/// thing that is not as it should be every answer is empty, and `finish` says so. What is read
/// takes memory in proportion to the message.
class wire_reader {
 public:
  explicit wire_reader(bytes_view message) : rest_(message) {}

  std::uint64_t number();
  index_t index();
  bool flag() { return limited(1) != 0; }
  /// A number of at most `most`.
  std::uint64_t limited(std::uint64_t most);
  /// How many things follow, each of which takes `least` bytes or more.
  std::size_t count(std::size_t least = 1);
  bytes_view bytes();
  std::string text() { return std::string(as_text(bytes())); }
  dims shape() { return indexes(static_cast<std::size_t>(limited(max_rank))); }
  box part();
  dims indexes(std::size_t rank);
  dtype type(std::size_t levels = detail::max_record_depth + 1);

  void fail() noexcept;
  bool failed() const noexcept { return failed_; }
  std::size_t rest() const noexcept { return rest_.size(); }

  /// Whether all was there, and no more. Errors: `corrupt`.
  result<void> finish() const;

 private:
  bytes_view rest_;
  bool failed_ = false;
};

inline constexpr std::uint64_t wire_version = 2;

/// The shards of one process as a message: what they have in common once, then a few bytes each.
/// Errors: `invalid_argument` for a replica of more than 64 numbers.
result<std::vector<std::byte>> encode_shards(const shard_table& shards);

/// The same for a list. Errors: those of `shard_metadata::check`, too.
result<std::vector<std::byte>> encode_shards(std::span<const shard_metadata> shards);

/// Adds the shards of process `rank` from its message. Whether they make sense is for
/// `validate_sharding` to say. Errors: `corrupt`, when a part of them may have been added;
/// `unsupported` for a message of another version; those of `shard_table::append`.
result<void> decode_shards(bytes_view message, int rank, shard_table& into);

}}}  // namespace zarrpoint::v0::detail
