// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/group_save_operation.hpp>

#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<group_save_report> save(const location& where, const state& tree,
                                                const process_group& group,
                                                const group_save_options& options) {
  ZARRPOINT_TRY(operation, detail::group_save_operation::begin(where, tree, group, options, false));
  auto receipt = operation->write();
  ZARRPOINT_TRY(report, operation->finish(std::move(receipt)));
  report.blocking_seconds = report.seconds;
  return report;
}

}}  // namespace zarrpoint::v0
