// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/state/state_ops.hpp>

namespace zarrpoint { inline namespace v0 {

/// Where two states differ, in the order of their paths.
struct state_diff {
  struct mismatch {
    std::string path;
    std::string what;  ///< e.g. `"sharded tensor and value"`, `"dtype float32 and float64"`
  };
  std::vector<std::string> only_left;  ///< paths: of a map or list, its own and not those below
  std::vector<std::string> only_right;
  std::vector<mismatch> mismatches;

  bool empty() const noexcept;
};

/// One line for each difference; nothing for none.
std::string to_string(const state_diff& of);

namespace detail {

/// What differs between the two, or nothing.
result<std::string> difference(const sharded_tensor& a, const sharded_tensor& b,
                               memory_resource& staging);

}  // namespace detail

/// Where two states differ. Tensors are equal when all of their descriptions but the replica, and
/// the bits of their elements are: a NaN equals itself and 0 differs from -0. So are common values;
/// an integer differs from a floating-point number. Objects are compared by place and bytes,
/// factories by what they build, local values as their `==` does. A hole equals a hole only. Each
/// tensor is staged through `staging` where its memory is not the host's. Errors: those of staging
/// and of the factories, `resource_limit` for a state nested deeper than `max_state_depth`.
result<state_diff> diff(const state& a, const state& b,
                        memory_resource& staging = default_resource());

}}  // namespace zarrpoint::v0
