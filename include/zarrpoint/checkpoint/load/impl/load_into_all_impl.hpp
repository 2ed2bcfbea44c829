// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/load/load_into_all.hpp>
#include <zarrpoint/checkpoint/load/load_target.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <initializer_list>
#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<void> load_into_all(const checkpoint& from,
                                            std::span<const load_target> targets,
                                            const load_options& options) {
  return guarded([&]() -> result<void> {
    std::vector<const detail::bound_target*> bound;
    bound.reserve(targets.size());
    for (const load_target& one : targets) bound.push_back(&one.bound());
    return detail::load_targets(from, bound, options);
  });
}

ZARRPOINT_INLINE result<void> load_into_all(const checkpoint& from,
                                            std::initializer_list<load_target> targets,
                                            const load_options& options) {
  return load_into_all(from, std::span<const load_target>(targets.begin(), targets.size()),
                       options);
}

}}  // namespace zarrpoint::v0
