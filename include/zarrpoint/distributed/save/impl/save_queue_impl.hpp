// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<bool> are_ready(const any_communicator& ranks, const oldest_save& mine) {
  wire_writer to;
  to.number(mine.number);
  to.flag(mine.is_ready);
  to.text(mine.tree);
  ZARRPOINT_TRY(all, all_gather(ranks, std::move(to).take()));
  bool ready = true;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    wire_reader from(all[rank]);
    const std::uint64_t theirs = from.number();
    ready = from.flag() && ready;
    const std::string its_tree = from.text();
    ZARRPOINT_CHECK(from.finish());
    if (theirs != mine.number || its_tree != mine.tree)
      return error{errc::invalid_argument, "Unmatched async calls: rank " + std::to_string(rank) +
                                               " finalizes save " + std::to_string(theirs) +
                                               ", this process save " +
                                               std::to_string(mine.number) + " (0: none)"};
  }
  return ready;
}

ZARRPOINT_INLINE std::string after_commits(std::size_t saves) {
  if (saves == 0) return "finalize";
  return "finalize, after " + std::to_string(saves) +
         (saves == 1 ? " save was committed" : " saves were committed");
}

}}}  // namespace zarrpoint::v0::detail
