// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/point_to_point.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

/// How long the ranks of a `thread_world` wait for each other.
struct thread_world_options {
  /// From when a rank comes to a collective.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
};

namespace detail {
class thread_group;
struct thread_transport;
}  // namespace detail

/// A rank of a `thread_world`: a small handle, which that rank's thread uses.
class thread_communicator {
 public:
  int rank() const noexcept { return rank_; }
  int size() const noexcept;

  result<std::vector<message>> exchange(std::vector<message> to_each) const;
  result<std::vector<message>> gather(collective_step step, message mine) const;
  result<message> scatter(collective_step step, std::vector<message> to_each) const;
  result<message> broadcast(collective_step step, message mine) const;

 private:
  friend class thread_world;

  thread_communicator(std::shared_ptr<detail::thread_group> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  detail::thread_transport transport() const;

  std::shared_ptr<detail::thread_group> group_;
  int rank_;
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
    std::vector<std::optional<each>> outcomes(static_cast<std::size_t>(size));
    const auto work = [&](thread_communicator& self) -> result<void> {
      std::optional<each>& outcome = outcomes[static_cast<std::size_t>(self.rank())];
      outcome.emplace(guarded([&]() -> each {
        if constexpr (std::is_void_v<returned>) {
          f(self);
          return {};
        } else {
          return f(self);
        }
      }));
      return *outcome ? result<void>() : result<void>(outcome->failure());
    };
    const auto not_started = run_all(size, options, work);
    for (std::size_t rank = 0; rank < not_started.size(); ++rank) {
      if (not_started[rank]) outcomes[rank].emplace(*not_started[rank]);
    }
    std::vector<each> all;
    for (std::optional<each>& outcome : outcomes) all.push_back(*std::move(outcome));
    return all;
  }

 private:
  using work = std::function<result<void>(thread_communicator&)>;
  /// What became of the ranks whose threads could not be started.
  static std::vector<std::optional<error>> run_all(int size, const thread_world_options& options,
                                                   const work& each);
};

namespace detail {

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

}  // namespace detail

}}  // namespace zarrpoint::v0
