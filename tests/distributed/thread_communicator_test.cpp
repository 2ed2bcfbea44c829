// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/collectives.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>

#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace thread_communicator_test {

using namespace zarrpoint;
using namespace std::chrono_literals;

namespace {

template <class T>
std::string text_of(const result<T>& outcome) {
  return outcome ? "done" : to_string(outcome.failure());
}

/// The text that all ranks but `culprit` (-1: all ranks) have.
template <class T>
std::string text_of_others(const std::vector<result<T>>& outcomes, int culprit) {
  std::string first;
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    if (static_cast<int>(r) == culprit) continue;
    CAPTURE(r);
    if (first.empty()) first = text_of(outcomes[r]);
    CHECK(text_of(outcomes[r]) == first);
  }
  return first;
}

/// As `docs/errors.md` has it, in the section of its code.
void check_documented(const std::string& said) {
  CAPTURE(said);
  const std::string page = test::read_file(ZARRPOINT_TEST_GOLDEN "/../../docs/errors.md");
  const std::string code = said.substr(0, said.find(':'));
  const std::size_t section = page.find("\n## `" + code + "`\n");
  REQUIRE(section != std::string::npos);
  const std::string body = page.substr(section, page.find("\n## ", section + 1) - section);
  CHECK(body.find("\n```\n" + said + "\n```\n") != std::string::npos);
}

}  // namespace

TEST_CASE("thread_communicator: results are those of the ranks, in their order") {
  const auto numbers =
      thread_world::run(5, [](thread_communicator& self) { return 10 * self.rank(); });
  REQUIRE(numbers.size() == 5);
  for (int r = 0; r < 5; ++r) CHECK(numbers[static_cast<std::size_t>(r)].value() == 10 * r);
  const auto nothing =
      thread_world::run(2, [](thread_communicator& self) { CHECK(self.size() == 2); });
  CHECK(nothing[1].has_value());
  CHECK(thread_world::run(0, [](thread_communicator&) {}).empty());
}

TEST_CASE("thread_communicator: a barrier holds all until the last has come") {
  std::atomic<int> came{0};
  const auto seen = thread_world::run(16, [&](thread_communicator& self) -> result<int> {
    if (self.rank() == 7) std::this_thread::sleep_for(5ms);
    ++came;
    ZARRPOINT_CHECK(barrier(self));
    return came.load();
  });
  for (const auto& each : seen) CHECK(each.value() == 16);
}

TEST_CASE("thread_communicator: a rank that returned, failed or threw is named") {
  for (const int size : {2, 3, 8, 64}) {
    CAPTURE(size);
    const int culprit = size / 2;
    const std::string gone = "unavailable: rank " + std::to_string(culprit) +
                             " is gone and will not come to barrier: it ";
    const auto run = [&](auto&& last_act) {
      return text_of_others(thread_world::run(size,
                                              [&](thread_communicator& self) -> result<void> {
                                                ZARRPOINT_CHECK(barrier(self));
                                                if (self.rank() == culprit) return last_act();
                                                return barrier(self);
                                              }),
                            culprit);
    };
    CHECK(run([]() -> result<void> { return {}; }) == gone + "returned");
    CHECK(run([]() -> result<void> {
            return error{errc::io, "disk full"};
          }) == gone + "failed: io: disk full");
#if ZARRPOINT_EXCEPTIONS
    CHECK(run([]() -> result<void> { throw std::runtime_error("Worker failure"); }) ==
          gone + "failed: invalid_argument: exception: Worker failure");
#endif
  }
}

TEST_CASE("thread_communicator: ASY-2: a worker's error reaches the caller on every rank") {
  const auto outcomes = thread_world::run(8, [](thread_communicator& self) {
    result<void> mine;
    if (self.rank() == 2) mine = error{errc::io, "Worker failure: No space left on device"};
    return agree(self, mine);
  });
  CHECK(text_of_others(outcomes, -1) == "io: rank 2: Worker failure: No space left on device");
}

TEST_CASE("thread_communicator: a rank that is asleep at the deadline is named, also by itself") {
  const auto asleep = [](std::vector<int> sleepers, auto&& act) {
    std::latch started(6);  // not a collective: a busy machine may start the threads late
    std::atomic<int> failed{0};
    const auto outcomes =
        thread_world::run(6,
                          [&](thread_communicator& self) -> result<void> {
                            started.arrive_and_wait();
                            for (const int each : sleepers)
                              if (each == self.rank())
                                while (failed < 6 - static_cast<int>(sleepers.size()))
                                  std::this_thread::sleep_for(1ms);
                            result<void> outcome = act(self);
                            ++failed;
                            return outcome;
                          },
                          {.deadline = 400ms});
    return text_of_others(outcomes, -1);  // the sleeper, too, is refused when it comes
  };
  const auto meet = [](thread_communicator& self) { return barrier(self); };
  CHECK(asleep({3}, meet) == "unavailable: rank 3 did not come to barrier within 400 ms");
  CHECK(asleep({0}, meet) == "unavailable: rank 0 did not come to barrier within 400 ms");
  CHECK(asleep({1, 2, 4}, meet) ==
        "unavailable: ranks 1, 2, 4 did not come to barrier within 400 ms");
  const std::string exchanged = asleep({5}, [](thread_communicator& self) -> result<void> {
    ZARRPOINT_CHECK(self.exchange(std::vector<message>(6)));
    return {};
  });
  CHECK(exchanged == "unavailable: rank 5 did not come to exchange within 400 ms");
}

