// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/hooked_publisher.hpp"
#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace group_save_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr std::uint64_t seed = 21;

shard_metadata row(std::string key, int rank, int ranks, dtype type = dtype_kind::float32) {
  return from_rank_offsets(std::move(key), {type, {2, 3}}, {.offsets = {{0, rank, ranks}}}).value();
}

sharded_object object_on(std::string key, int rank, int ranks) {
  return sharded_object::make(std::move(key), json_text{"of rank " + std::to_string(rank)},
                              {{ranks}, {rank}, {}})
      .value();
}

/// A small state; `version` tells one save of it from the next.
state small_state(int rank, int ranks, std::uint64_t version = seed) {
  return state{{"w", with_values(row("layer/w", rank, ranks), version)},
               {"b", with_values(row("layer/b", rank, ranks, dtype_kind::float64), version)},
               {"rng", object_on("rng", rank, ranks)},
               {"step", static_cast<std::int64_t>(version)}};
}

std::string load_small(int ranks, const location& where, std::uint64_t version = seed) {
  return load_by(
      ranks, where,
      [&](int rank) {
        return state{{"w", sharded_tensor(row("layer/w", rank, ranks))},
                     {"b", sharded_tensor(row("layer/b", rank, ranks, dtype_kind::float64))},
                     {"rng", object_on("rng", rank, ranks).without_data()}};
      },
      [&](int rank, const group_load_report& report) {
        std::string wrong = wrong_in(*report.loaded.find("w")->if_tensor(), version) +
                            wrong_in(*report.loaded.find("b")->if_tensor(), version);
        if (!(*report.loaded.find("rng")->if_object() == object_on("rng", rank, ranks)))
          wrong += "object";
        if (report.loaded.get<std::uint64_t>("step").value_or(0) != version) wrong += "step";
        return wrong;
      });
}

/// What all ranks say of a save that must fail, to a store that must stay empty of checkpoints.
template <class F>
std::string refused(int ranks, const F& state_of, const group_save_options& options = {}) {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  std::string said = save_by(ranks, path, state_of, options);
  CHECK(std::filesystem::is_empty(folder.path()));
  for (std::size_t at = said.find(path); at != said.npos; at = said.find(path))
    said.replace(at, path.size(), "ckpt");
  return said;
}

/// Fails at the `left`-th operation that changes something.
struct failing_store {
  any_store under;
  std::shared_ptr<std::atomic<int>> left;
  bool throws = false;

  result<void> count(const store_key& key) const {
    if (--*left >= 0) return {};
#if ZARRPOINT_EXCEPTIONS
    if (throws) throw std::runtime_error("thrown by the store");
#endif
    return error{errc::io, "write " + std::string(key.str()) + ": the disk is on fire"};
  }
  result<std::unique_ptr<blob>> open(const store_key& key) const { return under.open(key); }
  std::string describe(const store_key& key) const { return under.describe(key); }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    ZARRPOINT_CHECK(count(key));
    return under.create(key);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    ZARRPOINT_CHECK(count(key));
    return under.put(key, bytes);
  }
  result<bool> erase(const store_key& key) const { return under.erase(key); }
};

/// Ours, to a store that fails.
struct failing_saver : zarr_saver {
  std::shared_ptr<std::atomic<int>> left = std::make_shared<std::atomic<int>>(INT_MAX);
  bool throws = false;

  save_job broken(save_job job) const {
    job.store = failing_store{job.store, left, throws};
    return job;
  }
  result<message> write(const save_job& job, const shard_writes& mine) const {
    return zarr_saver::write(broken(job), mine);
  }
  result<void> finish(const save_job& job, const save_receipts& all) const {
    return zarr_saver::finish(broken(job), all);
  }
};

