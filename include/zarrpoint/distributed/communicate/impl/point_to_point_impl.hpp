// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE error unmatched(int other, const collective_call& its, int mine,
                                 const collective_call& ours) {
  const bool same_step = its.step == ours.step;
  const auto text = [same_step](const collective_call& call) {
    const std::string number = same_step ? " (number " + std::to_string(call.number) + ")" : "";
    return to_string(call.step) + number;
  };
  return unmatched(other, text(its), mine, text(ours));
}

ZARRPOINT_INLINE std::string deadline_text(std::chrono::milliseconds deadline) {
  const auto count = deadline.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

ZARRPOINT_INLINE void patience::wait() {
  if (++rounds_ < 50) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(rounds_, 1000U)));
  }
}

ZARRPOINT_INLINE error missed(int rank, const collective_call& call,
                              std::chrono::milliseconds deadline,
                              const std::vector<std::optional<rank_status>>& all) {
  std::vector<int> missing;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const bool here = static_cast<int>(r) == rank;
    const auto& it = all[r];
    if (!here && (!it || (!it->inside && it->call.number < call.number)))
      missing.push_back(static_cast<int>(r));
  }
  if (!missing.empty())
    return {errc::unavailable, rank_list(missing) + " did not come to " + to_string(call.step) +
                                   " within " + deadline_text(deadline)};
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r] && all[r]->inside && all[r]->call != call && static_cast<int>(r) != rank)
      return unmatched(static_cast<int>(r), all[r]->call, rank, call);
  return {errc::unavailable, "all ranks are in " + to_string(call.step) +
                                 ", but not all messages came within " + deadline_text(deadline)};
}

}}}  // namespace zarrpoint::v0::detail
