// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/default_context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/interop/orbax_save/orbax_item.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 { namespace orbax {

/// What one process has of a tree: shards, and values that are whole.
struct tree_part {
  std::span<const sharded_tensor> shards{};
  std::span<const tree_item> leaves{};
};

/// `save` by many processes, with the files that Orbax's processes write; all call it. Each gives
/// the shards that it has, and values that are whole. Of a box that several have, the one stores it
/// that has the fewest bytes to store, and a number the lowest rank. With OCDBT each writes to
/// `ocdbt.process_<rank>` and rank 0 makes one database of them without copying a value; without,
/// each writes its own chunks, and rank 0 the documents. No box begins inside a chunk, so that no
/// two processes write to one. All give the same options. Those that tell where and what the tree
/// is are compared (`zarr_format`, `ocdbt`, `step`, `item`, `arrays`, `rich_types`); of `rules`,
/// `shardings` and metadata what rank 0 gives counts. The directory must be one for all. The report
/// is the same for all, but for its seconds, of which single leaves have none.
///
/// Errors, the same on all ranks: those of `save`; before a byte is written `invalid_argument`,
/// naming leaves and ranks, for holes and overlaps, for a leaf that is not the same to all
/// processes, for two shards at one path, for options that differ, and for rules whose chunks have
/// elements of two boxes; `unsupported` for flat pieces of shards, and for several processes whose
/// target is not a directory; `outcome_unknown` where a process cannot know whether rank 0 has
/// committed.
result<save_report> save(const location& where, const any_communicator& ranks,
                         std::span<const sharded_tensor> shards,
                         std::span<const tree_item> leaves = {},
                         const save_tree_options& options = {},
                         const context& how = default_context());

}}}  // namespace zarrpoint::v0::orbax

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/impl/orbax_group_save_impl.hpp>
#endif
