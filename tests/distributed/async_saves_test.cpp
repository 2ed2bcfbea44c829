// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "../support/executors.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace async_saves_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

namespace {

constexpr int ranks = 3;

/// Rows, flat ranges that share cells, and an object; `values` is what is stored, and stays.
struct model {
  std::vector<float> rows = std::vector<float>(10);
  std::vector<double> piece;
  state tree;

  static result<model> make(int rank, int step) {
    model out;
    out.piece.resize(static_cast<std::size_t>(rank) + 1);
    ZARRPOINT_CHECK(out.at(rank, step));
    return out;
  }

  /// Describes the vectors, which are borrowed: they stay where they are when the model is moved.
  result<void> at(int rank, int step) {
    fill(rank, step);
    ZARRPOINT_TRY(w, shard("w", std::span<float>(rows), {.offsets = {{0, rank, ranks}}}));
    const index_t start = rank * (rank + 1) / 2;
    ZARRPOINT_TRY(flat, shard_flat("flat", std::span<double>(piece),
                                   {.local_shape = {2, 3}, .range = {start, start + rank + 1}}));
    ZARRPOINT_TRY(object, sharded_object::make("object", json_text{std::to_string(step)},
                                               {.global_shape = {ranks}, .global_offset = {rank}}));
    tree = state{{"step", step}, {"w", w}, {"flat", flat}, {"object", object}};
    return {};
  }

  void fill(int rank, int step) {
    std::iota(rows.begin(), rows.end(), static_cast<float>(100 * step + 10 * rank));
    std::fill(piece.begin(), piece.end(), 100.0 * step);
  }
};

/// The step of which everything in the checkpoint is; else what is wrong.
std::string step_in(const std::string& path) {
  const auto load_all = [&]() -> result<int> {
    ZARRPOINT_TRY(w, shard("w", std::vector<float>(10 * ranks)));
    ZARRPOINT_TRY(flat, from_rank_offsets("flat", {dtype_kind::float64, {2, 3}}, {}));
    ZARRPOINT_TRY(object, sharded_object::request({"object", dims{ranks}, dims{2}}));
    const state request{{"w", w}, {"flat", sharded_tensor(flat)}, {"object", object}};
    // One of the objects: the request does not tile.
    ZARRPOINT_TRY(report, load(path, request, {.how = context{}}, {.validate = false}));
    ZARRPOINT_TRY(step, report.loaded.get<int>("step"));
    const error other{errc::corrupt, "values of another step than " + std::to_string(step)};
    for (std::size_t i = 0; i < w.value().size(); ++i)
      if (w.value()[i] != static_cast<float>(100 * step) + static_cast<float>(i)) return other;
    const tensor& pieces = *report.loaded.find("flat")->if_tensor()->get<tensor>();
    for (std::size_t i = 0; i < 6; ++i)
      if (pieces.data<double>()[i] != 100.0 * step) return other;
    ZARRPOINT_TRY(text, report.loaded.find("object")->if_object()->get<json_text>());
    if (text.text != std::to_string(step)) return other;
    return step;
  };
  const result<int> step = load_all();
  return step ? std::to_string(*step) : to_string(step.failure());
}

/// Every file below a directory but the one with the random id, by its path.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), folder).string();
    if (name != "zarr.json") out[name] = test::read_file(entry.path());
  }
  return out;
}

/// One text if all ranks have it.
template <class T>
std::string text_of(const std::vector<result<T>>& outcomes) {
  std::vector<std::string> texts;
  for (const result<T>& one : outcomes) texts.push_back(one ? "done" : to_string(one.failure()));
  CHECK(texts == std::vector<std::string>(texts.size(), texts.front()));
  return texts.front();
}

process_group group_of(const thread_communicator& self, any_executor executor = {}) {
  return {.ranks = self, .how = {.executor = std::move(executor)}};
}

