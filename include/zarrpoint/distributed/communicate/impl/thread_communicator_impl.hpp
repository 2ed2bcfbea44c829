// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/communicate/thread_transport.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE int thread_communicator::size() const noexcept { return group_->size(); }

ZARRPOINT_INLINE detail::thread_transport thread_communicator::transport() const {
  return {group_, rank_};
}

ZARRPOINT_INLINE result<std::vector<message>> thread_communicator::exchange(
    std::vector<message> to_each) const {
  const detail::thread_transport seat = transport();
  return detail::exchange_over(seat, std::move(to_each));
}

ZARRPOINT_INLINE result<std::vector<message>> thread_communicator::gather(collective_step step,
                                                                          message mine) const {
  const detail::thread_transport seat = transport();
  return detail::gather_over(seat, step, std::move(mine));
}

ZARRPOINT_INLINE result<message> thread_communicator::scatter(collective_step step,
                                                              std::vector<message> to_each) const {
  const detail::thread_transport seat = transport();
  return detail::scatter_over(seat, step, std::move(to_each));
}

ZARRPOINT_INLINE result<message> thread_communicator::broadcast(collective_step step,
                                                                message mine) const {
  const detail::thread_transport seat = transport();
  return detail::broadcast_over(seat, step, std::move(mine));
}

ZARRPOINT_INLINE std::vector<std::optional<error>> thread_world::run_all(
    int size, const thread_world_options& options, const work& each) {
  const auto group = detail::make_counted<detail::thread_group>(size, options.deadline);
  const auto run = [&](int rank) {
    thread_communicator self(group, rank);
    const result<void> outcome = each(self);
    group->leave(rank, outcome ? "returned" : "failed: " + to_string(outcome.failure()));
  };
  std::vector<std::optional<error>> not_started(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    const result<void> started = guarded([&]() -> result<void> {
      threads.emplace_back(run, rank);
      return {};
    });
    if (started) continue;
    not_started[static_cast<std::size_t>(rank)] = started.failure();
    group->leave(rank, "could not be started");
  }
  for (std::thread& thread : threads) thread.join();
  return not_started;
}

}}  // namespace zarrpoint::v0