/// The path of each file with what it holds, but for the checkpoint's random number.
std::map<std::string, std::string> files_of(const std::filesystem::path& root) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::string text = test::read_file(entry.path());
    // And what is computed over that.
    for (const char* member : {"\"id\":\"", "\",\"crc32c\":\""}) {
      const std::size_t at = text.find(member);
      if (at == text.npos) continue;
      const std::size_t from = at + std::char_traits<char>::length(member);
      text.erase(from, text.find('"', from) - from);
    }
    out[entry.path().lexically_relative(root)] = std::move(text);
  }
  return out;
}

}  // namespace

TEST_CASE("save: each process writes its cells, and the report says how much") {
  const memory_store store;
  const auto reports = thread_world::run(4, [&](const thread_communicator& self) {
    return save(store, small_state(self.rank(), 4), group_of(self));
  });
  for (const auto& one : reports) {
    REQUIRE(one);
    CHECK(one->cells == 2);
    CHECK(one->bytes == 6 * 4 + 6 * 8);
    CHECK(one->warnings.empty());
    CHECK(one->blocked_seconds == one->seconds);
  }
  CHECK(load_small(4, store) == "done");
}

TEST_CASE("save: a process alone needs no communicator") {
  const test::temp_directory folder;
  const location where = folder / "ckpt";
  REQUIRE(save(where, small_state(0, 1), process_group{}));
  CHECK(load_small(1, where) == "done");
  // And a zip file, which several processes cannot write.
  const location zip = folder / "ckpt.zip";
  REQUIRE(save(zip, small_state(0, 1), process_group{}));
  CHECK(load_small(1, zip) == "done");
  const std::string said =
      save_by(2, folder / "two.zip", [](int rank) { return small_state(rank, 2); });
  CHECK(said == "unsupported: save " + folder / "two.zip" +
                    ": several processes can save to a directory only");
}

TEST_CASE("NP-1: two saves of one state are the same, byte for byte, but for their numbers") {
  const test::temp_directory folder;
  for (const char* name : {"one", "two"})
    CHECK(save_by(4, folder / name, [](int rank) { return small_state(rank, 4); }) == "done");
  const auto one = files_of(folder / "one");
  CHECK(one.size() > 12);
  CHECK(one == files_of(folder / "two"));
  CHECK(test::read_file(folder / "one/zarr.json") != test::read_file(folder / "two/zarr.json"));
}

