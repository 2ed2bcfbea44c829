// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/batch_request.hpp>
#include <zarrpoint/checkpoint/device_batch.hpp>
#include <zarrpoint/checkpoint/read_leaf.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <span>
#include <vector>

// Many leaves into as many targets at a time.

namespace zarrpoint::inline v0::detail {

/// Loads into targets of one memory space; those that got their elements are marked as loaded.
/// Errors: the first by the order of the targets, of those that a device is given together.
template <memory_space Space>
result<void> load_batch(const batch_request& in) {
  if constexpr (Space::host_accessible) {
    const context& how = in.from.how();
    return parallel_for(
        how.executor, in.targets.size(),
        [&](std::size_t i) -> result<void> {
          const bound_target& target = *in.targets[i];
          ZARRPOINT_CHECK(checkpoint_access::with_target<Space>(
              in, target,
              [](const array& from, const mutable_tensor_view<Space>& into,
                 const read_options& options) { return read_to_space(from, into, options); }));
          target.mark(true);
          return {};
        },
        {.stop = how.stop});
  } else {
    return device_batch<Space>(in).run();
  }
}

/// Loads into all targets: those of one memory space after those of another, in the order in which
/// the first of each stands.
template <class = void>
result<void> load_targets(const checkpoint& from, std::span<const bound_target* const> targets,
                          const load_options& options) {
  for (const bound_target* one : targets) one->mark(false);
  std::vector<const bound_target*> left(targets.begin(), targets.end());
  std::vector<const bound_target*> together;
  while (!left.empty()) {
    const auto load = left.front()->table->load;
    together.clear();
    std::erase_if(left, [&](const bound_target* one) {
      if (one->table->load != load) return false;
      together.push_back(one);
      return true;
    });
    ZARRPOINT_CHECK(load({from, options, together}));
  }
  return {};
}

}  // namespace zarrpoint::inline v0::detail
