// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Processes that are killed at each step of writing, or in a load: what was saved before stays, and
// the others know who is gone. save_protocol_test.cpp kills them before each exchange of a save.

#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include "../support/fork_world.hpp"
#include "../support/random_rounds.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace killed_rank_test {

using namespace zarrpoint;
using zarrpoint_test::fork_communicator;
using zarrpoint_test::fork_world;

namespace {

constexpr int ranks = 4;

/// The deaths of a rank that are tried: a third where tests are thinned, for each rank other ones.
/// A ninth where threads are looked at, since ranks are processes here.
constexpr int each = zarrpoint_test::is_about_threads ? 9 : (zarrpoint_test::is_thinned ? 3 : 1);
constexpr int some(int rank) { return rank % each; }

/// Kills this process when so many steps are done.
struct countdown {
  int until;
  int done = 0;
  int before_commit = 0;

  void step() {
    if (done == until) zarrpoint_test::kill_this_process();
    ++done;
  }
};

/// A store of which each part of a write is a step.
class dying_store {
 public:
  dying_store(any_store of, std::shared_ptr<countdown> steps)
      : of_(std::move(of)), steps_(std::move(steps)) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const { return of_.open(key); }
  std::string describe(const store_key& key) const { return of_.describe(key); }
  result<void> put(const store_key& key, bytes_view value) const {
    ZARRPOINT_TRY(made, create(key));
    ZARRPOINT_CHECK(made->write(0, value));
    return made->finish();
  }
  result<bool> erase(const store_key& key) const { return of_.erase(key); }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    steps_->step();
    ZARRPOINT_TRY(made, of_.create(key));
    return std::unique_ptr<blob_writer>(std::make_unique<writer>(std::move(made), steps_));
  }

 private:
  class writer final : public blob_writer {
   public:
    writer(std::unique_ptr<blob_writer> of, std::shared_ptr<countdown> steps)
        : of_(std::move(of)), steps_(std::move(steps)) {}
    result<void> write(std::uint64_t offset, bytes_view from) override {
      steps_->step();
      ZARRPOINT_CHECK(of_->write(offset, from.first(from.size() / 2)));
      steps_->step();  // with half of it written
      return of_->write(offset + from.size() / 2, from.subspan(from.size() / 2));
    }
    result<void> finish() override {
      steps_->step();
      return of_->finish();
    }

   private:
    std::unique_ptr<blob_writer> of_;
    std::shared_ptr<countdown> steps_;
  };

  any_store of_;
  std::shared_ptr<countdown> steps_;
};

/// Ours, on a store that kills; its own ends are steps, too: before the receipts are sent, and
/// before the rename.
struct dying_saver {
  static constexpr std::string_view name = "dying_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::save_sharded;

  std::shared_ptr<countdown> steps;

  result<array_metadata> layout(const save_job& job, const planned_tensor& one) const {
    return zarr_saver{}.layout(job, one);
  }
  result<message> write(const save_job& job, const shard_writes& mine) const {
    auto receipt = zarr_saver{}.write(on_dying_store(job), mine);
    steps->step();
    steps->before_commit = steps->done;
    return receipt;
  }
  result<void> finish(const save_job& job, const save_receipts& all) const {
    auto done = zarr_saver{}.finish(on_dying_store(job), all);
    steps->step();
    return done;
  }

 private:
  save_job on_dying_store(save_job job) const {
    job.store = dying_store(job.store, steps);
    return job;
  }
};
static_assert(sharded_saver<dying_saver>);

/// Rows, flat ranges that share cells, objects, and a common value; all tell of `step`.
result<state> state_of(int rank, int step) {
  std::vector<float> w(12);
  std::iota(w.begin(), w.end(), static_cast<float>(100 * step + 12 * rank));
  ZARRPOINT_TRY(rows, shard("w", std::move(w), {.offsets = {{0, rank, ranks}}}));
  const index_t start = rank * (rank + 1) / 2;
  std::vector<double> piece(static_cast<std::size_t>(rank) + 1, 100.0 * step);
  ZARRPOINT_TRY(flat, shard_flat("flat", std::move(piece),
                                 {.local_shape = {2, 5}, .range = {start, start + rank + 1}}));
  ZARRPOINT_TRY(object, sharded_object::make("object", json_text{std::to_string(step)},
                                             {.global_shape = {ranks}, .global_offset = {rank}}));
  return state{{"step", step}, {"w", rows}, {"flat", flat}, {"object", object}};
}

