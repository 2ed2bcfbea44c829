// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/distributed/strategy/message_budget.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE message_budget::message_budget(const context& how)
    : account_(*how.scratch), limit_(how.limit.memory) {}

ZARRPOINT_INLINE result<void> message_budget::count(std::string_view what, int rank,
                                                    std::size_t bytes) {
  if (account_.charge(bytes)) return {};
  return error{errc::resource_limit,
               std::string(what) + " of rank " + std::to_string(rank) + " has " +
                   std::to_string(bytes) +
                   " bytes, with which the messages between the processes have more than "
                   "limits::memory of " +
                   std::to_string(limit_)};
}

ZARRPOINT_INLINE result<void> message_budget::count(std::string_view what,
                                                    std::span<const message> of_ranks, int mine) {
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (static_cast<int>(rank) != mine)
      ZARRPOINT_CHECK(count(what, static_cast<int>(rank), of_ranks[rank].size()));
  }
  return {};
}

}}}  // namespace zarrpoint::v0::detail
