// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/save/strategy_format.hpp>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<group_save_report> save(const location& where, const state& tree,
                                                const process_group& group,
                                                const group_save_options& options) {
  return detail::make_group_save(where, tree, group, options)->run();
}

}}  // namespace zarrpoint::v0
