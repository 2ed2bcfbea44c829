// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/state/state.hpp>
#include <zarrpoint/distributed/strategy/process_group.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What a load of several processes gives one of them.
struct group_load_report {
  state loaded;  ///< what was asked for, and what all processes have in common
  std::set<std::string, std::less<>> missing{};  ///< as the strictness mode has it
  std::set<std::string, std::less<>> unexpected{};
  std::vector<std::string> warnings{};
  json content_metadata{};       ///< null: none
  std::uint64_t bytes_read = 0;  ///< of elements that this process read from the store
};

/// Loads what this process asks for out of a checkpoint that any number of processes saved, in
/// any other sharding. Collective. Tensors of the request that have a value are filled in place;
/// for others the result has a `tensor`. The result holds the request's tree with what the
/// checkpoint has in common merged into it.
///
/// Errors are the same on all processes: `not_found` ("does not exist", "is not a distributed
/// checkpoint", a key), `dtype_mismatch`, `shape_mismatch`, `unsupported`, `corrupt`, `io`,
/// `unavailable`. Requests that do not tile their tensors are `invalid_argument`, see
/// `group_load_options::validate`.
result<group_load_report> load(const location& where, const state& request,
                               const process_group& group, const group_load_options& options = {});

}}  // namespace zarrpoint::v0