std::string save_now(const std::string& path, int step, const group_save_options& options = {}) {
  return text_of(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    ZARRPOINT_TRY(mine, model::make(self.rank(), step));
    ZARRPOINT_CHECK(save(path, mine.tree, group_of(self), options));
    return {};
  }));
}

/// The same by a queue, of which the executor loses all tasks: then `finalize` writes.
std::string save_later(const std::string& path, int step, const group_save_options& options = {},
                       any_executor executor = zarrpoint::testing::dropping_executor{}) {
  return text_of(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    ZARRPOINT_TRY(mine, model::make(self.rank(), step));
    async_saves queue(group_of(self, executor));
    ZARRPOINT_CHECK(queue.schedule(path, mine.tree, options));
    mine.fill(self.rank(), step + 1);
    ZARRPOINT_TRY(reports, queue.finalize());
    if (reports.size() != 1 || queue.unfinalized() != 0)
      return error{errc::corrupt, "not finalized once"};
    return {};
  }));
}

enum class failure { none, reported, thrown, silent };

/// Ours, but rank 1 fails while it writes, after the first half of its cells.
struct failing_saver {
  static constexpr std::string_view name = "failing_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::save_sharded;

  failure how = failure::none;

  result<array_metadata> layout(const save_job& job, const planned_tensor& one) const {
    return zarr_saver{}.layout(job, one);
  }
  result<message> write(const save_job& job, const shard_writes& mine) const {
    const bool is_rank_1 = !mine.objects.empty() && mine.objects.front().global_offset()[0] == 1;
    if (!is_rank_1 || how == failure::none) return zarr_saver{}.write(job, mine);
    shard_writes half = mine;
    half.arrays.resize(half.arrays.size() / 2);
    half.objects.clear();
    auto receipt = zarr_saver{}.write(job, half);
    if (how == failure::silent) return receipt;
#if ZARRPOINT_EXCEPTIONS
    if (how == failure::thrown) throw std::runtime_error("Worker failure: disk on fire");
#endif
    return error{errc::io, "Worker failure: disk on fire"};
  }
  result<void> finish(const save_job& job, const save_receipts& all) const {
    return zarr_saver{}.finish(job, all);
  }
};

}  // namespace

TEST_CASE("ASY-1: an asynchronous save gives what a synchronous one gives") {
  const test::temp_directory folder;
  REQUIRE(save_now(folder / "now.zarr", 1) == "done");
  REQUIRE(save_later(folder / "later.zarr", 1) == "done");
  REQUIRE(save_later(folder / "inline.zarr", 1, {}, {}) == "done");
  REQUIRE(save_later(folder / "threads.zarr", 1, {}, default_context().executor) == "done");
  const auto expected = files_in(folder / "now.zarr");
  CHECK(expected.size() >= 10);
  // What was changed after `schedule` is in none of them.
  for (const char* name : {"now.zarr", "later.zarr", "inline.zarr", "threads.zarr"}) {
    CAPTURE(name);
    CHECK(step_in(folder / name) == "1");
    CHECK(files_in(folder / name) == expected);
  }
  CHECK(names_in(folder.path()).size() == 4);
}

TEST_CASE("ASY-2: a writer's failure reaches every rank, and the older checkpoint stays") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  REQUIRE(save_now(path, 1) == "done");
  for (const failure how : {failure::reported, failure::thrown}) {
    const group_save_options options{.sharded = failing_saver{how}};
    for (const std::string& text : {save_now(path, 2, options), save_later(path, 2, options)}) {
      CAPTURE(text);
      CHECK(text.find("rank 1: ") != text.npos);
      CHECK(text.find("Worker failure: disk on fire") != text.npos);
    }
    CHECK(step_in(path) == "1");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"model.zarr"});
  }
}

