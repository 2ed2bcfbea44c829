// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/strategy/zarr_strategies.hpp>

#include <csignal>

namespace example {

/// A strategy of one's own: saves as the library does, but one process is killed when it has
/// written half of what it has to.
struct killed_saver {
  static constexpr std::string_view name = "killed_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr auto action = zarrpoint::strategy_action::save_sharded;

  bool is_killed;

  auto layout(const zarrpoint::save_job& job, const zarrpoint::planned_tensor& tensor) const {
    return zarrpoint::zarr_saver{}.layout(job, tensor);
  }
  zarrpoint::result<zarrpoint::message> write(const zarrpoint::save_job& job,
                                              const zarrpoint::shard_writes& mine) const {
    if (!is_killed) return zarrpoint::zarr_saver{}.write(job, mine);
    zarrpoint::shard_writes half = mine;
    half.arrays.resize((half.arrays.size() + 1) / 2);
    ZARRPOINT_CHECK(zarrpoint::zarr_saver{}.write(job, half));
    std::raise(SIGKILL);
    return zarrpoint::message{};
  }
  auto finish(const zarrpoint::save_job& job, const zarrpoint::save_receipts& all) const {
    return zarrpoint::zarr_saver{}.finish(job, all);
  }
};

}  // namespace example
