// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What every format has by the protocol of saves: a rank that dies, messages
// that are lost or cut off, a limit of memory, a request to stop, a failing
// disk, kept plans, saves in the background. A format is a line of `layouts`.

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include "../support/failing_store.hpp"
#include "../support/fork_world.hpp"
#include "../support/hard_of_hearing.hpp"
#include "../support/random_rounds.hpp"
#include "../support/save_layouts.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace save_protocol_test {

using namespace zarrpoint;
using zarrpoint_test::fork_communicator;
using zarrpoint_test::fork_world;
using zarrpoint_test::hard_of_hearing;
using zarrpoint_test::trouble;
using namespace zarrpoint_test::save_layouts;

namespace {

/// What each of the ranks says of a save, each with its own context and name of
/// its tensor.
template <class F>
std::vector<std::string> save_by_threads(int ranks, const layout& in, const location& where,
                                         F&& how_of) {
  const auto said =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<std::string> {
        part mine(self, 1);
        context how;
        how_of(self.rank(), how, mine);
        return told(in.save(self, where, mine, how));
      });
  std::vector<std::string> out;
  for (const auto& one : said) out.push_back(one ? *one : to_string(one.failure()));
  return out;
}

std::size_t entries_in(const test::temp_directory& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder.path()), {}));
}

/// All beside the checkpoint that a later save would remove.
void remove_what_is_left(const test::temp_directory& folder) {
  const int parent = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  static_cast<void>(detail::remove_abandoned(parent, "", 0));
  ::close(parent);
}

}  // namespace

TEST_CASE("save protocol: a rank dies before each exchange, or while it writes") {
  constexpr int ranks = 3;
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::temp_directory folder;
    const std::string path = folder / "model";
    // Rank `dies` dies before its exchange number `exchange`; -1: when it has
    // written something.
    const auto save_step = [&](int step, int dies, int exchange) {
      return fork_world(ranks, [&](const fork_communicator& self) {
        self.before_each([=, rank = self.rank()](int number) {
          if (rank == dies && number == exchange) zarrpoint_test::kill_this_process();
        });
        const auto on_progress = [&](const progress_event&) {
          if (self.rank() == dies && exchange == -1) zarrpoint_test::kill_this_process();
        };
        context how;
        how.progress = on_progress;
        part mine(self, step);
        mine.pieces.resize(1);
        const std::string text = told(in.save(self, path, mine, how));
        return text == "saved" ? "saved " + std::to_string(self.exchanges()) : text;
      });
    };
    const std::string first = save_step(1, -1, -2)[0];
    REQUIRE(first.starts_with("saved "));
    const int exchanges = std::stoi(first.substr(6));
    REQUIRE(exchanges > 8);
    for (const int dies : {0, 2}) {
      for (int exchange = -1; exchange < exchanges;
           exchange += zarrpoint_test::is_thinned ? 3 : 1) {
        CAPTURE(dies);
        CAPTURE(exchange);
        const auto said = save_step(2, dies, exchange);
        // Before the last exchange rank 0 has committed.
        const bool is_last = exchange == exchanges - 1;
        for (int rank = 0; rank < ranks; ++rank) {
          const std::string& text = said[static_cast<std::size_t>(rank)];
          CAPTURE(text);
          if (rank == dies) {
            CHECK(text == "died of signal 9");
            continue;
          }
          const bool is_open = is_last || (exchange == exchanges - 2 && rank != 0);
          CHECK(text.starts_with(is_open ? "outcome_unknown: " : "unavailable: "));
          CHECK(has(text, "rank " + std::to_string(dies) + " is gone"));
        }
        CHECK(step_in(in, path) == (is_last ? "2" : "1"));
        if (is_last) CHECK(save_step(1, -1, -2)[0] == first);
      }
    }
    // Of those that died nothing is left once there was another save.
    CHECK(save_step(3, -1, -2)[0] == first);
    remove_what_is_left(folder);
    CHECK(entries_in(folder) == 1);
  }
}

