// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/distributed/assemble_cells.hpp>
#include <zarrpoint/distributed/collectives.hpp>
#include <zarrpoint/distributed/group_save.hpp>
#include <zarrpoint/distributed/plan_group_save.hpp>
#include <zarrpoint/distributed/plan_message.hpp>
#include <zarrpoint/distributed/prepare_state.hpp>
#include <zarrpoint/distributed/process_group.hpp>
#include <zarrpoint/distributed/state.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/file_store.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

ZARRPOINT_INLINE result<group_save_report> save(const location& where, const state& tree,
                                                const process_group& group,
                                                const group_save_options& options) {
  ZARRPOINT_TRY(operation,
                detail::group_save_operation<>::begin(where, tree, group, options, false));
  auto receipt = operation->write();
  ZARRPOINT_TRY(report, operation->finish(std::move(receipt)));
  report.blocking_seconds = report.seconds;
  return report;
}

}  // namespace zarrpoint::inline v0
