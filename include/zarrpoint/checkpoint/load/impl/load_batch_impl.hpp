// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/batch_request.hpp>
#include <zarrpoint/checkpoint/load/device_batch.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> load_targets(const checkpoint& from,
                                           std::span<const bound_target* const> targets,
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

}}}  // namespace zarrpoint::v0::detail