TEST_CASE(
    "LOC-4: a save that fails, aloud or silently, leaves the older checkpoint and nothing else") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  for (const failure how : {failure::reported, failure::silent}) {
    const group_save_options options{.sharded = failing_saver{how}};
    CHECK(save_now(path, 2, options) != "done");
    CHECK(names_in(folder.path()).empty());
  }
  REQUIRE(save_now(path, 1) == "done");
  const group_save_options options{.sharded = failing_saver{failure::silent}};
  for (const std::string& text : {save_now(path, 2, options), save_later(path, 2, options)}) {
    CAPTURE(text);
    CHECK(text.find("corrupt: ") == 0);
    CHECK(text.find("planned objects were not written, among them ") != text.npos);
  }
  CHECK(step_in(path) == "1");
  CHECK(names_in(folder.path()) == std::vector<std::string>{"model.zarr"});
  CHECK(save_now(path, 3) == "done");
  CHECK(step_in(path) == "3");
}

TEST_CASE("async_saves: what is to be done when a save is committed") {
  const test::temp_directory folder;
  std::array<std::vector<int>, ranks> called;
  const auto outcomes =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        async_saves queue(group_of(self, default_context().executor));
        ZARRPOINT_TRY(mine, model::make(self.rank(), 1));
        auto& log = called[static_cast<std::size_t>(self.rank())];
        for (int step = 1; step <= 4; ++step) {
          const std::string path = folder / ("step " + std::to_string(step));
          const failure how = step == 2 ? failure::reported : failure::none;
          async_saves::finalizer note = [&log, path, step](const save_report&) {
            if (std::filesystem::exists(path)) log.push_back(step);
            return result<void>();
          };
          if (step == 3 && self.rank() == 1)
            note = [](const save_report&) -> result<void> { throw std::runtime_error("no note"); };
          if (step == 4 && self.rank() == 0) note = {};
          ZARRPOINT_CHECK(queue.schedule(path, mine.tree, {.sharded = failing_saver{how}}, note));
        }
        const auto done = queue.finalize();
        if (done || queue.unfinalized() != 0) return error{errc::corrupt, "step 2 fails"};
        // Of one rank alone.
        ZARRPOINT_CHECK(queue.schedule(folder / "last", mine.tree, {},
                                       [&](const save_report& report) -> result<void> {
                                         if (self.rank() == 0 && report.seconds > 0)
                                           return error{errc::io, "cannot note it"};
                                         return {};
                                       }));
        const auto last = queue.finalize();
        if (last.has_value() == (self.rank() == 0)) return error{errc::corrupt, "rank 0 fails"};
        return {};
      });
  for (const auto& one : outcomes) CHECK(one);
  CHECK(called[0] == std::vector<int>{1, 3});
  CHECK(called[1] == std::vector<int>{1, 4});
  CHECK(std::filesystem::exists(folder / "step 3"));
  CHECK(std::filesystem::exists(folder / "last"));
}

TEST_CASE("async_saves: several are finalized in order, and a failed one does not stop the later") {
  const test::temp_directory folder;
  const auto outcomes =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        async_saves queue(group_of(self, default_context().executor));
        ZARRPOINT_TRY(mine, model::make(self.rank(), 1));
        for (int step = 1; step <= 4; ++step) {
          ZARRPOINT_CHECK(mine.at(self.rank(), step));
          const failure how = step == 3 ? failure::reported : failure::none;
          ZARRPOINT_CHECK(
              queue.schedule(folder / "model.zarr", mine.tree, {.sharded = failing_saver{how}}));
          ZARRPOINT_CHECK(queue.schedule(folder / ("step " + std::to_string(step)), mine.tree,
                                         {.sharded = failing_saver{how}}));
        }
        if (queue.unfinalized() != 8) return error{errc::corrupt, "8 saves were scheduled"};
        ZARRPOINT_CHECK(queue.finalize());
        return {};
      });
  const std::string text = text_of(outcomes);
  CAPTURE(text);
  CHECK(text.find("Worker failure") != text.npos);
  CHECK(step_in(folder / "model.zarr") == "4");
  CHECK(names_in(folder.path()) ==
        std::vector<std::string>{"model.zarr", "step 1", "step 2", "step 4"});
  for (const char* step : {"1", "2", "4"})
    CHECK(step_in(folder / (std::string("step ") + step)) == step);
}