TEST_CASE("save: shards that do not fit are refused on all ranks, and nothing is written") {
  const auto with = [](int rank, const sharded_tensor& other) {
    return rank == 2 ? state{{"w", other}} : state{{"w", with_values(row("w", rank, 4), seed)}};
  };
  const auto said_of = [&](const shard_metadata& of) {
    const sharded_tensor other = with_values(of, seed);
    return refused(4, [&](int rank) { return with(rank, other); });
  };
  const auto names = [](const std::string& said, const char* text) {
    CAPTURE(said);
    CHECK(said.find(text) != said.npos);
    CHECK(said.find("rank 0: ") == said.npos);  // one text for all
    CHECK(said.starts_with("invalid_argument: "));
  };
  SUBCASE("another dtype") { names(said_of(row("w", 2, 4, dtype_kind::float16)), "float16"); }
  SUBCASE("another global shape") { names(said_of(row("w", 2, 5)), "[10, 3]"); }
  SUBCASE("overlap and hole") { names(said_of(row("w", 1, 4)), "\"w\""); }
  SUBCASE("hole") {
    names(refused(4,
                  [&](int rank) {
                    return rank == 3 ? state() : state{{"w", with_values(row("w", rank, 4), seed)}};
                  }),
          "\"w\"");
  }
  SUBCASE("nobody has the main replica") {
    names(refused(2,
                  [&](int rank) {
                    shard_metadata copy = row("w", 0, 1);
                    copy.replica = 1 + rank;
                    return state{{"w", with_values(copy, seed)}};
                  }),
          "\"w\"");
  }
  SUBCASE("not validated: the planner refuses it nonetheless") {
    const sharded_tensor other = with_values(row("w", 1, 4), seed);
    const std::string said = refused(
        4, [&](int rank) { return with(rank, other); },
        [] {
          group_save_options how;
          how.validate = false;
          return how;
        }());
    names(said, "processes 1 and 2 would write");
  }
  SUBCASE("an object twice") {
    names(refused(2, [](int) { return state{{"o", object_on("o", 0, 1)}}; }), "\"o\"");
  }
  SUBCASE("an object is missing") {
    names(refused(2, [](int) { return state{{"o", object_on("o", 0, 3)}}; }), "\"o\"");
  }
  SUBCASE("one key for a tensor and an object") {
    names(refused(
              1,
              [](int) {
                return state{{"t", with_values(row("k", 0, 1), seed)}, {"o", object_on("k", 0, 1)}};
              }),
          "k");
  }
  SUBCASE("a key within another") {
    names(refused(1,
                  [](int) {
                    return state{{"t", with_values(row("a", 0, 1), seed)},
                                 {"u", with_values(row("a/b", 0, 1), seed)}};
                  }),
          "a");
  }
  SUBCASE("the name of the common state") {
    names(refused(1,
                  [](int) {
                    return state{{"t", with_values(row("common_state", 0, 1), seed)}};
                  }),
          "common_state");
  }
  SUBCASE("a value is missing") {
    names(refused(3,
                  [](int rank) {
                    const sharded_tensor one = with_values(row("w", rank, 3), seed);
                    return state{{"w", rank == 1 ? one.without_data() : one}};
                  }),
          "rank 1: shard of \"w\": it has no value to save");
    names(refused(2,
                  [](int rank) {
                    const sharded_object one = object_on("o", rank, 2);
                    return state{{"o", rank == 1 ? one.without_data() : one}};
                  }),
          "rank 1: object \"o\": it has no value to save");
  }
  SUBCASE("content metadata of a state that is not a map") {
    group_save_options how;
    how.content_metadata = json::object{{"a", 1}};
    names(refused(
              2, [](int) { return state(state::list{1}); }, how),
          "content_metadata can be saved only if the state is a map");
    names(refused(
              2,
              [](int) {
                return state{{"content_metadata", 1}};
              },
              how),
          "content_metadata");
  }
}

TEST_CASE("save: an error of a tensor's layout names the tensor") {
  const memory_store store;
  const auto with = [&](const leaf_rule& rule) {
    return save_by(2, store, [](int rank) { return small_state(rank, 2); },
                   {.storage = {.rules = {rule}}});
  };
  const std::string chunks = with({.glob = "layer/w", .chunk_shape = dims{2, 2}});
  CAPTURE(chunks);
  CHECK(chunks.starts_with("invalid_argument: "));
  CHECK(chunks.find("save \"layer/w\": ") != chunks.npos);
  const std::string cast = with({.glob = "layer/b", .cast = dtype(dtype_kind::string)});
  CAPTURE(cast);
  CHECK(cast.starts_with("unsupported: "));
  CHECK(cast.find("save \"layer/b\": ") != cast.npos);
  // Shards are what processes hold.
  const std::string shards = with({.glob = "layer/w", .shard_shape = dims{4, 3}});
  CAPTURE(shards);
  CHECK(shards.find("save \"layer/w\": a rule asks for shards of shape [4, 3], but") !=
        shards.npos);
  CHECK(with({.glob = "layer/w", .shard_shape = dims{2, 3}}) == "done");
  // A grid of objects is an array, too.
  const std::string grid = save_by(2, store,
                                   [](int rank) {
                                     return state{{"rng", object_on("rng", rank, 2)}};
                                   },
                                   {.storage = {.zarr_format = 2}});
  CAPTURE(grid);
  CHECK(grid.starts_with("invalid_argument: "));
  CHECK(grid.find("save object \"rng\": ") != grid.npos);
}