/// The step of which everything in the checkpoint is; else what is wrong.
std::string step_in(const std::string& path) {
  const process_group alone{.how = context{}};
  const auto load_all = [&]() -> result<int> {
    ZARRPOINT_TRY(w, shard("w", std::vector<float>(12 * ranks)));
    const tensor_spec matrix{dtype_kind::float64, {2, 5}};
    ZARRPOINT_TRY(flat, from_rank_offsets("flat", matrix, {}));
    state request{{"w", w}, {"flat", sharded_tensor(flat)}};
    for (int rank = 0; rank < ranks; ++rank) {
      ZARRPOINT_TRY(object, sharded_object::request({"object", dims{ranks}, dims{index_t{rank}}}));
      request.if_map()->emplace("object " + std::to_string(rank), object);
    }
    ZARRPOINT_TRY(report, load(path, request, alone));
    ZARRPOINT_TRY(step, report.loaded.get<int>("step"));
    const error other{errc::corrupt, "values of another step than " + std::to_string(step)};
    for (std::size_t i = 0; i < w.value().size(); ++i)
      if (w.value()[i] != static_cast<float>(100 * step) + static_cast<float>(i)) return other;
    const tensor& pieces = *report.loaded.find("flat")->if_tensor()->get<tensor>();
    for (std::size_t i = 0; i < 10; ++i)
      if (pieces.data<double>()[i] != 100.0 * step) return other;
    for (int rank = 0; rank < ranks; ++rank) {
      const state* object = report.loaded.find("object " + std::to_string(rank));
      ZARRPOINT_TRY(text, object->if_object()->get<json_text>());
      if (text.text != std::to_string(step)) return other;
    }
    return step;
  };
  const result<int> step = load_all();
  return step ? std::to_string(*step) : to_string(step.failure());
}

/// Who dies, and when: before an exchange of a load, or at a step of the saver.
struct death {
  int rank = -1;
  int exchange = -1;
  int step = -1;
  bool commits = false;  ///< and whether it is at the commit then
};

/// Saves by four processes. Each says `"saved S W"`, after S steps, of which W were before the
/// commit, or its error.
std::vector<std::string> save_by_four(const std::string& path, int step, death of = {}) {
  return fork_world(ranks, [&](const fork_communicator& self) {
    const bool dies = self.rank() == of.rank;
    const auto steps = std::make_shared<countdown>(countdown{dies ? of.step : -1});
    const auto run = [&]() -> result<void> {
      ZARRPOINT_TRY(mine, state_of(self.rank(), step));
      ZARRPOINT_CHECK(save(path, mine, {.ranks = self, .how = context{}},
                           {.storage = {.sync = false}, .sharded = dying_saver{steps}}));
      return {};
    };
    const result<void> saved = run();
    if (!saved) return to_string(saved.failure());
    std::string text = "saved";
    for (const int count : {steps->done, steps->before_commit}) text += " " + std::to_string(count);
    return text;
  });
}

/// The numbers that a process says which saved.
struct counts {
  int steps = 0, before_commit = 0;

  explicit counts(const std::string& said) {
    std::istringstream from(said);
    std::string saved;
    from >> saved >> steps >> before_commit;
    REQUIRE(saved == "saved");
  }
};

/// Everything beside the checkpoint that a later save would remove.
void remove_what_is_left(const test::temp_directory& folder) {
  const int parent = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  static_cast<void>(detail::remove_abandoned(parent, "", 0));
  ::close(parent);
}

std::vector<std::string> names_in(const test::temp_directory& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    out.push_back(entry.path().filename().string());
  return out;
}

/// One process dies in the save of step 2; afterwards the checkpoint is that of step 1.
void check_death(const test::temp_directory& folder, death of) {
  CAPTURE(of.rank);
  CAPTURE(of.step);
  const std::string path = folder / "model.zarr";
  const auto said = save_by_four(path, 2, of);
  REQUIRE(said.size() == ranks);
  const std::string gone = "rank " + std::to_string(of.rank) + " is gone";
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& text = said[static_cast<std::size_t>(rank)];
    CAPTURE(text);
    if (rank == of.rank) {
      CHECK(text == "died of signal 9");
    } else {
      // A rank that waits for the outcome of the commit cannot learn it from a process that is
      // gone.
      CHECK(text.starts_with(of.commits ? "outcome_unknown: " : "unavailable: "));
      CHECK(text.find(gone) != text.npos);
    }
  }
  CHECK(step_in(path) == "1");
}

/// The next save, and nothing is left of the earlier ones.
void check_recovery(const test::temp_directory& folder, int step) {
  const std::string path = folder / "model.zarr";
  for (const std::string& text : save_by_four(path, step)) CHECK(text.starts_with("saved "));
  CHECK(step_in(path) == std::to_string(step));
  remove_what_is_left(folder);
  CHECK(names_in(folder) == std::vector<std::string>{"model.zarr"});
}

}  // namespace

TEST_CASE("killed ranks: at each step of writing, and of the commit up to the rename") {
  const test::temp_directory folder;
  const auto first = save_by_four(folder / "model.zarr", 1);
  REQUIRE(first.size() == ranks);
  for (const int rank : {0, 2}) {
    const counts all(first[static_cast<std::size_t>(rank)]);
    REQUIRE(all.before_commit > 8);
    CHECK((all.steps > all.before_commit) == (rank == 0));
    for (int step = some(rank); step < all.steps; step += each) {
      const bool commits = step >= all.before_commit;
      check_death(folder, {.rank = rank, .step = step, .commits = commits});
    }
  }
  check_recovery(folder, 3);
}