TEST_CASE(
    "save protocol: messages above limits::memory name who brings them, "
    "on all") {
  for (const layout& in : layouts()) {
    // Of the process that brings it, and of rank 0, which gathers all.
    for (const int small : {0, 1}) {
      CAPTURE(in.name);
      CAPTURE(small);
      const test::temp_directory folder;
      const auto said =
          save_by_threads(3, in, folder / "model", [&](int rank, context& how, part& mine) {
            mine.name = std::string(120, 'n');
            for (int i = 0; rank == 1 && i < 4; ++i) mine.name += '/' + std::string(200, 'm');
            mine.at = {};
            if (rank == small) how.limit.memory = 900;
          });
      for (const std::string& text : said) {
        CAPTURE(text);
        CHECK(text.starts_with("resource_limit: save "));
        CHECK(has(text, "the description of rank 1 has "));
      }
      CHECK(std::filesystem::is_empty(folder.path()));
    }
  }
}

TEST_CASE("save protocol: with little memory all save, or none does and all say so") {
  for (const layout& in : layouts()) {
    const test::temp_directory folder;
    const std::string path = folder / "model";
    int saves = 0, refusals = 0, step = 1;
    const auto save_within = [&](std::size_t memory, int small) {
      return save_by_threads(3, in, path, [&](int rank, context& how, part& mine) {
        mine.values.assign(mine.values.size(), static_cast<float>(step));
        mine.tensors = 20;
        if (rank == small) how.limit.memory = memory;
      });
    };
    save_within(SIZE_MAX, 0);
    for (const int small : {0, 1}) {
      for (std::size_t memory = 64; memory < (std::size_t{1} << 20); memory += memory / 2) {
        CAPTURE(in.name);
        CAPTURE(memory);
        const std::string before = std::to_string(step++);
        const auto said = save_within(memory, small);
        const bool is_saved = said[0] == "saved";
        is_saved ? ++saves : ++refusals;
        for (const std::string& text : said) {
          CAPTURE(text);
          CHECK((is_saved ? text == "saved" : text.starts_with("resource_limit: save ")));
        }
        CHECK(step_in(in, path) == (is_saved ? std::to_string(step) : before));
        if (!is_saved) --step;
      }
    }
    CHECK(saves > 4);
    CHECK(refusals > 4);
  }
}

TEST_CASE("save protocol: no error hides a commit from a rank that hears half of it, or nothing") {
  for (const layout& in : layouts()) {
    const test::temp_directory folder;
    const std::string path = folder / "model";
    int exchanges = 0, step = 1;
    const auto save_step = [&](trouble of, int who, int at) {
      const auto said =
          thread_world::run(2, [&](const thread_communicator& self) -> result<std::string> {
            const hard_of_hearing ranks{self, of, self.rank() == who ? at : -1};
            part mine(self, step);
            mine.pieces.resize(1);
            const std::string text = told(in.save(ranks, path, mine, context{}));
            if (self.rank() == 0) exchanges = *ranks.count;
            return text;
          });
      return std::pair(said[0].value(), said[1].value());
    };
    REQUIRE(save_step(trouble::loses, 0, -1) ==
            std::pair<std::string, std::string>("saved", "saved"));
    const int all = exchanges, receipts = all - 2;
    REQUIRE(all > 6);
    std::string stored = "1";
    for (const trouble of : {trouble::loses, trouble::cuts, trouble::exhausts}) {
#if !ZARRPOINT_EXCEPTIONS
      if (of == trouble::exhausts) continue;
#endif
      for (const int who : {0, 1}) {
        for (int at = 0; at < all; at += zarrpoint_test::is_thinned ? 2 : 1) {
          CAPTURE(in.name);
          CAPTURE(static_cast<int>(of));
          CAPTURE(who);
          CAPTURE(at);
          ++step;
          const auto [root, other] = save_step(of, who, at);
          CAPTURE(root);
          CAPTURE(other);
          const std::string now = step_in(in, path);
          if (now == stored) {
            CHECK(root != "saved");
            CHECK(other != "saved");
            CHECK_FALSE(root.starts_with("outcome_unknown: "));
            // What happens to rank 1 after it gave its receipt does not stop
            // rank 0.
            CHECK((who == 0 || at < receipts));
            continue;
          }
          CHECK(now == std::to_string(step));
          stored = now;
          CHECK((root == "saved" || (root.starts_with("outcome_unknown: save ") &&
                                     has(root, "the checkpoint is committed"))));
          CHECK((other == "saved" || (other.starts_with("outcome_unknown: save ") &&
                                      has(other,
                                          "this process gave its receipt, so rank 0 may "
                                          "have committed the "
                                          "checkpoint: open " +
                                              path + " to see which one is there"))));
          // A process that lost what it needs does not take it for saved.
          if (who == 1 && of != trouble::cuts) CHECK(other != "saved");
        }
      }
    }
  }
}

