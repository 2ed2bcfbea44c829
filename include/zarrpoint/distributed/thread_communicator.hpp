// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/distributed/point_to_point.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// How long the ranks of a `thread_world` wait for each other.
struct thread_world_options {
  /// From when a rank comes to a collective.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
};

namespace detail {

/// What the threads of a `thread_world` share. A message is moved from the sender to the receiver.
class thread_group {
 public:
  thread_group(int size, std::chrono::milliseconds deadline)
      : deadline_(deadline), seats_(static_cast<std::size_t>(size)) {}

  int size() const noexcept { return static_cast<int>(seats_.size()); }

  result<collective_call> begin(int rank, const collective_step& step) {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    seat& mine = seats_[static_cast<std::size_t>(rank)];
    mine.status.call = {step, mine.status.call.number + 1};
    mine.status.inside = true;
    mine.give_up = std::chrono::steady_clock::now() + deadline_;
    return mine.status.call;
  }

  void end(int rank) {
    const std::lock_guard lock(mutex_);
    seats_[static_cast<std::size_t>(rank)].status.inside = false;
  }

  result<void> send(int from, int to, const collective_call& call, message body) {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    seat& other = seats_[static_cast<std::size_t>(to)];
    if (other.left) return gone(to, call);
    other.letters.push_back({from, {call, std::move(body)}});
    other.changed.notify_all();
    return {};
  }

  result<letter> receive(int rank, int from, const collective_call& call) {
    std::unique_lock lock(mutex_);
    seat& mine = seats_[static_cast<std::size_t>(rank)];
    for (;;) {
      if (failure_) return *failure_;
      const auto found =
          std::find_if(mine.letters.begin(), mine.letters.end(),
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

  /// The first failure is that of all ranks from now on.
  error fail(error failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    wake_all();
    return *failure_;
  }

  void leave(int rank, std::string how) {
    const std::lock_guard lock(mutex_);
    seat& mine = seats_[static_cast<std::size_t>(rank)];
    mine.left = true;
    mine.how_left = std::move(how);
    wake_all();
  }

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

  void wake_all() {
    for (seat& each : seats_) each.changed.notify_all();
  }
  error gone(int rank, const collective_call& call) const {
    return {errc::unavailable, rank_list({rank}) + " is gone and will not come to " +
                                   to_string(call.step) + ": it " +
                                   seats_[static_cast<std::size_t>(rank)].how_left};
  }

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::vector<seat> seats_;
  std::optional<error> failure_;
};

}  // namespace detail

/// A rank of a `thread_world`: a small handle, which that rank's thread uses.
class thread_communicator {
 public:
  int rank() const noexcept { return transport_.self; }
  int size() const noexcept { return transport_.size(); }

  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    return detail::exchange_over(transport_, std::move(to_each));
  }
  result<std::vector<message>> gather(collective_step step, message mine) const {
    return detail::gather_over(transport_, step, std::move(mine));
  }
  result<message> scatter(collective_step step, std::vector<message> to_each) const {
    return detail::scatter_over(transport_, step, std::move(to_each));
  }
  result<message> broadcast(collective_step step, message mine) const {
    return detail::broadcast_over(transport_, step, std::move(mine));
  }

 private:
  friend class thread_world;

  struct transport {
    std::shared_ptr<detail::thread_group> group;
    int self;

    int rank() const noexcept { return self; }
    int size() const noexcept { return group->size(); }
    result<detail::collective_call> begin(const collective_step& step) const {
      return group->begin(self, step);
    }
    result<void> send(int to, const detail::collective_call& call, message body) const {
      return group->send(self, to, call, std::move(body));
    }
    result<void> send_shared(int to, const detail::collective_call& call,
                             const std::shared_ptr<const message>& body) const {
      return group->send(self, to, call, *body);
    }
    result<detail::letter> receive(int from, const detail::collective_call& call) const {
      return group->receive(self, from, call);
    }
    result<void> end() const {
      group->end(self);
      return {};
    }
    error fail(error failure) const {
      group->end(self);
      return group->fail(std::move(failure));
    }
  };

  thread_communicator(std::shared_ptr<detail::thread_group> group, int rank)
      : transport_{std::move(group), rank} {}

  transport transport_;
};
static_assert(native_communicator<thread_communicator>);

/// Threads of one process that act as the ranks of a group: for tests and tools.
class thread_world {
 public:
  /// Calls `f(thread_communicator&)` on `size` threads at a time and returns what each rank
  /// returned: a `result`, which `f` may return itself; an exception becomes an error. What waits
  /// for a rank that has returned fails at once, and with it all: `unavailable`, with the rank and
  /// how it left.
  template <class F>
  static auto run(int size, F&& f, thread_world_options options = {}) {
    using returned = std::invoke_result_t<F&, thread_communicator&>;
    using each = std::conditional_t<detail::is_result<returned>, std::type_identity<returned>,
                                    std::type_identity<result<returned>>>::type;
    const auto group = std::make_shared<detail::thread_group>(size, options.deadline);
    std::vector<std::optional<each>> outcomes(static_cast<std::size_t>(size));
    const auto work = [&](int rank) {
      thread_communicator self(group, rank);
      std::optional<each>& outcome = outcomes[static_cast<std::size_t>(rank)];
      outcome.emplace(guarded([&]() -> each {
        if constexpr (std::is_void_v<returned>) {
          f(self);
          return {};
        } else {
          return f(self);
        }
      }));
      group->leave(rank, *outcome ? "returned" : "failed: " + to_string(outcome->failure()));
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      const result<void> started = guarded([&]() -> result<void> {
        threads.emplace_back(work, rank);
        return {};
      });
      if (started) continue;
      outcomes[static_cast<std::size_t>(rank)].emplace(started.failure());
      group->leave(rank, "could not be started");
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<each> all;
    for (std::optional<each>& outcome : outcomes) all.push_back(*std::move(outcome));
    return all;
  }
};

}  // namespace zarrpoint::inline v0