struct saver_by_another_name : zarr_saver {
  static constexpr std::string_view name = "other_saver";
  static constexpr std::string_view backend = "other";
};
struct saver_of_another_layout : saver_by_another_name {
  static constexpr bool stores_zarr = false;
};

TEST_CASE("save: data types that hide tensors from zarr-python are warnings on all ranks") {
  const auto warned = [](const save_options& storage, std::optional<strategy_choice> saver = {}) {
    const memory_store store;
    const auto reports = thread_world::run(2, [&](const thread_communicator& self) {
      const int rank = self.rank();
      const state all{{"h", with_values(row("h", rank, 2, dtype_kind::bfloat16), seed)},
                      {"w", with_values(row("w", rank, 2), seed)},
                      {"v", with_values(row("v", rank, 2), seed)},
                      {"rng", object_on("rng", rank, 2)}};
      group_save_options options{.storage = storage};
      if (saver) options.sharded = *saver;
      return save(store, all, group_of(self), options);
    });
    for (const auto& one : reports) REQUIRE(one);
    CHECK(reports[0]->warnings == reports[1]->warnings);
    return reports[0]->warnings;
  };
  // Grids of objects are byte strings, which zarr-python knows.
  CHECK(warned({}) == std::vector<std::string>{
                          "bfloat16: zarr-python cannot open \"h\", and cannot list the groups "
                          "that hold it; it can open the other leaves by name"});
  CHECK(warned({.rules = {{.glob = "h", .cast = dtype(dtype_kind::float32)}}}).empty());
  const dtype half = dtype_kind::bfloat16;
  CHECK(warned({.rules = {{.glob = "w", .cast = half}, {.glob = "v", .cast = half}}}) ==
        std::vector<std::string>{"bfloat16: zarr-python cannot open 3 leaves, such as \"h\", and "
                                 "cannot list the groups that hold them; it can open the other "
                                 "leaves by name"});
  CHECK(warned({}, strategy_choice(saver_by_another_name{})) == warned({}));
  CHECK(warned({}, strategy_choice(saver_of_another_layout{})).empty());
}

/// Of a process that has another version: its messages about "probe" say so.
struct other_version {
  thread_communicator of;
  int sender = 0;

  int rank() const { return of.rank(); }
  int size() const { return of.size(); }
  result<std::vector<message>> exchange(std::vector<message> messages) const {
    const std::string_view begin("\x02\x01\x05probe");  // version, how many, the first key
    for (message& one : messages) {
      const std::size_t at = as_text(one).find(begin);
      if (rank() == sender && at != std::string_view::npos) one[at] = std::byte{3};
    }
    return of.exchange(std::move(messages));
  }
};

TEST_CASE("save: a process of another version is named, and nothing is written") {
  for (const int sender : {0, 1}) {
    CAPTURE(sender);
    const test::temp_directory folder;
    const std::string said =
        outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
          const state all{{"probe", with_values(row("probe", self.rank(), 2), seed)}};
          return save(folder / "c", all, group_of(other_version{self, sender}))
              .transform([](const auto&) {});
        }));
    CAPTURE(said);
    CHECK(said.find("unsupported: ") != said.npos);
    const std::string process = "process " + std::to_string(sender) + ": version 3 is not known";
    CHECK(said.find(process) != said.npos);
    CHECK_FALSE(std::filesystem::exists(folder / "c"));
  }
}

