// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a checkpoint that many processes saved holds beside its arrays: objects, and what all of
// them have in common.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/strategy/strategy.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/file/file_options.hpp>

#include "source.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace cli {

using dims_by_key = std::map<std::string, zp::dims, std::less<>>;

struct saved_by_many {
  std::shared_ptr<zp::sharded_reader> shards;
  dims_by_key objects;  ///< the grid of each key
  /// Of tensors that were saved in flat pieces, the shape of the cells that these make up.
  dims_by_key flat_cells;
  zp::json common;                        ///< of a checkpoint of ours
  zp::json content_metadata;              ///< of a checkpoint of ours
  std::string common_array;               ///< the array of the source that the common state is
  std::optional<zp::any_store> megatron;  ///< the directory, if it is Megatron-Core's
  bool lists_objects = true;              ///< objects and the common state are among the arrays
};

/// What `path`, which is open as `from`, is: nothing if it is neither a directory of Megatron-Core
/// nor a checkpoint of ours. Errors: those of `open_sharded`.
zp::result<std::optional<saved_by_many>> open_saved_by_many(const source& from,
                                                            const std::string& path,
                                                            zp::link_scope links,
                                                            const zp::context& how);

}  // namespace cli