TEST_CASE("killed ranks: several at a time, and in the first save of all") {
  const test::temp_directory folder;
  const auto said = fork_world(ranks, [&](const fork_communicator& self) {
    self.before_each([&](int number) {
      if (self.rank() % 2 == 1 && number == 3) zarrpoint_test::kill_this_process();
    });
    const auto mine = state_of(self.rank(), 1);
    const auto saved = save(folder / "model.zarr", *mine, {.ranks = self, .how = context{}});
    return saved ? std::string("saved") : to_string(saved.failure());
  });
  CHECK(said[1] == "died of signal 9");
  CHECK(said[3] == "died of signal 9");
  for (const int rank : {0, 2}) {
    const std::string& text = said[static_cast<std::size_t>(rank)];
    CAPTURE(text);
    CHECK(text.starts_with("unavailable: "));
    CHECK((text.find("rank 1 is gone") != text.npos || text.find("rank 3 is gone") != text.npos));
  }
  CHECK(step_in(folder / "model.zarr").find("does not exist") != std::string::npos);
  check_recovery(folder, 1);
}

TEST_CASE("killed ranks: before each exchange of a load, in which all read once what all want") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  save_by_four(path, 1);
  const auto load_by_four = [&](death of) {
    return fork_world(ranks, [&](const fork_communicator& self) {
      self.before_each([&](int number) {
        if (self.rank() == of.rank && number == of.exchange) zarrpoint_test::kill_this_process();
      });
      const auto run = [&]() -> result<void> {
        ZARRPOINT_TRY(w, shard("w", std::vector<float>(12 * ranks)));
        ZARRPOINT_CHECK(
            load(path, state{{"w", w}}, {.ranks = self, .how = context{}},
                 {.strict = strictness::raise_unexpected, .validate = false, .read_once = true}));
        if (w.value()[47] != 147) return error{errc::corrupt, "other values"};
        return {};
      };
      const result<void> loaded = run();
      return loaded ? "loaded " + std::to_string(self.exchanges()) : to_string(loaded.failure());
    });
  };
  const std::string first = load_by_four({})[0];
  REQUIRE(first.starts_with("loaded "));
  const int exchanges = std::stoi(first.substr(7));
  REQUIRE(exchanges > 4);
  for (const int rank : {0, 2}) {
    for (int exchange = some(rank); exchange < exchanges; exchange += each) {
      CAPTURE(rank);
      CAPTURE(exchange);
      const auto said = load_by_four({.rank = rank, .exchange = exchange});
      for (int other = 0; other < ranks; ++other) {
        const std::string& text = said[static_cast<std::size_t>(other)];
        CAPTURE(text);
        if (other == rank) {
          CHECK(text == "died of signal 9");
        } else {
          CHECK(text.starts_with("unavailable: "));
          CHECK(text.find("rank " + std::to_string(rank) + " is gone") != text.npos);
        }
      }
    }
  }
  CHECK(step_in(path) == "1");
}

TEST_CASE("real processes: two to eight save, and as many others load") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  const auto part_of = [](const fork_communicator& self) {
    return shard("v", std::vector<std::int32_t>(static_cast<std::size_t>(840 / self.size())),
                 {.offsets = {{0, self.rank(), self.size()}}});
  };
  for (int size = 2; size <= 8; ++size) {
    CAPTURE(size);
    const auto saved = fork_world(size, [&](const fork_communicator& self) {
      const auto part = part_of(self).value();
      std::iota(part.value().begin(), part.value().end(),
                static_cast<std::int32_t>(part.metadata().global_offset[0]));
      const auto done = save(path, state{{"step", size}, {"v", part}},
                             {.ranks = self, .how = context{}}, {.storage = {.sync = false}});
      return done ? std::string("done") : to_string(done.failure());
    });
    CHECK(saved == std::vector<std::string>(static_cast<std::size_t>(size), "done"));
    const auto loaded = fork_world(10 - size, [&](const fork_communicator& self) {
      const auto part = part_of(self).value();
      const auto done = load(path, state{{"v", part}}, {.ranks = self, .how = context{}});
      if (!done) return to_string(done.failure());
      auto expected = static_cast<std::int32_t>(part.metadata().global_offset[0]);
      for (const std::int32_t element : part.value())
        if (element != expected++) return std::string("other values");
      return "step " + std::to_string(done->loaded.get<int>("step").value());
    });
    CHECK(loaded == std::vector<std::string>(static_cast<std::size_t>(10 - size),
                                             "step " + std::to_string(size)));
  }
}

}  // namespace killed_rank_test
