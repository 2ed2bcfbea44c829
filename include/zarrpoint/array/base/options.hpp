// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>

namespace zarrpoint { inline namespace v0 {

class shard_index_cache;
class chunk_digests;
class scratch_account;

/// The meaning of an absent chunk, or inner chunk, to a reader.
enum class missing_chunks : std::uint8_t {
  fill,   ///< its elements are the fill value, as Zarr has it
  error,  ///< data were lost: `not_found`
};

/// How an array is read.
struct read_options {
  missing_chunks missing = missing_chunks::fill;
  /// Compare each stored byte that is read with these digests; whole inner chunks are read then. A
  /// difference, or an object that they do not name, is `corrupt`. What they say is absent is
  /// filled, whatever `missing` says; what they say is there must be.
  const chunk_digests* expected = nullptr;  // those of `array::expecting` when null
  /// False: of `expected`, only what is stored and its sizes are compared, not the checksums.
  bool checksums = true;
  /// See `load_options::device_verify`.
  bool device_verify = false;
  /// Let the memory have another dtype: elements are cast, chunk by chunk (see
  /// core/types/convert.hpp).
  bool cast = false;
  const context* how = nullptr;     ///< null: the context the array was opened with
  progress_meter* meter = nullptr;  ///< told of decoded bytes; null: the context's callback is
  /// Keeps shards open, with their indexes, from one read to the next: they stay what they were
  /// when they were opened. Null: each read opens those it needs; the array keeps indexes alone,
  /// while `blob::version` tells that they are of what is stored.
  shard_index_cache* indexes = nullptr;
  /// Of a larger operation: the text of strings counts there when this one has ended. It is of the
  /// scratch memory of `how`.
  scratch_account* made = nullptr;
};

/// How an array is written.
struct write_options {
  bool elide_fill = true;              ///< do not store inner chunks that hold only the fill value
  chunk_digests* collected = nullptr;  ///< receives the digest of every object that was written
  bool cast = false;                   ///< as `read_options::cast`
  const context* how = nullptr;        ///< null: the context the array was opened with
  progress_meter* meter = nullptr;     ///< told of encoded bytes; null: the context's callback is
  /// Inner chunks of 4 KiB or more begin at multiples of this in their shard, so that what is read
  /// of them is aligned; 1 packs them. Uncompressed ones are not taken apart: the first of them
  /// begins at a multiple.
  std::uint32_t alignment = 64;
  /// Add what changes in a shard to its end, with a new index, rather than write the shard anew. It
  /// is done where the store can do that in one step (`file_store::extend`) and less than half of
  /// the shard would be old. Of a write to several shards it is done where half of their inner
  /// chunks at most change. `compact` takes out what is old.
  bool extend = true;
  /// See `save_options::device_encode`.
  bool device_encode = false;
};

}}  // namespace zarrpoint::v0
