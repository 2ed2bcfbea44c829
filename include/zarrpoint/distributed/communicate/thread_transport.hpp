// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/communicate/communicator.hpp>
#include <zarrpoint/distributed/communicate/point_to_point.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the threads of a `thread_world` share. A message is moved from the sender to the receiver.
class thread_group {
 public:
  thread_group(int size, std::chrono::milliseconds deadline);

  int size() const noexcept { return static_cast<int>(seats_.size()); }

  result<collective_call> begin(int rank, const collective_step& step);

  void end(int rank);

  result<void> send(int from, int to, const collective_call& call, message body);

  result<letter> receive(int rank, int from, const collective_call& call);

  /// The first failure is that of all ranks from now on.
  error fail(error failure);

  void leave(int rank, std::string how);

 private:
  struct addressed_letter {
    int from;
    letter what;
  };
  struct seat {
    std::condition_variable changed;
    std::deque<addressed_letter> letters;  // in the order in which they came
    rank_status status;
    std::chrono::steady_clock::time_point give_up;
    bool left = false;
    std::string how_left;
  };

  void wake_all();
  error gone(int rank, const collective_call& call) const;

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::vector<seat> seats_;
  std::optional<error> failure_;
};

/// The seat of one thread, as `point_to_point.hpp` wants it.
struct thread_transport {
  std::shared_ptr<thread_group> group;
  int self;

  int rank() const noexcept { return self; }
  int size() const noexcept { return group->size(); }
  result<collective_call> begin(const collective_step& step) const;
  result<void> send(int to, const collective_call& call, message body) const;
  result<void> send_shared(int to, const collective_call& call,
                           const std::shared_ptr<const message>& body) const;
  result<letter> receive(int from, const collective_call& call) const;
  result<void> end() const;
  error fail(error failure) const;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/communicate/impl/thread_transport_impl.hpp>
#endif