TEST_CASE("async_saves: what is not complete everywhere is not finalized without waiting") {
  const test::temp_directory folder;
  const auto outcomes =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        const zarrpoint::testing::manual_executor mine;
        any_executor executor = inline_executor{};
        if (self.rank() == 1) executor = mine;
        async_saves queue(group_of(self, executor));
        for (int step = 1; step <= 2; ++step) {
          ZARRPOINT_TRY(values, model::make(self.rank(), step));
          ZARRPOINT_CHECK(queue.schedule(folder / "model.zarr", values.tree));
        }
        ZARRPOINT_TRY(none, queue.finalize(false));
        if (!none.empty() || queue.unfinalized() != 2) return error{errc::corrupt, "too early"};
        if (self.rank() == 0 && fs::exists(folder / "model.zarr"))
          return error{errc::corrupt, "published too early"};
        mine.run_all();
        ZARRPOINT_TRY(both, queue.finalize(false));
        if (both.size() != 2 || queue.unfinalized() != 0) return error{errc::corrupt, "not all"};
        ZARRPOINT_TRY(nothing, queue.finalize());
        if (!nothing.empty()) return error{errc::corrupt, "more than there was"};
        return {};
      });
  CHECK(text_of(outcomes) == "done");
  CHECK(step_in(folder / "model.zarr") == "2");
}

TEST_CASE("async_saves: ranks that finalize different saves are told") {
  const test::temp_directory folder;
  const auto outcomes =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        ZARRPOINT_TRY(mine, model::make(self.rank(), 1));
        async_saves queue(group_of(self));
        async_saves other(group_of(self));
        ZARRPOINT_CHECK(queue.schedule(folder / "model.zarr", mine.tree));
        ZARRPOINT_CHECK((self.rank() == 2 ? other : queue).finalize());
        return {};
      });
  for (const result<void>& one : outcomes) {
    REQUIRE_FALSE(one);
    CHECK(one.failure().code == errc::invalid_argument);
    CHECK(one.failure().message.find("Unmatched async calls") != std::string::npos);
  }
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("async_saves: a rank that has left is named, and nothing is published") {
  const test::temp_directory folder;
  const auto outcomes =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        ZARRPOINT_TRY(mine, model::make(self.rank(), 1));
        async_saves queue(group_of(self));
        ZARRPOINT_CHECK(queue.schedule(folder / "model.zarr", mine.tree));
        if (self.rank() == 2) return {};
        ZARRPOINT_CHECK(queue.finalize());
        return {};
      });
  CHECK(outcomes[2]);
  for (const int rank : {0, 1}) {
    const result<void>& one = outcomes[static_cast<std::size_t>(rank)];
    REQUIRE_FALSE(one);
    CHECK(one.failure().code == errc::unavailable);
    CHECK(one.failure().message.find("rank 2 is gone") != std::string::npos);
  }
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("ASY-4: a queue that is destroyed, also after its group, publishes nothing") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  REQUIRE(save_now(path, 1) == "done");
  std::vector<std::unique_ptr<async_saves>> queues(ranks);
  const auto outcomes =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
        ZARRPOINT_TRY(mine, model::make(self.rank(), 2));
        auto queue =
            std::make_unique<async_saves>(group_of(self, zarrpoint::testing::dropping_executor{}));
        ZARRPOINT_CHECK(queue->schedule(path, mine.tree));
        ZARRPOINT_CHECK(queue->schedule(folder / "new.zarr", mine.tree));
        queues[static_cast<std::size_t>(self.rank())] = std::move(queue);
        return {};
      });
  CHECK(text_of(outcomes) == "done");
  CHECK(names_in(folder.path()).size() == 3);  // the checkpoint and two staged trees
  // The last is rank 0, which has the staged trees: they are gone with it.
  while (!queues.empty()) queues.pop_back();
  CHECK(names_in(folder.path()) == std::vector<std::string>{"model.zarr"});
  CHECK(step_in(path) == "1");
}

