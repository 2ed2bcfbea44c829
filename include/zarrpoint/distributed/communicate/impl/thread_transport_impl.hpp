// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/thread_transport.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE thread_group::thread_group(int size, std::chrono::milliseconds deadline)
    : deadline_(deadline), seats_(static_cast<std::size_t>(size)) {}

ZARRPOINT_INLINE result<collective_call> thread_group::begin(int rank,
                                                             const collective_step& step) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  seat& mine = seats_[static_cast<std::size_t>(rank)];
  mine.status.call = {step, mine.status.call.number + 1};
  mine.status.inside = true;
  mine.give_up = std::chrono::steady_clock::now() + deadline_;
  return mine.status.call;
}

ZARRPOINT_INLINE void thread_group::end(int rank) {
  const std::lock_guard lock(mutex_);
  seats_[static_cast<std::size_t>(rank)].status.inside = false;
}

ZARRPOINT_INLINE result<void> thread_group::send(int from, int to, const collective_call& call,
                                                 message body) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  seat& other = seats_[static_cast<std::size_t>(to)];
  if (other.left) return gone(to, call);
  other.letters.push_back({from, {call, std::move(body)}});
  other.changed.notify_all();
  return {};
}

ZARRPOINT_INLINE result<letter> thread_group::receive(int rank, int from,
                                                      const collective_call& call) {
  std::unique_lock lock(mutex_);
  seat& mine = seats_[static_cast<std::size_t>(rank)];
  for (;;) {
    if (failure_) return *failure_;
    const auto found = std::find_if(mine.letters.begin(), mine.letters.end(),
                                    [from](const addressed_letter& it) { return it.from == from; });
    if (found != mine.letters.end()) {
      letter got = std::move(found->what);
      mine.letters.erase(found);
      return got;
    }
    if (seats_[static_cast<std::size_t>(from)].left) return gone(from, call);
    if (std::chrono::steady_clock::now() >= mine.give_up) break;
    mine.changed.wait_until(lock, mine.give_up);
  }
  std::vector<std::optional<rank_status>> all;
  all.reserve(seats_.size());
  for (const seat& each : seats_) all.emplace_back(each.status);
  return missed(rank, call, deadline_, all);
}

ZARRPOINT_INLINE error thread_group::fail(error failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  wake_all();
  return *failure_;
}

ZARRPOINT_INLINE void thread_group::leave(int rank, std::string how) {
  const std::lock_guard lock(mutex_);
  seat& mine = seats_[static_cast<std::size_t>(rank)];
  mine.left = true;
  mine.how_left = std::move(how);
  wake_all();
}

ZARRPOINT_INLINE void thread_group::wake_all() {
  for (seat& each : seats_) each.changed.notify_all();
}

ZARRPOINT_INLINE error thread_group::gone(int rank, const collective_call& call) const {
  return {errc::unavailable, rank_list({rank}) + " is gone and will not come to " +
                                 to_string(call.step) + ": it " +
                                 seats_[static_cast<std::size_t>(rank)].how_left};
}

ZARRPOINT_INLINE result<collective_call> thread_transport::begin(
    const collective_step& step) const {
  return group->begin(self, step);
}

ZARRPOINT_INLINE result<void> thread_transport::send(int to, const collective_call& call,
                                                     message body) const {
  return group->send(self, to, call, std::move(body));
}

ZARRPOINT_INLINE result<void> thread_transport::send_shared(
    int to, const collective_call& call, const std::shared_ptr<const message>& body) const {
  return group->send(self, to, call, *body);
}

ZARRPOINT_INLINE result<letter> thread_transport::receive(int from,
                                                          const collective_call& call) const {
  return group->receive(self, from, call);
}

ZARRPOINT_INLINE result<void> thread_transport::end() const {
  group->end(self);
  return {};
}

ZARRPOINT_INLINE error thread_transport::fail(error failure) const {
  group->end(self);
  return group->fail(std::move(failure));
}

}}}  // namespace zarrpoint::v0::detail