TEST_CASE("thread_communicator: after a failure every use is refused by the same error") {
  const auto outcomes = thread_world::run(4, [](thread_communicator& self) -> result<int> {
    if (self.rank() == 1) return 0;
    const std::string first = text_of(barrier(self));
    int same = 0;
    same += text_of(barrier(self)) == first;
    same += text_of(self.exchange(std::vector<message>(4))) == first;
    same += text_of(gather(self, {}, self.rank())) == first;
    same += text_of(scatter(self, std::vector<message>(4), self.rank())) == first;
    same += text_of(broadcast(self, {}, self.rank())) == first;
    same += text_of(all_gather(self, {})) == first;
    same += text_of(agree(self, result<void>(error{errc::io, "disk full"}))) ==
            first + "; and here: io: disk full";
    return same;
  });
  for (const std::size_t r : {0U, 2U, 3U}) CHECK(outcomes[r].value() == 7);
}

TEST_CASE("thread_communicator: ranks in different collectives are named, with where they are") {
  const auto forget = [](auto&& outcome) -> result<void> {
    ZARRPOINT_CHECK(std::move(outcome));
    return {};
  };
  const auto said = [](auto&& act) {
    const auto outcomes = thread_world::run(4, [&](thread_communicator& self) { return act(self); },
                                            {.deadline = 5s});
    std::string first;
    for (const auto& outcome : outcomes)
      if (!outcome && first.empty()) first = to_string(outcome.failure());
    for (const auto& outcome : outcomes) CHECK((outcome || text_of(outcome) == first));
    return first;
  };
  CHECK(said([&](thread_communicator& self) -> result<void> {
          if (self.rank() == 3) {
            ZARRPOINT_CHECK(broadcast(self, {}, 3));
          } else {
            ZARRPOINT_CHECK(gather(self, {}));
          }
          return barrier(self);  // else some would be gone before it is found out
        }) ==
        "invalid_argument: Unmatched collectives: rank 3 is in broadcast from rank 3, rank 0 in "
        "gather to rank 0");
  CHECK(said([&](thread_communicator& self) -> result<void> {  // one has left out a step
          if (self.rank() != 2) ZARRPOINT_CHECK(gather(self, {}, 3).transform([](auto&&) {}));
          return forget(self.exchange(std::vector<message>(4)));
        })
            .find("invalid_argument: Unmatched collectives: rank ") == 0);
  CHECK(said([&](thread_communicator& self) -> result<void> {  // same step, another root
          return forget(broadcast(self, {}, self.rank() < 2 ? 2 : 0));
        })
            .find("invalid_argument: Unmatched collectives: ") == 0);
  CHECK(said([&](thread_communicator& self) -> result<void> {  // both begin with a gather to 0
          if (self.rank() == 1) return agree(self, result<void>());
          return forget(all_gather(self, {}));
        }) ==
        "invalid_argument: Unmatched collectives: rank 1 is in agree, rank 0 in "
        "all_gather");
}

TEST_CASE("thread_communicator: a wrong argument of one rank is an error of all") {
  const auto outcomes = thread_world::run(3, [](thread_communicator& self) -> result<void> {
    const std::size_t count = self.rank() == 2 ? 2 : 3;
    ZARRPOINT_CHECK(self.exchange(std::vector<message>(count)));
    return barrier(self);
  });
  CHECK(text_of_others(outcomes, -1) ==
        "invalid_argument: rank 2: exchange: 2 messages were given for 3 ranks; give one for each");
  const auto no_root = thread_world::run(3, [](thread_communicator& self) -> result<void> {
    ZARRPOINT_CHECK(broadcast(self, {}, self.rank() == 1 ? 3 : 0));
    return barrier(self);
  });
  CHECK(text_of_others(no_root, -1) ==
        "invalid_argument: rank 1: broadcast: there is no rank 3; the number of ranks is 3");
}

TEST_CASE("thread_communicator: ASY-4: handles may outlive their world") {
  const auto kept = thread_world::run(2, [](thread_communicator& self) { return self; });
  CHECK(text_of(barrier(kept[0].value())) ==
        "unavailable: rank 1 is gone and will not come to barrier: it returned");
}

TEST_CASE("errors: unavailable") {
  const auto outcomes = thread_world::run(4, [](thread_communicator& self) -> result<void> {
    if (self.rank() == 2) return error{errc::io, "No space left on device"};
    return barrier(self);
  });
  check_documented(text_of_others(outcomes, 2));
  std::latch started(4);  // as above
  std::atomic<bool> over{false};
  const auto late = thread_world::run(4,
                                      [&](thread_communicator& self) -> result<void> {
                                        started.arrive_and_wait();
                                        while (self.rank() == 3 && !over)
                                          std::this_thread::sleep_for(1ms);
                                        const result<void> outcome = barrier(self);
                                        over = true;
                                        return outcome;
                                      },
                                      {.deadline = 400ms});
  check_documented(text_of_others(late, -1));
}

}  // namespace thread_communicator_test
