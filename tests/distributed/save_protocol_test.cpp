// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What every format has by the protocol of saves: a rank that dies, a limit of memory, a request to
// stop, a failing disk, saves in the background. A format is a line of `layouts`.

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/interop/dcp/dcp_format.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "../support/fork_world.hpp"
#include "../support/random_rounds.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace save_protocol_test {

using namespace zarrpoint;
using zarrpoint_test::fork_communicator;
using zarrpoint_test::fork_world;

namespace {

constexpr index_t elements = 12;  // of each rank

/// What a process has: rows of the tensor `name`, which tell of a step.
struct part {
  part(const any_communicator& ranks, int step, std::string of = "w")
      : name(std::move(of)), values(static_cast<std::size_t>(elements), static_cast<float>(step)) {
    at = {.offsets = {{0, ranks.rank(), ranks.size()}}};
  }
  sharded_tensor shards() { return shard(name, values, at).value(); }

  std::string name;
  std::vector<float> values;
  sharding at;
};

/// Saves in the background.
struct saves {
  virtual ~saves() = default;
  virtual result<void> schedule(const std::string& path, part& mine) = 0;
  virtual result<std::size_t> finalize() = 0;
};

/// A format behind the protocol.
struct layout {
  std::string name;
  std::function<result<void>(const any_communicator&, const location&, part&, const context&)> save;
  std::function<std::unique_ptr<saves>(const any_communicator&)> in_background;
  std::function<result<std::vector<float>>(const std::string& path)> load;
};

struct strategy_saves final : saves {
  strategy_saves(const any_communicator& ranks, group_save_options how)
      : queue({.ranks = ranks, .how = context{}, .known = megatron::strategies::table()}),
        options(std::move(how)) {}
  result<void> schedule(const std::string& path, part& mine) override {
    return queue.schedule(path, state{{"w", mine.shards()}}, options);
  }
  result<std::size_t> finalize() override {
    return queue.finalize().transform([](const auto& all) { return all.size(); });
  }
  async_saves queue;
  group_save_options options;
};

layout of_strategy(std::string name, const strategy_choice& sharded) {
  const group_save_options options{.storage = {.sync = false}, .sharded = sharded};
  return {
      std::move(name),
      [options](const any_communicator& ranks, const location& where, part& mine,
                const context& how) -> result<void> {
        return save(where, state{{"w", mine.shards()}},
                    {.ranks = ranks, .how = how, .known = megatron::strategies::table()}, options)
            .transform([](const auto&) {});
      },
      [options](const any_communicator& ranks) {
        return std::make_unique<strategy_saves>(ranks, options);
      },
      [](const std::string& path) -> result<std::vector<float>> {
        ZARRPOINT_TRY(known, load_tensors_metadata(
                                 path, {.how = context{}, .known = megatron::strategies::table()}));
        std::vector<float> out(
            static_cast<std::size_t>(element_count(known.at("w").metadata().global_shape).value()));
        ZARRPOINT_TRY(w, shard("w", out));
        ZARRPOINT_CHECK(load(path, state{{"w", w}},
                             {.how = context{}, .known = megatron::strategies::table()}));
        return out;
      }};
}

struct dcp_saves final : saves {
  explicit dcp_saves(const any_communicator& ranks) : queue(ranks, context{}) {}
  result<void> schedule(const std::string& path, part& mine) override {
    const sharded_tensor one = mine.shards();
    return queue.schedule(path, {.shards = {&one, 1}}, {.sync = false});
  }
  result<std::size_t> finalize() override {
    return queue.finalize().transform([](const auto& all) { return all.size(); });
  }
  dcp::async_saves queue;
};

const std::vector<layout>& layouts() {
  static const std::vector<layout> all{
      of_strategy("zarr", {"zarr", 3}), of_strategy("torch_dist", {"torch_dist", 1}),
      layout{"dcp",
             [](const any_communicator& ranks, const location& where, part& mine,
                const context& how) -> result<void> {
               const sharded_tensor one = mine.shards();
               return dcp::save(where, ranks, {&one, 1}, {}, {.sync = false}, how)
                   .transform([](const auto&) {});
             },
             [](const any_communicator& ranks) { return std::make_unique<dcp_saves>(ranks); },
             [](const std::string& path) -> result<std::vector<float>> {
               ZARRPOINT_TRY(from, open(path, {.stores = formats<dcp::format>()}));
               return from.load<std::vector<float>>("w");
             }}};
  return all;
}

/// The step of which all elements are; else what is wrong.
std::string step_in(const layout& in, const std::string& path) {
  const auto all = in.load(path);
  if (!all) return to_string(all.failure());
  for (const float one : *all)
    if (one != all->front()) return "elements of several steps";
  return std::to_string(static_cast<int>(all->front()));
}

bool has(const std::string& text, std::string_view of) { return text.find(of) != text.npos; }

std::string told(const result<void>& of) { return of ? "saved" : to_string(of.failure()); }

/// What each of the ranks says of a save, each with its own context and name of its tensor.
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

}  // namespace

TEST_CASE("save protocol: a rank dies before each exchange, or while it writes") {
  constexpr int ranks = 3;
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::temp_directory folder;
    const std::string path = folder / "model";
    // Rank `dies` dies before its exchange number `exchange`; -1: when it has written something.
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
  }
}

TEST_CASE("save protocol: messages above limits::memory name who brings them, on all") {
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

TEST_CASE("save protocol: one that is asked to stop stops all, and leaves nothing") {
  for (const layout& in : layouts()) {
    CAPTURE(in.name);
    const test::temp_directory folder;
    stop_source source;
    source.request_stop();
    const auto said = save_by_threads(3, in, folder / "model", [&](int rank, context& how, part&) {
      if (rank == 1) how.stop = source.token();
    });
    for (const std::string& text : said) {
      CAPTURE(text);
      CHECK(text.starts_with("cancelled: save "));
      CHECK(has(text, "rank 1"));
    }
    CHECK(std::filesystem::is_empty(folder.path()));
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

TEST_CASE("save protocol: in the background, with what the tensors were when it was scheduled") {
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
