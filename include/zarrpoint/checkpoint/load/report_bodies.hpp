// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/load/load_report.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------- load_report.hpp

ZARRPOINT_INLINE void load_report::begin(std::string_view leaf, const checkpoint* from,
                                         const load_options& by) {
  leaf_under_way begun{std::chrono::steady_clock::now(), {}};
  if (from != nullptr) {
    // What is wrong with it is the load's to say.
    if (const auto known = from->metadata(leaf)) begun.stored_bytes = known->stored_bytes;
  }
  const std::lock_guard lock(work_.mutex);
  // Leaves of several threads come here in any order.
  work_.since = work_.since ? std::min(*work_.since, begun.since) : begun.since;
  if (from != nullptr) check_once(*from, by);
  work_.leaves.insert_or_assign(std::string(leaf), begun);
}

ZARRPOINT_INLINE void load_report::end(std::string_view leaf, const tensor_spec& made) {
  const auto now = std::chrono::steady_clock::now();
  const auto seconds_since = [&](std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  const std::lock_guard lock(work_.mutex);
  const auto at = work_.leaves.find(leaf);
  if (at == work_.leaves.end()) return;
  leaf_load_report& one = leaves.emplace_back();
  one.name = at->first;
  one.loaded = made;
  one.bytes = byte_count(made).value_or(0);
  one.stored_bytes = at->second.stored_bytes;
  one.seconds = seconds_since(at->second.since);
  bytes += one.bytes;
  stored_bytes += one.stored_bytes.value_or(0);
  seconds = std::max(seconds, seconds_since(*work_.since));
}

ZARRPOINT_INLINE void load_report::warn(std::string text) {
  const std::lock_guard lock(work_.mutex);
  warn_once(std::move(text));
}

/// Once for all leaves of a load, and for all loads by the same rules.
ZARRPOINT_INLINE void load_report::check_once(const checkpoint& from, const load_options& by) {
  std::weak_ptr<const void> which = detail::checkpoint_access::identity(from);
  const bool is_same = !work_.checked.owner_before(which) && !which.owner_before(work_.checked);
  const auto is_rule = [](const std::string& glob, const load_rule& rule) {
    return glob == rule.glob;
  };
  if (is_same &&
      std::equal(work_.globs.begin(), work_.globs.end(), by.rules.begin(), by.rules.end(), is_rule))
    return;
  work_.checked = std::move(which);
  work_.globs.clear();
  for (const load_rule& rule : by.rules) work_.globs.push_back(rule.glob);
  for (std::string& text : from.warnings()) warn_once(std::move(text));
  if (by.rules.empty()) return;
  const auto same = [](const std::string& name) { return std::string_view(name); };
  static_cast<void>(
      detail::for_unmatched(by.rules, from.names(), same, [&](std::string text) -> result<void> {
        warn_once(std::move(text));
        return {};
      }));
}

ZARRPOINT_INLINE void load_report::warn_once(std::string text) {
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end())
    warnings.push_back(std::move(text));
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/bodies.hpp>
#endif
