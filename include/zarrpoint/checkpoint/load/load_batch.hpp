// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/batch_request.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/memory_bound_for.hpp>

#include <span>

// Many leaves into as many targets at a time.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Devices: defined in checkpoint/load/device_batch.hpp.
template <class Space>
result<void> load_device_batch(const batch_request& in);

/// Loads into targets of one memory space; those that got their elements are marked as loaded.
/// Errors: the first by the order of the targets, of those that a device is given together.
template <memory_space Space>
result<void> load_batch(const batch_request& in) {
  if constexpr (Space::host_accessible) {
    const context& how = in.from.how();
    memory_bound_for leaves(how.executor, in.targets.size(), {.stop = how.stop});
    return leaves.run(
        [&](std::size_t i) -> result<void> {
          const bound_target& target = *in.targets[i];
          ZARRPOINT_CHECK(checkpoint_access::with_target<Space>(
              in, target,
              [](const array& from, const mutable_tensor_view<Space>& into,
                 const read_options& options) { return read_to_space(from, into, options); }));
          target.mark(true);
          return {};
        },
        [&](std::size_t refused) {
          drop_idle_scratch(how);
          return refused;
        });
  } else {
    return load_device_batch<Space>(in);
  }
}

/// Loads into all targets: those of one memory space after those of another, in the order in which
/// the first of each stands.
result<void> load_targets(const checkpoint& from, std::span<const bound_target* const> targets,
                          const load_options& options);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/device_batch.hpp>
#include <zarrpoint/checkpoint/load/impl/load_batch_impl.hpp>
#endif