TEST_CASE("save: keys are names, whatever is in them; those that leave the tree are refused") {
  const std::vector<std::string> good{"unicode \xc3\xa4 \xe6\x97\xa5",
                                      "deep/er/than/that",
                                      std::string(250, 'k'),
                                      "with space",
                                      "UPPER",
                                      "upper"};
  const test::temp_directory folder;
  const auto tree = [&](int rank, bool values) {
    state::list out;
    for (const std::string& key : good)
      out.emplace_back(values ? with_values(row(key, rank, 2), seed)
                              : sharded_tensor(row(key, rank, 2)));
    return state{{"l", std::move(out)}};
  };
  CHECK(save_by(2, folder / "ckpt", [&](int rank) { return tree(rank, true); }) == "done");
  CHECK(load_by(
            2, folder / "ckpt", [&](int rank) { return tree(rank, false); },
            [&](int, const group_load_report& report) {
              std::string wrong;
              for (const state& one : *report.loaded.find("l")->if_list())
                wrong += wrong_in(*one.if_tensor(), seed);
              return wrong;
            }) == "done");
  for (const char* bad :
       {"..", "../up", "a/../b", "/root", "a//b", ".", "a/zarr.json", "zarr.json", "a\n", "__x"}) {
    CAPTURE(bad);
    const std::string said = refused(2, [&](int rank) {
      return state{{"w", with_values(row(bad, rank, 2), seed)}};
    });
    CAPTURE(said);
    CHECK(said.starts_with("invalid_argument: "));
    CHECK(said.find("rank 0: ") == said.npos);
  }
}

TEST_CASE("save: what is not a checkpoint of ours is never touched") {
  const test::temp_directory folder;
  std::filesystem::create_directory(folder / "home");
  test::write_file(folder / "home/thesis.txt", "years of work");
  const std::string said =
      save_by(3, folder / "home", [](int rank) { return small_state(rank, 3); });
  CAPTURE(said);
  CHECK(said.starts_with("already_exists: "));
  CHECK(test::read_file(folder / "home/thesis.txt") == "years of work");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  group_save_options keep;
  keep.storage.overwrite = false;
  CHECK(save_by(
            3, folder / "ckpt", [](int rank) { return small_state(rank, 3); }, keep) == "done");
  const std::string again = save_by(
      3, folder / "ckpt", [](int rank) { return small_state(rank, 3, 22); }, keep);
  CHECK(again.starts_with("already_exists: "));
  CHECK(load_small(3, folder / "ckpt") == "done");
}

TEST_CASE("save: a write that fails on one rank fails all, and the old checkpoint stays whole") {
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  CHECK(save_by(3, path, [](int rank) { return small_state(rank, 3); }) == "done");
  const auto before = files_of(path);
  for (const bool throws : {false, true}) {
#if !ZARRPOINT_EXCEPTIONS
    if (throws) continue;
#endif
    for (int culprit = 0; culprit < 3; ++culprit) {
      int failures = 0;
      for (int n = 0;; ++n) {
        CAPTURE(culprit);
        CAPTURE(n);
        const std::string said = outcome(thread_world::run(3, [&](const thread_communicator& self) {
          failing_saver saver;
          if (self.rank() == culprit) *saver.left = n;
          saver.throws = throws;
          group_save_options how;
          how.sharded = saver;
          return save(path, small_state(self.rank(), 3, 23), group_of(self), how);
        }));
        if (said == "done") break;
        CAPTURE(said);
        ++failures;
        REQUIRE(n < 100);
        CHECK(said.find("rank 0: ") == (culprit == 0 ? said.find("rank 0: ") : said.npos));
        CHECK(said.find(throws ? "thrown by the store" : "the disk is on fire") != said.npos);
        if (!throws) CHECK(said.starts_with("io: "));
        CHECK(files_of(path) == before);
        CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
      }
      // A document of an array at least, a cell of each of the two, and an object.
      CHECK(failures >= (culprit == 0 ? 4 : 3));
      CHECK(load_small(3, path, 23) == "done");
      CHECK(save_by(3, path, [](int rank) { return small_state(rank, 3); }) == "done");
    }
  }
}

