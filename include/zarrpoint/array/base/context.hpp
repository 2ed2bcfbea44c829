// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/exec/executor.hpp>
#include <zarrpoint/exec/progress.hpp>
#include <zarrpoint/exec/stop.hpp>
#include <zarrpoint/memory/resource.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace zarrpoint { inline namespace v0 {

class scratch_pool;

namespace detail {
codec_table default_codec_table();
store_table default_store_table();
}  // namespace detail

/// What a file may cost at most. The file decides nothing beyond these.
struct limits {
  /// Scratch bytes (stored and decoded chunks) in use at a time; 0 for no bound.
  std::size_t bytes_in_flight = std::size_t{256} << 20;
  /// A hard budget for all memory that the library allocates in one operation: the tensors it
  /// makes, scratch, codec state, the text of strings, and what it makes of metadata. Beyond it:
  /// `resource_limit`; docs/guide.md has what comes on top.
  std::size_t memory = SIZE_MAX;
  /// The largest metadata document. A commit document takes about 800 bytes a leaf, and twice that
  /// with what it consolidates.
  std::size_t metadata_bytes = std::size_t{128} << 20;
  /// Inner chunks of a shard: an index of 2^24 is 256 MiB.
  std::uint64_t max_inner_chunks = std::uint64_t{1} << 24;
  /// Chunks, or inner chunks of shards, that one read or write may meet, stored or not: a few bytes
  /// of metadata can state more than anybody can look for.
  std::uint64_t max_chunks = std::uint64_t{1} << 24;
};

namespace detail {

/// The largest metadata document within all limits, and what is made of it. A document of ours
/// takes up to eight times its size; small ones are within the constant beyond `limits::memory`.
json_limits document_limits(const limits& limit) noexcept;

}  // namespace detail

/// How work is done: the one argument that says *how*, not *what*. Cheap to copy. `context{}`
/// runs everything on the calling thread, with the default codecs; `default_context()` has threads.
struct context {
  any_executor executor{};
  codec_table codecs = detail::default_codec_table();
  store_table stores = detail::default_store_table();  ///< what URLs and paths open
  limits limit{};
  stop_token stop{};
  progress_callback progress{};
  phase_observer* observer = nullptr;   ///< told of each phase; outlives the operation
  memory_resource* resource = nullptr;  ///< null: `default_resource()`
  /// Scratch memory and codec states shared by all operations that use this context; null: each
  /// operation has its own, or what its array has kept. See `with_scratch`.
  std::shared_ptr<scratch_pool> scratch{};
};

namespace detail {

/// The memory resource of a context.
inline memory_resource& resource_of(const context& how) noexcept {
  return how.resource != nullptr ? *how.resource : default_resource();
}

}  // namespace detail

const context& default_context();

}}  // namespace zarrpoint::v0
