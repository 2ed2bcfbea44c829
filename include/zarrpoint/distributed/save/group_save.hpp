// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/save_protocol.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The work that a format of `save_options::format` is asked to do by many processes. All of it
/// outlives the save, but for `tree` and what it refers to.
struct group_save_request {
  const location& where;
  const state& tree;
  const group_save_options& options;
  const strategy_table& known;
  const detail::save_group& group;
};

/// What a `group_save_as` returns: a save in some format, which has not begun.
using group_saver = std::shared_ptr<detail::save_format>;

/// For a `group_save_as`: the save by a strategy, in place of `group_save_options::sharded`, and by
/// `common` where `group_save_options::common` has none. So a format of a program's own is written
/// by many processes.
result<group_saver> save_by(const strategy_choice& sharded, const group_save_request& what,
                            std::optional<strategy_choice> common = {});

namespace detail {

struct prepared_state;

/// The state of a `group_save_as` in `format`, as in "an Orbax checkpoint", that has no place for
/// objects and for metadata of content. Errors: `unsupported` where there are some.
result<prepared_state> prepare_without_objects(const group_save_request& what,
                                               std::string_view format);

}  // namespace detail

/// Saves the state of a group of processes as one checkpoint, in one step. Until rank 0's last
/// rename the target stays as it was, even if a process fails or dies. Collective; `tree` is what
/// this process brings, and is not changed. Each shard is stored once, by one process, as an object
/// of its own.
///
/// Errors are the same on all processes. `invalid_argument`, `out_of_range`, `dtype_mismatch` and
/// `shape_mismatch` name keys and ranks of shards that make no sense or do not tile their tensors.
/// `unavailable` names a process that is gone. All others are those of `save`. Of the report
/// `leaves` and `id` are empty in our own layout.
result<save_report> save(const location& where, const state& tree, const process_group& group,
                         const group_save_options& options = {});

}}  // namespace zarrpoint::v0