namespace {

/// The commit document of a checkpoint.
detail::commit_document committed(const std::string& path) {
  const std::string text = test::read_file(fs::path(path) / "zarr.json");
  const json root = parse_json(as_bytes(text)).value();
  const json* const attributes = root.find("attributes");
  REQUIRE(attributes != nullptr);
  const json* const member = attributes->find(detail::commit_document::member_name);
  REQUIRE(member != nullptr);
  return detail::parse_commit_document(*member).value();
}

/// Every stored object, by its path below the checkpoint.
std::map<std::string, object_digest> objects_of(const std::string& path) {
  std::map<std::string, object_digest> out;
  for (const leaf_record& leaf : committed(path).leaves)
    for (const auto& [key, digest] : leaf.objects.objects()) out[leaf.name + "/" + key] = digest;
  return out;
}

/// What each rank has to say that loads rows of `w`, all of "flat", and the object of its own.
std::string load_by_three(const std::string& path, bool once) {
  return text_of(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    shard_metadata rows{.key = "w", .type = dtype_kind::float32, .local_shape = {10}};
    rows.global_shape = {30};
    rows.global_offset = {10 * self.rank()};
    ZARRPOINT_TRY(
        flat, from_rank_offsets("flat", {dtype_kind::float64, {2, 3}}, {.replica = self.rank()}));
    ZARRPOINT_TRY(object, sharded_object::request({"object", dims{ranks}, dims{self.rank()}}));
    const state request{
        {"w", sharded_tensor(rows)}, {"flat", sharded_tensor(flat)}, {"object", object}};
    ZARRPOINT_CHECK(load(path, request, group_of(self), {.read_once = once}));
    return {};
  }));
}

}  // namespace

TEST_CASE("INT-1: the commit document has size and crc32c of every object that any rank wrote") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  REQUIRE(save_now(path, 1) == "done");
  auto files = files_in(path);
  std::erase_if(files, [](const auto& file) { return file.first.ends_with("zarr.json"); });
  const auto objects = objects_of(path);
  CHECK(objects.size() >= 3 + 1 + 3 + 1);
  CHECK(objects.size() == files.size());
  for (const auto& [key, digest] : objects) {
    CAPTURE(key);
    REQUIRE(files.contains(key));
    CHECK(digest.size == files[key].size());
    REQUIRE_FALSE(digest.crc32c.empty());
    for (const auto& crc : digest.crc32c) CHECK(crc.has_value());
  }
  CHECK(load_by_three(path, false) == "done");
  CHECK(load_by_three(path, true) == "done");
}

TEST_CASE(
    "INT-2: a flipped bit in any object is found on load, on all ranks, naming those that read "
    "it") {
  const test::temp_directory folder;
  const std::string path = folder / "model.zarr";
  REQUIRE(save_now(path, 1) == "done");
  for (const auto& [key, digest] : objects_of(path)) {
    CAPTURE(key);
    const std::string good = test::read_file(fs::path(path) / key);
    for (const std::size_t at : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
      CAPTURE(at);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 4);
      test::write_file(fs::path(path) / key, bad);
      const std::string text = load_by_three(path, false);
      CAPTURE(text);
      CHECK(text.starts_with("corrupt: "));
      if (key.starts_with("w/"))  // one object is read by one rank
        CHECK(text.find("rank " + key.substr(key.size() - 1) + ": ") != text.npos);
      if (key.starts_with("flat/")) CHECK(text.find("ranks 0-2: ") != text.npos);
      CHECK(load_by_three(path, true).starts_with("corrupt: "));
    }
    test::write_file(fs::path(path) / key, good.substr(0, good.size() - 1));
    CHECK(load_by_three(path, false).starts_with("corrupt: "));
    fs::remove(fs::path(path) / key);
    CHECK(load_by_three(path, false) != "done");
    test::write_file(fs::path(path) / key, good);
  }
  CHECK(load_by_three(path, false) == "done");
}

}  // namespace async_saves_test