TEST_CASE(
    "save protocol: a disk that fails at any step leaves the old "
    "checkpoint, and nothing else") {
  for (const layout& in : layouts()) {
    for (const int ranks : {1, 3}) {
      CAPTURE(in.name);
      CAPTURE(ranks);
      const test::temp_directory folder;
      const std::string path = folder / "model";
      const any_store base = file_store::open(folder.path().string()).value();
      // To open, write, sync and publish are a step each, of rank 0.
      const auto save_step = [&](int step, int steps) {
        const zarrpoint_test::failing_store store{base, std::make_shared<std::atomic<int>>(steps)};
        const location full(store, store_key::parse("model").value());
        return thread_world::run(ranks, [&](const thread_communicator& self) {
          part mine(self, step);
          return result<std::string>(
              told(in.save(self, self.rank() == 0 ? full : location(path), mine, context{})));
        });
      };
      REQUIRE(save_step(1, 1000)[0].value() == "saved");
      int steps = 0;
      for (;; ++steps) {
        REQUIRE(steps < 100);
        CAPTURE(steps);
        const bool is_there = steps % 2 == 0;
        if (!is_there) std::filesystem::remove_all(path);
        const auto said = save_step(2, steps);
        if (said[0].value() == "saved") break;
        for (const auto& one : said) {
          const std::string& text = one.value();
          CAPTURE(text);
          CHECK(text.starts_with("io: save "));
          CHECK(has(text, "the disk is full"));
          CHECK((ranks == 1 || has(text, "rank 0")));
        }
        CHECK(entries_in(folder) == (is_there ? 1 : 0));
        if (is_there) CHECK(step_in(in, path) == "1");
        if (!is_there) REQUIRE(save_step(1, 1000)[0].value() == "saved");
      }
      CHECK(steps > 4);
      CHECK(step_in(in, path) == "2");
      // A place that is none: nothing can be opened there.
      const auto none =
          save_by_threads(ranks, in, folder / "no/such/place", [](int, context&, part&) {});
      for (const std::string& text : none) CHECK(has(text, "no/such"));
      CHECK(entries_in(folder) == 1);
    }
  }
}

TEST_CASE("save protocol: a disk that is full for another rank than 0 leaves the old checkpoint") {
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::temp_directory folder;
    const std::string path = folder / "model";
    const auto save_step = [&](int step, rlim_t most) {
      return fork_world(2, [&](const fork_communicator& self) {
        // All that this process writes to a file from here on.
        if (self.rank() == 1) {
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{most, most};
          ::setrlimit(RLIMIT_FSIZE, &limit);
        }
        part mine(self, step);
        return told(in.save(self, path, mine, context{}));
      });
    };
    const std::vector<std::string> saved{"saved", "saved"};
    REQUIRE(save_step(1, RLIM_INFINITY) == saved);
    int failures = 0;
    for (rlim_t most = 0;; most = 2 * most + 1) {
      REQUIRE(most < 1 << 20);
      const auto said = save_step(2, most);
      if (said == saved) break;
      ++failures;
      for (const std::string& text : said) {
        CAPTURE(text);
        CHECK(text.starts_with("io: save "));
        CHECK(has(text, "rank 1"));
      }
      CHECK(entries_in(folder) == 1);
      CHECK(step_in(in, path) == "1");
    }
    CHECK(failures > 2);
    CHECK(step_in(in, path) == "2");
  }
}

