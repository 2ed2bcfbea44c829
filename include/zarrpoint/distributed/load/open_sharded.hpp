// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/plan_group_save.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

// Open: which strategies read a checkpoint, and what they find in it. Not collective.

namespace zarrpoint { inline namespace v0 {

/// A checkpoint of many processes, opened by one of them.
struct sharded_checkpoint {
  std::string name;  ///< what messages call it
  std::shared_ptr<sharded_reader> shards;
  json common{};            ///< what all processes have in common
  json content_metadata{};  ///< null: none
};

namespace detail {

result<strategy_id> id_of(const json* backend, const json* version);

result<std::optional<json>> document_at(const any_store& store, std::string_view file,
                                        std::size_t max_bytes);

/// What reads the common part is an error only for callers that want it.
struct named_strategies {
  bool by_checkpoint = false;  ///< not assumed of a hierarchy that names none
  strategy_id sharded{"zarr", 3};
  result<strategy_id> common = strategy_id{"json", 1};
};

/// What a checkpoint says of the strategies that read it: in our attributes, or in `metadata.json`
/// as Megatron-Core has it. A `metadata.json` beside a checkpoint of ours is somebody's, and so is
/// one that names no strategies beside any other Zarr hierarchy, which is read as ours. Errors:
/// `not_found` where nothing says so; `corrupt`, naming the file; `io`.
result<named_strategies> find_strategies(const any_store& store, std::size_t max_bytes);

}  // namespace detail

/// Opens a checkpoint by the strategies that its metadata name, or those of `options`. Errors:
/// `not_found` ("does not exist", "is not a distributed checkpoint"); `unsupported` for a backend
/// or a version that the group's table has not, or that a loader of `options` does not read;
/// `corrupt`, `io`.
result<sharded_checkpoint> open_sharded(const location& where, const process_group& group = {},
                                        const group_load_options& options = {});

}}  // namespace zarrpoint::v0
