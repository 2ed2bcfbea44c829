// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/grid/raw_rows.hpp>
#include <zarrpoint/array/read/object_table.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/memory/cast.hpp>

// The way of one chunk, from the store into the caller's memory. Each inner chunk that is wanted
// goes it alone, on any worker; the members of `read_operation` are grouped by these steps.
//
//   1 plan    which inner chunks a selection meets, and where the elements of each go
//             (grid/plan.hpp); slabs of large uncompressed chunks
//   2 open    the object, once for all its inner chunks that are wanted; of a shard the index is
//             read, compared with its crc32c and checked (stored_object.hpp).
//             Errors: `io`; `corrupt`: "shard index: ...", and what digests expect of the object
//   3 check   whether the inner chunk is there, should be, and has a size that can be.
//             Errors: `corrupt`, `not_found`
//   4 fetch   its stored bytes, or the rows of them that are wanted, in few reads
//             (stored_object.hpp, grid/raw_rows.hpp). A part of a shard within the shard takes
//             all these steps again, unless a digest asks for the whole. A whole one is decoded by
//             shard/sharding_codec.hpp, which names what fails in it. Errors: `io`
//   5 verify  their digest, while they are in the cache: their crc32c, or the one at their end,
//             which step 6 compares with them. Errors: `corrupt`: "its N stored bytes are not ..."
//   6 decode  the chain of codecs (codec/base/chain.hpp), into the destination where it can.
//             Errors: the codec's, by its name: "crc32c: checksum mismatch: ..."
//   7 place   the wanted part of what was decoded, cast where that is asked for
//
// Scratch memory beyond the budget is `resource_limit`, in any step. An error gets its place on the
// way out: "array ...: chunk c/0/0: inner chunk [1, 0]: ...".

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the parts of a read that is done in parts count together.
struct read_account {
  explicit read_account(scratch_pool& pool) : text(pool) {}
  scratch_account text;
  std::atomic<std::size_t> missing{0};  ///< objects that were looked for in vain
};

/// One call of `array::read`.
class read_operation {
 public:
  read_operation(const array_state& of, const context& how, const mutable_host_view& into,
                 const read_options& options);

  /// Counts in an account of the same scratch memory, which outlives this.
  void count_in(read_account& shared) noexcept { account_ = &shared; }

  result<void> run(const selection& part, progress_meter& meter);
  /// What `run` does where no object is stored.
  result<void> fill();

 private:
  friend class stored_read;

  /// An object, or null when it is missing, and what is expected of it.
  struct opened {
    std::unique_ptr<stored_object> object;
    const object_digest* expected = nullptr;
    std::size_t requests = 0;  // that it takes, where neighbours are joined to large ones
  };

  /// An inner chunk that is there, and where its elements go.
  struct source {
    const plan_item& item;
    const mutable_host_view& to;
    const blob& bytes;
    shard_entry entry;
    const std::uint32_t* digest;  // what its stored bytes are compared with; null: nothing
  };

  /// What step 3 says of an inner chunk.
  struct checked {
    shard_entry entry;
    const std::uint32_t* digest;
  };

  /// The metadata of inner chunks that are shards.
  struct within {
    array_metadata metadata;
    array_layout layout;
  };

  result<void> read_item(std::size_t i);
  /// What was made of text counts with the larger operation from now on.
  void hand_on_text() noexcept;
  /// Gives up what is held for items from `refused` on; the one to begin again with.
  std::size_t begin_again(std::size_t refused);
  result<void> read_item_of(const plan_item& item, const std::string& key);
  result<void> read_inner(const plan_item& item, const opened& from, scratch_pool::lease& scratch);
  result<void> read_entry(const plan_item& item, const opened& from, scratch_pool::lease& scratch);
  std::size_t item_bytes(const plan_item& item) const;
  /// A phase of this array.
  phase_scope at(phase what, std::size_t bytes) const {
    return {how_.observer, what, of_.key.str(), bytes};
  }

  // 1 plan
  /// Whether chunks may be read in pieces: uncompressed ones of which no digest is to be compared.
  bool can_read_slabs(const selection& part) const;
  bool reads_slabs() const { return grid_.inner_shape != chunk_spec_.shape; }
  /// Slabs of a chunk that lie in one piece in it, of about 2 MiB: few calls, and work for all.
  static dims slab_shape(const tensor_spec& chunk);
  /// What an inner chunk is that is a shard itself: an array of one chunk.
  result<void> plan_within();

  // 2 open
  result<opened> open_object(const std::string& key, codec_workspace& scratch);
  result<std::shared_ptr<const opened>> shared_object(const plan_item& item, const std::string& key,
                                                      codec_workspace& scratch);
  /// Opens an object that all items are of before any other worker would wait for it, and returns
  /// how many of them it keeps busy; 0 for no bound.
  unsigned open_only();
  /// Joins the reads of small inner chunks that lie next to each other. How many requests that
  /// makes, of a store that wants large ones.
  std::size_t coalesce(const plan_item& item, stored_object& shard) const;

  // 3 check
  result<checked> check_entry(const plan_item& item, const opened& from) const;

  // 4 fetch, and what it takes of the steps behind it
  result<void> fetch(const source& from, scratch_pool::lease& scratch);
  /// All of an entry.
  result<void> read_stored(const source& from, mutable_bytes into) const;
  /// Reads the part of a shard within a shard that is wanted, and no more of it.
  result<void> fetch_within(const source& from);
  /// Uncompressed and not to be verified: rows that are long, far apart, or side by side in a file
  /// are read into their places. For others the whole piece is read to scratch memory.
  result<void> fetch_raw(source from, scratch_pool::lease& scratch);
  /// Whether the runs are read for themselves: else a read of all `of_bytes` and a copy is faster.
  static bool is_worthwhile(const raw_rows& rows, std::size_t of_bytes, const blob& in);
  result<void> fetch_rows(const source& from, const raw_rows& rows) const;

  // 5 verify
  result<void> verify(bytes_view stored, const std::uint32_t* digest) const;

  // 6 decode, 7 place
  /// Waits for the budget, reads to scratch memory, verifies, decodes and places.
  result<void> decode(const source& from, scratch_pool::lease& scratch);
  /// The fill value everywhere, cast where that is asked for.
  result<void> place_fill(const mutable_host_view& to, codec_workspace& scratch) const;
  static result<void> place(const host_view& decoded, const source& from);

  const array_state& of_;
  const context& how_;
  const mutable_host_view& into_;
  const read_options& options_;
  const array_scratch pool_;
  read_account own_{*pool_};
  read_account* account_ = &own_;
  const tensor_spec chunk_spec_;
  progress_meter* meter_ = nullptr;
  chunk_grid grid_;
  box_plan plan_;
  object_table<const opened> objects_;
  std::size_t begun_at_ = 0;              // the first item of this pass: see `begin_again`
  std::unique_ptr<const within> within_;  // null unless inner chunks are shards
  std::optional<context> alone_;          // of one worker: what is within is read by it alone
};

}}}  // namespace zarrpoint::v0::detail