TEST_CASE("FP-1, FP-6, FP-8: fully parallel, the holders of copies share the work") {
  // float32 tensors by key: how many elements, and whether all have them or the rank of one has.
  const auto bytes_written = [](int ranks, const auto& state_of) {
    const memory_store store;
    group_save_options how;
    how.fully_parallel = true;
    const auto reports = thread_world::run(ranks, [&](const thread_communicator& self) {
      return save(store, state_of(self.rank()), group_of(self), how);
    });
    std::vector<std::uint64_t> out;
    for (const auto& one : reports) out.push_back(one.value().bytes);
    return out;
  };
  const auto copy = [](std::string key, index_t size, int replica) {
    return with_values(
        from_rank_offsets(std::move(key), {dtype_kind::float32, {size}}, {.replica = replica})
            .value(),
        seed);
  };
  const auto half = [](std::string key, int rank) {
    return with_values(from_rank_offsets(std::move(key), {dtype_kind::float32, {10}},
                                         {.offsets = {{0, rank % 2, 2}}, .replica = rank / 2})
                           .value(),
                       seed);
  };
  // keyB by all; the halves of TP_repl1 by 0 and 1, of TP_repl2 by 2 and 3; keyD, keyC, keyE.
  CHECK(bytes_written(8, [&](int rank) {
          const auto b =
              from_rank_offsets("keyB", {dtype_kind::float32, {20}}, {.offsets = {{0, rank, 8}}})
                  .value();
          return state{{"1", half("TP_repl1", rank)},   {"2", half("TP_repl2", rank)},
                       {"b", with_values(b, seed)},     {"c", copy("keyC", 100, rank)},
                       {"d", copy("keyD", 1000, rank)}, {"e", copy("keyE", 100, rank)}};
        }) == std::vector<std::uint64_t>{120, 120, 120, 120, 4080, 480, 480, 80});
  // a and b are on one rank each, c on all: the third writes it.
  CHECK(bytes_written(8, [&](int rank) {
          state out{{"c", copy("c", 10, rank)}};
          if (rank == 0) out.if_map()->emplace("a", copy("a", 10, 0));
          if (rank == 1) out.if_map()->emplace("b", copy("b", 10, 0));
          return out;
        }) == std::vector<std::uint64_t>{40, 40, 40, 0, 0, 0, 0, 0});
  CHECK(bytes_written(4, [&](int rank) {
          return rank == 2 ? state{{"a", copy("a", 10, 0)}} : state();
        }) == std::vector<std::uint64_t>{0, 0, 40, 0});
}

TEST_CASE("group_save: what others write during a save is kept, or named in a warning") {
  const test::temp_directory folder;
  const std::string deep = [] {
    std::string out = "c/";
    for (int i = 0; i < 140; ++i) out += "d/";
    return out;
  }();
  const auto saved = [&](test::publication_hooks hooks) {
    const location where(
        test::hooked_publisher{file_store::open(folder / "").value(), std::move(hooks)},
        store_key::parse("c").value());
    return thread_world::run(1, [&](const thread_communicator& self) {
      return save(where, small_state(0, 1), group_of(self));
    });
  };
  const auto write = [&](const std::string& name) {
    return [&folder, name] {
      std::filesystem::create_directories(std::filesystem::path(folder / name).parent_path());
      test::write_file(folder / name, name);
    };
  };
  const auto first = saved({.after_stage = write("c/early")});
  REQUIRE(outcome(first) == "done");
  CHECK(first[0]->kept == std::vector<std::string>{"early"});
  const auto second = saved({.before_commit = write("c/late")});
  REQUIRE(outcome(second) == "done");
  CHECK(second[0]->kept == std::vector<std::string>{"early", "late"});
  CHECK(second[0]->warnings.empty());
  const auto third = saved({.before_commit = write(deep + "x")});
  REQUIRE(outcome(third) == "done");
  REQUIRE(third[0]->warnings.size() == 1);
  CHECK(third[0]->warnings[0].find("the replaced directory is beside it, as .c.old.") !=
        std::string::npos);
}

}  // namespace group_save_test
