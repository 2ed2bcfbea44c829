// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/shard/sharded.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/interop/dcp_save/dcp_group_save.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_format.hpp>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp {

namespace detail {

/// A save that has not begun.
ZARRPOINT_INLINE std::shared_ptr<save_operation> make_save(const location& where,
                                                           const v0::detail::save_group& group,
                                                           const state_part& mine,
                                                           const state_save_options& options) {
  return v0::detail::make_counted<save_operation>(group, where, mine, options);
}

}  // namespace detail

ZARRPOINT_INLINE result<state_save_report> save(
    const location& where, const any_communicator& ranks, std::span<const sharded_tensor> shards,
    std::span<const leaf> leaves, const state_save_options& options, const context& how) {
  return detail::make_save(where, {ranks, how, where.name()}, {shards, leaves}, options)->run();
}

ZARRPOINT_INLINE result<void> async_saves::schedule(const location& where, const state_part& mine,
                                                    const state_save_options& options,
                                                    finalizer when_committed) {
  auto one = detail::make_save(where, {ranks_, how_, where.name()}, mine, options);
  ZARRPOINT_CHECK(one->begin(true));
  queue_.add(std::move(one), std::move(when_committed));
  return {};
}

ZARRPOINT_INLINE result<std::vector<state_save_report>> async_saves::finalize(bool wait) {
  return queue_.finalize(wait);
}

}}}  // namespace zarrpoint::v0::dcp
