// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/save/save_queue.hpp>

#include "../support/executors.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace save_queue_test {

using namespace zarrpoint;

namespace {

/// Writes nothing, and tells in which order it was asked for what.
struct fake_save {
  std::string name;
  std::vector<std::string>* log;
  std::string tree = name;
  result<int> gives = 1;

  result<message> write() const {
    log->push_back("write " + name);
    return message(name.size());
  }
  result<int> finish(const result<message>& receipt) const {
    if (!receipt || receipt->size() != name.size()) return error{errc::corrupt, "another receipt"};
    log->push_back("finish " + name);
    return gives;
  }
  const std::string& staged_name() const { return tree; }
};

using queue_of_fakes = detail::save_queue<fake_save, int>;
using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("save_queue: saves are written by the executor and finished in order") {
  texts log;
  const testing::manual_executor later;
  queue_of_fakes queue(single_process{}, later);
  const auto note = [&](const char* name) {
    return [&log, name](const int& report) -> result<void> {
      log.push_back(std::string("note ") + name + ' ' + std::to_string(report));
      return {};
    };
  };
  queue.add(std::make_shared<fake_save>(fake_save{"a", &log}), note("a"));
  queue.add(std::make_shared<fake_save>(fake_save{"b", &log}), {});
  CHECK(queue.size() == 2);
  CHECK(log.empty());
  CHECK(queue.finalize(false).value().empty());
  CHECK(log.empty());
  later.run_all();
  CHECK(log == texts{"write a", "write b"});
  CHECK(queue.finalize(false).value() == std::vector<int>{1, 1});
  CHECK(log == texts{"write a", "write b", "finish a", "note a 1", "finish b"});
  CHECK(queue.size() == 0);
  CHECK(queue.finalize(true).value().empty());
}

TEST_CASE("save_queue: the first failure is told, after all that is there was finished") {
  texts log;
  queue_of_fakes queue(single_process{}, inline_executor{});
  int noted = 0;
  const auto note = [&](const int&) -> result<void> {
    ++noted;
    return noted == 2 ? error{errc::io, "no note"} : result<void>();
  };
  queue.add(std::make_shared<fake_save>(fake_save{"a", &log}), note);
  queue.add(std::make_shared<fake_save>(fake_save{"b", &log, "b", error{errc::io, "disk on fire"}}),
            note);
  queue.add(std::make_shared<fake_save>(fake_save{"c", &log}), note);
  queue.add(std::make_shared<fake_save>(fake_save{"d", &log}), note);
  const auto done = queue.finalize(true);
  REQUIRE_FALSE(done);
  CHECK(done.failure().message == "disk on fire");
  CHECK(noted == 3);  // of a, c and d
  CHECK(queue.size() == 0);
  CHECK(log.back() == "finish d");
}

TEST_CASE("save_queue: processes that mean different saves are told") {
  for (const bool same_number : {true, false}) {
    const auto outcomes =
        thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
          texts log;
          queue_of_fakes queue(self, inline_executor{});
          if (same_number || self.rank() == 0)
            queue.add(std::make_shared<fake_save>(
                          fake_save{"a", &log, "tree of " + std::to_string(self.rank())}),
                      {});
          const auto done = queue.finalize(true);
          if (queue.size() != (same_number || self.rank() == 0 ? 1U : 0U))
            return error{errc::corrupt, "it was finished"};
          return done ? result<void>() : result<void>(done.failure());
        });
    for (const auto& one : outcomes) {
      REQUIRE_FALSE(one);
      CHECK(one.failure().code == errc::invalid_argument);
      CHECK(one.failure().message.find("finalize: Unmatched async calls: rank ") == 0);
    }
  }
}

TEST_CASE("save_queue: what became of a save is told though another process has gone since") {
  struct lost {
    result<int> gives;
    const char* text;
  };
  for (const lost& of : {lost{1, "finalize, after 1 save was committed: "},
                         lost{error{errc::io, "disk on fire"}, "disk on fire"}}) {
    const auto outcomes =
        thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
          texts log;
          queue_of_fakes queue(self, inline_executor{});
          queue.add(std::make_shared<fake_save>(fake_save{"a", &log, "a", of.gives}), {});
          if (self.rank() == 0) {
            const auto done = queue.finalize(true);
            return done ? result<void>() : result<void>(done.failure());
          }
          // It is ready for the first, and gone when it is asked for another.
          return detail::are_ready(self, {1, true, "a"}).transform([](bool) {});
        });
    CHECK(outcomes[1]);
    REQUIRE_FALSE(outcomes[0]);
    CHECK(outcomes[0].failure().message.find(of.text) == 0);
  }
  CHECK(detail::after_commits(0) == "finalize");
  CHECK(detail::after_commits(2) == "finalize, after 2 saves were committed");
}

}  // namespace save_queue_test
