// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/batch_request.hpp>
#include <zarrpoint/checkpoint/load/device_batch.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Of several leaves that are not there one error says which, and not the first alone.
ZARRPOINT_INLINE error with_missing(error failure, const checkpoint& from,
                                    std::span<const bound_target* const> targets) {
  if (failure.code != errc::not_found) return failure;
  constexpr std::size_t most_named = 16;
  std::string text;
  std::size_t missing = 0;
  for (const bound_target* one : targets) {
    if (from.contains(one->name) || ++missing > most_named) continue;
    text += (missing == 1 ? "" : ", ") + in_quotes(one->name);
  }
  if (missing < 2) return failure;
  failure.message += "; " + std::to_string(missing) + " of the " + std::to_string(targets.size()) +
                     " leaves are missing: " + text;
  if (missing > most_named)
    failure.message += " and " + std::to_string(missing - most_named) + " more";
  return failure;
}

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
    result<void> done = load({from, options, together});
    if (!done) return with_missing(std::move(done).failure(), from, targets);
  }
  return {};
}

}}}  // namespace zarrpoint::v0::detail
