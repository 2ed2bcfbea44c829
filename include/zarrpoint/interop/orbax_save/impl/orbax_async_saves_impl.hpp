// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/interop/orbax_save/orbax_async_saves.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save_operation.hpp>

#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax {

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const tree_part& mine,
                                                    const save_tree_options& options,
                                                    finalizer when_committed) {
  auto operation = v0::detail::make_counted<detail::save_operation>(where, ranks_, options, how_);
  ZARRPOINT_CHECK(operation->begin(mine, true));
  queue_.add(std::move(operation), std::move(when_committed));
  return {};
}

ZARRPOINT_INLINE result<std::vector<save_report>> async_saves::finalize(bool wait) {
  return queue_.finalize(wait);
}

}}}  // namespace zarrpoint::v0::orbax
