// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a checkpoint holds, told without its elements, and loaded without a description of one's
// own. None of these is collective, but for `load_plain_tensors` in a group of several processes.
// What all processes have in common is read by those two alone that give it: damage to it stops
// nothing else.

namespace zarrpoint { inline namespace v0 {

/// Requests by tensor key: each the whole of its tensor, without data. Errors: those of
/// `open_sharded`.
result<std::map<std::string, sharded_tensor>> load_tensors_metadata(
    const location& where, const process_group& group = {});

/// The same with every object, by its unique key: a state that can be asked for. Where several
/// processes ask for it, each asks for all as the main replica, which
/// `group_load_options::validate` has to allow by being false. Errors: the same, `resource_limit`
/// for more than a million objects.
result<state> load_sharded_metadata(const location& where, const process_group& group = {});

/// Every tensor, whole, on each process, by its key; of the type and shape that rules of
/// `options.storage` give it. Errors: those of `load`.
result<std::map<std::string, tensor>> load_plain_tensors(const location& where,
                                                         const process_group& group = {},
                                                         const group_load_options& options = {});

/// What all processes have in common. Errors: those of `open_sharded`.
result<state> load_common_state(const location& where, const process_group& group = {});

/// What the saver said that the state is; null where it said nothing. Errors: those of
/// `open_sharded`.
result<json> load_content_metadata(const location& where, const process_group& group = {});

/// Takes all tensors and objects whose keys begin with `prefix` out of a checkpoint, and says which
/// they were. The metadata go first, so that what is interrupted leaves a checkpoint that is whole
/// without them. One process calls it, while none writes. Errors: those of `open_sharded`,
/// `unsupported` for formats and stores that cannot, `io`.
result<std::vector<std::string>> remove_sharded_tensors(const location& where,
                                                        std::string_view prefix,
                                                        const process_group& group = {});

}}  // namespace zarrpoint::v0
