// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/communicate/point_to_point.hpp>
#include <zarrpoint/exec/guarded.hpp>

#include <functional>

namespace zarrpoint { inline namespace v0 {

/// How long the ranks of a `thread_world` wait for each other.
struct thread_world_options {
  /// From when a rank comes to a collective.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
};

/// A rank of a `thread_world`: a small handle, which that rank's thread uses.
class thread_communicator : public detail::transport_communicator {
  friend class thread_world;
  explicit thread_communicator(std::shared_ptr<detail::transport> seat)
      : transport_communicator(std::move(seat)) {}
};

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

}}  // namespace zarrpoint::v0