TEST_CASE(
    "save protocol: one that is asked to stop stops all, and leaves what "
    "was there") {
  for (const layout& in : layouts()) {
    // Before the save, and in the middle of it, with one of its tensors
    // written.
    for (const bool in_the_middle : {false, true}) {
      CAPTURE(in.name);
      CAPTURE(in_the_middle);
      const test::temp_directory folder;
      const std::string path = folder / "model";
      if (in_the_middle) save_by_threads(3, in, path, [](int, context&, part&) {});
      stop_source source;
      if (!in_the_middle) source.request_stop();
      const auto on_progress = [&](const progress_event&) { source.request_stop(); };
      const auto said = save_by_threads(3, in, path, [&](int rank, context& how, part& mine) {
        mine.tensors = 3;
        mine.values.assign(mine.values.size(), 2);
        if (rank == 1) how.stop = source.token();
        if (rank == 1 && in_the_middle) how.progress = on_progress;
      });
      for (const std::string& text : said) {
        CAPTURE(text);
        CHECK(text.starts_with("cancelled: save "));
        CHECK(has(text, "rank 1"));
      }
      CHECK(entries_in(folder) == (in_the_middle ? 1 : 0));
      if (in_the_middle) CHECK(step_in(in, path) == "1");
    }
  }
}

TEST_CASE(
    "save protocol: a kept plan is used while all bring the same, and no "
    "longer") {
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::temp_directory folder;
    const std::string path = folder / "model";
    const auto said = thread_world::run(3, [&](const thread_communicator& self) {
      std::string reused;
      part mine(self, 0);
      mine.plans = std::make_shared<plan_cache>();
      const auto save_next = [&](const std::string& where) -> result<void> {
        mine.values.assign(mine.values.size(), mine.values.front() + 1);
        ZARRPOINT_TRY(again, in.save(self, where, mine, context{}));
        reused += again ? 'r' : 'p';
        return {};
      };
      const auto run = [&]() -> result<std::string> {
        ZARRPOINT_CHECK(save_next(path));
        ZARRPOINT_CHECK(save_next(path));
        mine.tensors = 2;
        ZARRPOINT_CHECK(save_next(path));
        // It survives a save that fails.
        if (save_next(folder / "no/such/place")) return error{errc::corrupt, "saved to no place"};
        ZARRPOINT_CHECK(save_next(folder / "other"));
        mine.plans = std::make_shared<plan_cache>();
        ZARRPOINT_CHECK(save_next(path));
        return reused;
      };
      return run();
    });
    for (const auto& one : said) CHECK(one.value() == "prprp");
    CHECK(step_in(in, path) == "6");
    CHECK(step_in(in, folder / "other") == "5");
  }
}

TEST_CASE("save protocol: an exception of one is an error of all") {
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::temp_directory folder;
    const auto fails = [](const progress_event&) { throw std::runtime_error("of the program"); };
    const auto said = save_by_threads(3, in, folder / "model", [&](int rank, context& how, part&) {
      if (rank == 2) how.progress = fails;
    });
    for (const std::string& text : said) {
      CAPTURE(text);
      CHECK(has(text, "of the program"));
      CHECK(has(text, "rank 2"));
    }
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE(
    "save protocol: in the background, with what the tensors were when "
    "it was scheduled") {
  for (const layout& in : layouts()) {
    for (const int ranks : {1, 3}) {
      CAPTURE(in.name);
      CAPTURE(ranks);
      const test::temp_directory folder;
      const std::string path = folder / "model";
      const auto said =
          thread_world::run(ranks, [&](const thread_communicator& self) -> result<std::size_t> {
            part mine(self, 0);
            {
              const auto dropped = in.in_background(self);
              ZARRPOINT_CHECK(dropped->schedule(path, mine));
            }
            const auto queue = in.in_background(self);
            for (int step = 1; step <= 3; ++step) {
              mine.values.assign(mine.values.size(), static_cast<float>(step));
              ZARRPOINT_CHECK(queue->schedule(path + std::to_string(step), mine));
            }
            mine.values.assign(mine.values.size(), 9);
            return queue->finalize();
          });
      for (const auto& one : said) CHECK(one.value() == 3);
      for (int step = 1; step <= 3; ++step)
        CHECK(step_in(in, path + std::to_string(step)) == std::to_string(step));
      CHECK_FALSE(std::filesystem::exists(path));
    }
  }
}

}  // namespace save_protocol_test
