// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/strategy_format.hpp>

#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const state& tree,
                                                    const group_save_options& options,
                                                    finalizer when_committed) {
  auto operation = detail::make_group_save(where, tree, group_, options);
  ZARRPOINT_CHECK(operation->begin(true));
  queue_.add(std::move(operation), std::move(when_committed));
  return {};
}

ZARRPOINT_INLINE result<group_save_report> async_saves::save(const location& where,
                                                             const state& tree,
                                                             const group_save_options& options) {
  ZARRPOINT_CHECK(schedule(where, tree, options));
  ZARRPOINT_TRY(reports, finalize());
  return std::move(reports.back());
}

ZARRPOINT_INLINE result<std::vector<group_save_report>> async_saves::finalize(bool wait) {
  return queue_.finalize(wait);
}

}}  // namespace zarrpoint::v0
