// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/grid/raw_rows.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/coalescing_blob.hpp>
#include <zarrpoint/array/read/object_table.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/read/window_store.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// One call of `array::read`.
class read_operation {
 public:
  read_operation(const array_state& of, const context& how, const mutable_host_view& into,
                 const read_options& options);

  result<void> run(const selection& part, progress_meter& meter);

 private:
  /// An object, or null when it is missing, and what is expected of it.
  struct opened {
    std::unique_ptr<stored_object> object;
    const object_digest* expected = nullptr;
  };

  /// An inner chunk that is there, and where its elements go.
  struct source {
    const plan_item& item;
    const mutable_host_view& to;
    const blob& bytes;
    shard_entry entry;
  };

  /// The metadata of inner chunks that are shards.
  struct within {
    array_metadata metadata;
    array_layout layout;
  };

  result<void> read(std::size_t i);

  std::size_t item_bytes(const plan_item& item) const;

  result<void> read_of_object(const plan_item& item, const std::string& key);

  result<opened> open(const std::string& key, codec_workspace& scratch);

  /// Joins the reads of small inner chunks that lie next to each other.
  void coalesce(const plan_item& item, stored_object& shard) const;

  /// What an inner chunk is that is a shard itself: an array of one chunk.
  result<void> resolve_within();

  /// Reads the part of a shard within a shard that is wanted, and no more of it.
  result<void> read_within(const source& from);

  /// Whether chunks may be read in pieces: uncompressed ones of which no digest is to be compared.
  bool can_read_slabs(const selection& part) const;
  bool reads_slabs() const { return grid_.inner_shape != chunk_spec_.shape; }

  /// Slabs of a chunk that lie in one piece in it, of about 2 MiB: few calls, and work for all.
  static dims slab_shape(const tensor_spec& chunk);

  result<void> read_inner(const plan_item& item, const opened& from, scratch_pool::lease& scratch);

  result<void> read_entry(const plan_item& item, const opened& from, scratch_pool::lease& scratch);

  /// The fill value everywhere, cast where that is asked for.
  result<void> fill(const mutable_host_view& to, codec_workspace& scratch) const;

  result<void> read_stored(const source& from, const std::uint32_t* digest,
                           scratch_pool::lease& scratch);

  /// Uncompressed and not to be verified: as little as possible is read, and into its place.
  result<void> read_raw(source from, scratch_pool::lease& scratch);

  result<void> decode_stored(const source& from, const std::uint32_t* digest,
                             scratch_pool::lease& scratch);

  /// Below this a read of the whole inner chunk and a copy is faster than many reads.
  static constexpr std::size_t worthwhile_run = 4096;

  static result<void> read_rows(const source& from, const raw_rows& rows);

  result<void> check_digest(bytes_view stored, const std::uint32_t* digest) const;

  const array_state& of_;
  const context& how_;
  const mutable_host_view& into_;
  const read_options& options_;
  const std::shared_ptr<scratch_pool> pool_;
  scratch_pool::text_account text_{*pool_};
  const tensor_spec chunk_spec_;
  progress_meter* meter_ = nullptr;
  chunk_grid grid_;
  box_plan plan_;
  object_table<const opened> objects_;
  std::unique_ptr<const within> within_;  // null unless inner chunks are shards
  std::optional<context> alone_;          // of one worker: what is within is read by it alone
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/read/impl/read_operation_impl.hpp>
#endif
