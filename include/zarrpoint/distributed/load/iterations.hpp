// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The checkpoints of one run of training, side by side in a folder, named by the iteration. A save
// gives a checkpoint its name only when it is whole, so what has a name can be loaded, but for
// damage. None of these functions is collective.

namespace zarrpoint { inline namespace v0 {

/// `"iter_0000007"`, as Megatron-Core's programs have it: seven digits, or more where it takes
/// more. `iteration` is not negative.
std::string iteration_name(index_t iteration);

/// The iteration of such a name; nothing for any other name.
std::optional<index_t> parse_iteration_name(std::string_view name);

/// Where in a folder the checkpoint of an iteration is. Errors: `invalid_argument`.
result<location> iteration_at(const location& folder, index_t iteration);

/// The iterations whose checkpoints a folder has, from the first to the last. Anything else in it
/// does not matter, and a folder that does not exist has none. Errors: `unsupported` for stores
/// that cannot list, `io`.
result<std::vector<index_t>> list_iterations(const location& folder,
                                             const context& how = default_context());

/// Removes the checkpoint of an iteration, in one step where the store can: no process may be
/// reading it. False when there is none. One process calls it. Errors: `unsupported`, `io`.
result<bool> remove_iteration(const location& folder, index_t iteration,
                              const context& how = default_context());

}}  // namespace zarrpoint::v0
