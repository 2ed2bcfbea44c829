// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A piece of an archive that is being written: a local header, and room for the bytes of a member.
struct zip_extent {
  std::uint64_t header = 0;
  std::uint64_t data = 0;  ///< aligned
  std::uint64_t end = 0;

  std::uint64_t capacity() const noexcept { return end - data; }
};

/// Which pieces of an archive are in use. What is given back is used again; nothing moves.
class zip_space {
 public:
  /// Room for `capacity` bytes at a multiple of `alignment`, with at least `header` bytes before.
  zip_extent allocate(std::uint64_t header, std::uint64_t capacity, std::uint64_t alignment);

  /// Makes an extent end at `end`: shorter always, longer only if nothing lies behind it. Tells
  /// whether it does.
  bool resize(zip_extent& extent, std::uint64_t end);

  void give_back(const zip_extent& extent) noexcept;

  /// What is given back from here on is not used again.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }

  /// Where the last extent ends.
  std::uint64_t tail() const;

 private:
  static zip_extent place(std::uint64_t from, std::uint64_t header, std::uint64_t capacity,
                          std::uint64_t alignment);

  void add_gap(std::uint64_t begin, std::uint64_t end);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> gaps_;  ///< from begin to end; none touch
  std::uint64_t tail_ = 0;
  std::atomic<bool> closed_{false};
};

/// A member that is written; its piece of the archive is free again once nobody has it.
struct zip_written_member {
  /// `at`: its piece, or nothing yet.
  explicit zip_written_member(zip_space& archive, zip_extent at = {})
      : space(archive), extent(at) {}
  zip_written_member(const zip_written_member&) = delete;
  zip_written_member& operator=(const zip_written_member&) = delete;
  ~zip_written_member() {
    if (extent.end != extent.header) space.give_back(extent);
  }

  zip_space& space;
  zip_extent extent;
  std::uint64_t size = 0;
  std::uint32_t crc32 = 0;
};

/// The members of an archive that comes into being, by name. To add one costs a look into a table:
/// their order is made when somebody asks for it. Names stay, also of what was erased.
/// Not thread-safe.
class zip_members {
 public:
  using pointer = std::shared_ptr<const zip_written_member>;
  struct entry {
    std::string name;
    std::size_t hash;
    pointer member;  ///< null: it was erased
  };
  /// A name and what finds it; made before a lock is taken.
  struct key {
    std::string name;
    std::size_t hash;
  };
  /// Thread-safe.
  key key_of(std::string_view name) const { return {std::string(name), hash_of(name)}; }

  /// Null when there is none.
  pointer find(std::string_view name) const;
  /// So that the next `put` needs no memory.
  void make_room();
  /// Gives `name` to a member. Returns the one that had it, so that its end can wait for the end of
  /// a lock.
  pointer put(key name, pointer member);
  bool erase(std::string_view name);

  /// How many names there are, those of erased ones among them.
  std::size_t names() const noexcept { return entries_.size(); }
  /// One of them, by its place among all by name.
  const entry& nth(std::size_t place) const;
  /// The first of those that are there whose name is not less than `name`, or null.
  const entry* at_least(std::string_view name) const;

 private:
  static constexpr std::size_t few = 8;

  /// Different for each archive, so that nobody can choose names that all lie in one place.
  std::size_t hash_of(std::string_view name) const noexcept;
  const entry* entry_of(std::string_view name) const;  ///< also of what was erased
  /// Where the name is in `slots_`, or belongs.
  std::size_t slot_of(std::string_view name, std::size_t hash) const;
  void put_in_order() const;
  /// In `order_`.
  std::size_t place_of(std::string_view name) const;

  // Vectors of one type, which other code has, too.
  std::vector<entry> entries_;              ///< in the order in which their names came
  std::vector<std::size_t> slots_;          ///< a place in it plus one, or zero, as most are
  mutable std::vector<std::size_t> order_;  ///< places by name, of the first entries
};

}}}  // namespace zarrpoint::v0::detail
