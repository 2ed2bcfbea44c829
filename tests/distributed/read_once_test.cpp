// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>
#include <zarrpoint/distributed/load/open_sharded.hpp>
#include <zarrpoint/distributed/load/read_once.hpp>
#include <zarrpoint/memory/resource.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace read_once_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr std::uint64_t seed = 4;

/// Counts the letters between ranks of which each is as long as a tensor of these tests.
struct counting_communicator {
  thread_communicator under;
  std::shared_ptr<std::atomic<int>> letters;
  std::size_t at_least;

  int rank() const { return under.rank(); }
  int size() const { return under.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    for (std::size_t r = 0; r < to_each.size(); ++r) {
      if (static_cast<int>(r) != rank() && to_each[r].size() >= at_least) ++*letters;
    }
    return under.exchange(std::move(to_each));
  }
};

/// Memory that is in use, and at most.
class counting_resource final : public memory_resource {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    void* const out = default_resource().allocate(bytes, alignment);
    const std::int64_t now = used_ += static_cast<std::int64_t>(bytes);
    std::int64_t peak = peak_;
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
    return out;
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    used_ -= static_cast<std::int64_t>(bytes);
    default_resource().deallocate(memory, bytes, alignment);
  }
  std::int64_t used() const { return used_; }
  std::int64_t peak() const { return peak_; }

 private:
  std::atomic<std::int64_t> used_{0};
  std::atomic<std::int64_t> peak_{0};
};

shard_metadata copy(std::string key, index_t size, int replica) {
  return from_rank_offsets(std::move(key), {dtype_kind::float32, {size}}, {.replica = replica})
      .value();
}

struct once_figures {
  std::string said;
  int letters = 0;
  std::vector<std::uint64_t> bytes;
};

template <class F>
once_figures load_once(int ranks, const memory_store& store, const F& request) {
  once_figures out;
  const auto letters = std::make_shared<std::atomic<int>>(0);
  const auto results =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<std::uint64_t> {
        const process_group group = group_of(counting_communicator{self, letters, 4000});
        ZARRPOINT_TRY(report, load(store, request(self.rank()), group,
                                   {.validate = false, .read_once = true}));
        std::string wrong;
        static_cast<void>(for_each_leaf(report.loaded, [&](const state& leaf) {
          if (const auto* one = leaf.if_tensor()) wrong += wrong_in(*one, seed);
        }));
        if (!wrong.empty()) return error{errc::corrupt, wrong};
        return report.bytes_read;
      });
  out.said = outcome(results);
  for (const auto& one : results) out.bytes.push_back(one.value_or(0));
  out.letters = *letters;
  return out;
}

/// What exchanges were there for: the letters of a rank at once, and those of all, by exchange.
struct relay_log {
  std::mutex mutex;
  std::size_t most_at_once = 0;
  std::map<int, int> letters_of_exchange;
};

struct noting_communicator {
  thread_communicator under;
  std::shared_ptr<relay_log> log;
  std::shared_ptr<int> exchanges = std::make_shared<int>(0);

  int rank() const { return under.rank(); }
  int size() const { return under.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    const int number = (*exchanges)++;
    std::size_t bytes = 0;
    for (std::size_t r = 0; r < to_each.size(); ++r) {
      if (static_cast<int>(r) == rank() || to_each[r].size() < 4000) continue;
      bytes += to_each[r].size();
      const std::lock_guard lock(log->mutex);
      log->most_at_once = std::max(log->most_at_once, bytes);
      ++log->letters_of_exchange[number];
    }
    return under.exchange(std::move(to_each));
  }
};

using ranks_of_keys = std::map<std::string, std::set<int>>;

/// Which ranks wrote or read the tensors, by key.
struct rank_log {
  std::mutex mutex;
  ranks_of_keys of;

  void note(std::string_view key, int rank) {
    const std::lock_guard lock(mutex);
    of[std::string(key)].insert(rank);
  }
};

/// Ours, which notes who wrote what.
struct noting_saver : zarr_saver {
  std::shared_ptr<rank_log> log;
  int rank = 0;

  result<message> write(const save_job& job, const shard_writes& mine) const {
    for (const array_writes& one : mine.arrays) {
      if (!one.cells.empty()) log->note(one.array->tensor.key, rank);
    }
    return zarr_saver::write(job, mine);
  }
};

/// Ours, which notes who read what.
struct noting_loader {
  static constexpr std::string_view name = "noting_loader";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::load_sharded;

  std::shared_ptr<rank_log> log;
  int rank = 0;

  struct reader final : sharded_reader {
    std::shared_ptr<sharded_reader> under;
    std::shared_ptr<rank_log> log;
    int rank = 0;

    std::string identity() const override { return under->identity(); }
    std::span<const stored_tensor> tensors() const override { return under->tensors(); }
    result<void> read(std::string_view key, const box& part,
                      const mutable_host_view& into) const override {
      log->note(key, rank);
      return under->read(key, part, into);
    }
  };
  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const {
    auto out = std::make_shared<reader>();
    ZARRPOINT_TRY(under, zarr_loader{}.open(job));
    out->under = std::move(under);
    out->log = log;
    out->rank = rank;
    return std::shared_ptr<sharded_reader>(std::move(out));
  }
};

}  // namespace

TEST_CASE("FP-4: only what several processes want is sent, once to each of them") {
  const memory_store store;
  CHECK(save_by(2, store, [](int rank) {
          const shard_metadata own = copy("own" + std::to_string(rank), 1000, 0);
          return state{{"a", with_values(copy("a", 1000, rank), seed)},
                       {"b", with_values(copy("b", 1000, rank), seed)},
                       {"own", with_values(own, seed)}};
        }) == "done");
  const auto ask = [](std::vector<std::string> shared, bool own) {
    return [=](int rank) {
      state::list out;
      for (const std::string& key : shared) out.emplace_back(sharded_tensor(copy(key, 1000, rank)));
      if (own) out.emplace_back(sharded_tensor(copy("own" + std::to_string(rank), 1000, 0)));
      return state{{"l", std::move(out)}};
    };
  };
  const once_figures one = load_once(2, store, ask({"a"}, false));
  CHECK(one.said == "done");
  CHECK(one.letters == 1);
  CHECK(one.bytes == std::vector<std::uint64_t>{4000, 0});
  const once_figures two = load_once(2, store, ask({"a", "b"}, false));
  CHECK(two.letters == 2);
  CHECK(two.bytes == std::vector<std::uint64_t>{4000, 4000});
  const once_figures unique = load_once(2, store, ask({"a"}, true));
  CHECK(unique.letters == 1);
  CHECK(unique.bytes == std::vector<std::uint64_t>{8000, 4000});
  CHECK(load_once(2, store, ask({}, true)).letters == 0);
  // The same twice on one rank is read once, too.
  const once_figures twice = load_once(2, store, ask({"a", "a"}, false));
  CHECK(twice.said == "done");
  CHECK(std::accumulate(twice.bytes.begin(), twice.bytes.end(), std::uint64_t{0}) == 4000);
}

TEST_CASE("FP-5: objects are read by one process and sent to all") {
  const memory_store store;
  const auto object = [](int rank, int replica) {
    return sharded_object::make("Obj_" + std::to_string(rank),
                                json_text{"[" + std::to_string(rank) + "]"}, {.replica = replica})
        .value();
  };
  CHECK(save_by(8, store, [&](int rank) {
          state::map out;
          for (int i = 0; i < 8; ++i)
            out.emplace("o" + std::to_string(i), object(i, rank == i ? 0 : 1 + rank));
          return state(std::move(out));
        }) == "done");
  CHECK(load_by(
            8, store,
            [&](int) {
              state::map out;
              for (int i = 0; i < 8; ++i)
                out.emplace("o" + std::to_string(i), object(i, 0).without_data());
              return state(std::move(out));
            },
            [&](int, const group_load_report& report) {
              std::string wrong;
              for (int i = 0; i < 8; ++i) {
                const state* one = report.loaded.find("o" + std::to_string(i));
                if (!(*one->if_object() == object(i, 0))) wrong += std::to_string(i) + " ";
              }
              return wrong;
            },
            {.validate = false, .read_once = true}) == "done");
}

TEST_CASE("FP-9: the reads are spread evenly over those who want the same") {
  const memory_store store;
  constexpr int tensors = 12;
  const auto key = [](int i) { return "t" + std::to_string(i); };
  CHECK(save_by(1, store, [&](int) {
          state::list out;
          for (int i = 0; i < tensors; ++i)
            out.emplace_back(with_values(copy(key(i), 1000 + i, 0), seed));
          return state(std::move(out));
        }) == "done");
  const once_figures all = load_once(4, store, [&](int rank) {
    state::list out;
    for (int i = 0; i < tensors; ++i)
      out.emplace_back(sharded_tensor(copy(key(i), 1000 + i, rank)));
    return state(std::move(out));
  });
  CHECK(all.said == "done");
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : all.bytes) {
    total += bytes;
    CHECK(bytes >= 12'000);
    CHECK(bytes <= 12'200);
  }
  CHECK(total == 4 * (12'000 + 66));
}

TEST_CASE("FP-9: within groups of processes, from end to end: who writes and who reads what") {
  // Two tensor parallel ranks, of which each has four data parallel ones: a group. The first of
  // those who hold a tensor has the main replica.
  const std::map<std::string, std::vector<int>> holders{
      {"a", {0}},       {"b", {0, 1, 2, 3, 4, 5, 6, 7}},
      {"c", {0, 2, 4}}, {"d", {1, 0, 7}},
      {"e", {1, 5}},    {"f", {1, 0, 5}},
      {"g", {7}}};
  std::vector<int> groups;
  const rank_mesh mesh = rank_mesh::make({{"tp", 2}, {"dp", 4}}).value();
  for (int rank = 0; rank < 8; ++rank) groups.push_back(mesh.group_of(rank, "dp"));
  const auto state_of = [&](int rank, bool with_elements) {
    state::map out;
    for (const auto& [key, ranks] : holders) {
      const auto at = std::find(ranks.begin(), ranks.end(), rank);
      if (at == ranks.end()) continue;
      const auto about = copy(key, 4, static_cast<int>(at - ranks.begin()));
      out.emplace(key, with_elements ? with_values(about, seed) : sharded_tensor(about));
    }
    return state(std::move(out));
  };
  const memory_store store;
  const auto written = std::make_shared<rank_log>();
  CHECK(outcome(thread_world::run(8, [&](const thread_communicator& self) {
          noting_saver saver;
          saver.log = written;
          saver.rank = self.rank();
          group_save_options how{.sharded = saver};
          how.fully_parallel = true;
          how.groups = groups;
          return save(store, state_of(self.rank(), true), group_of(self), how);
        })) == "done");
  CHECK(written->of ==
        ranks_of_keys{
            {"a", {0}}, {"b", {4}}, {"c", {2}}, {"d", {1}}, {"e", {5}}, {"f", {1}}, {"g", {7}}});
  const auto read = std::make_shared<rank_log>();
  const auto load_in = [&](const std::vector<int>& in) {
    return outcome(thread_world::run(8, [&](const thread_communicator& self) -> result<void> {
      group_load_options how;
      how.read_once = true;
      if (self.rank() == 0) how.groups = in;  // which count
      how.sharded = noting_loader{read, self.rank()};
      ZARRPOINT_TRY(report, load(store, state_of(self.rank(), false), group_of(self), how));
      std::string wrong;
      static_cast<void>(for_each_leaf(report.loaded, [&](const state& leaf) {
        if (const auto* one = leaf.if_tensor()) wrong += wrong_in(*one, seed);
      }));
      if (wrong.empty()) return {};
      return error{errc::corrupt, wrong};
    }));
  };
  CHECK(load_in(groups) == "done");
  // As they were written, and what a group wants of the other one's: d and f by 0, b by 3.
  CHECK(read->of == ranks_of_keys{{"a", {0}},
                                  {"b", {3, 4}},
                                  {"c", {2}},
                                  {"d", {0, 1}},
                                  {"e", {5}},
                                  {"f", {0, 1}},
                                  {"g", {7}}});
  CHECK(load_in({0, 1, 0}).find(
            "groups must be given for each process: 3 were given, there are 8 processes") !=
        std::string::npos);
  for (const std::size_t count : {std::size_t{3}, std::size_t{9}}) {
    const std::vector<int> other(count, 0);
    const std::string refused = "groups must be given for each process: " + std::to_string(count) +
                                " were given, there are 8 processes";
    for (const bool used : {false, true}) {
      group_save_options to_save;
      to_save.fully_parallel = used;
      to_save.groups = other;
      CHECK(save_by(
                8, store, [&](int rank) { return state_of(rank, true); }, to_save)
                .find(refused) != std::string::npos);
      group_load_options to_load;
      to_load.read_once = used;
      to_load.groups = other;
      CHECK(load_by(
                8, store, [&](int rank) { return state_of(rank, false); },
                [](int, const group_load_report&) { return std::string(); }, to_load)
                .find(refused) != std::string::npos);
    }
  }
}

TEST_CASE("FP-3: saving and loading take the memory of a tensor or two, not of all") {
  constexpr index_t size = 1 << 16;  // 256 KiB
  constexpr int tensors = 10;
  const memory_store store;
  const auto key = [](int i) { return "t" + std::to_string(i); };
  const auto tree = [&](int rank, bool values) {
    state::list out;
    for (int i = 0; i < tensors; ++i) {
      const shard_metadata about = copy(key(i), size, rank);
      out.emplace_back(values ? with_values(about, seed) : with_room(about));
    }
    return state{{"l", std::move(out)}};
  };
  for (const bool fully_parallel : {false, true}) {
    const auto saved =
        thread_world::run(2, [&](const thread_communicator& self) -> result<std::int64_t> {
          counting_resource memory;
          const state mine = tree(self.rank(), true);
          process_group group = group_of(self);
          group.how.resource = &memory;
          group_save_options how;
          how.fully_parallel = fully_parallel;
          ZARRPOINT_CHECK(save(store, mine, group, how));
          CHECK(memory.used() == 0);
          return memory.peak();
        });
    for (const auto& peak : saved) CHECK(peak.value() <= 4 * size + 65'536);
  }
  for (const bool once : {false, true}) {
    const auto loaded =
        thread_world::run(2, [&](const thread_communicator& self) -> result<std::int64_t> {
          counting_resource memory;
          const state mine = tree(self.rank(), false);
          process_group group = group_of(self);
          group.how.resource = &memory;
          ZARRPOINT_CHECK(load(store, mine, group, {.read_once = once}));
          CHECK(memory.used() == 0);
          return memory.peak();
        });
    for (const auto& peak : loaded) CHECK(peak.value() <= 2 * 4 * size + 65'536);
  }
}

TEST_CASE(
    "read once: a large tensor is sent on by the ranks that have it, in all groups at a time") {
  constexpr int ranks = 16;
  constexpr index_t size = 1000;
  constexpr std::size_t bytes = 4 * size;
  const memory_store store;
  CHECK(save_by(1, store, [&](int) {
          return state{{"a", with_values(copy("a", size, 0), seed)},
                       {"b", with_values(copy("b", size, 0), seed)}};
        }) == "done");
  // Half of the ranks, or all, are as many as take more than three copies.
  const auto load_in = [&](const std::vector<int>& groups, std::uint64_t most_in_hand) {
    const auto log = std::make_shared<relay_log>();
    const std::string said =
        outcome(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
          limited_resource memory(3 * bytes);
          std::vector<sharded_tensor> tensors;
          std::vector<sharded_object> none;
          for (const char* key : {"a", "b"})
            tensors.push_back(with_room(copy(key, size, self.rank())));
          process_group group = group_of(noting_communicator{self, log});
          group.how.resource = &memory;
          group.how = with_scratch(group.how);
          ZARRPOINT_TRY(opened, open_sharded(store, group));
          detail::once_reader reader(group, *opened.shards,
                                     {.groups = groups, .most_in_hand = most_in_hand});
          ZARRPOINT_CHECK(reader.read(tensors, none));
          std::string wrong;
          for (const sharded_tensor& one : tensors) wrong += wrong_in(one, seed);
          if (wrong.empty()) return {};
          return error{errc::corrupt, wrong};
        }));
    CHECK(said == "done");
    return log;
  };
  using by_exchange = std::vector<int>;
  const auto letters_of = [](const relay_log& log) {
    by_exchange out;
    for (const auto& [number, letters] : log.letters_of_exchange) out.push_back(letters);
    return out;
  };
  std::vector<int> halves(ranks);
  for (int rank = 0; rank < ranks; ++rank) halves[static_cast<std::size_t>(rank)] = rank % 2;
  const auto one = load_in({}, 3 * bytes);
  CHECK(one->most_at_once < 2 * bytes);
  CHECK(letters_of(*one) == by_exchange{1, 2, 4, 8, 1, 2, 4, 8});
  const auto two = load_in(halves, 3 * bytes);
  CHECK(two->most_at_once < 2 * bytes);
  CHECK(letters_of(*two) == by_exchange{2, 4, 8, 2, 4, 8});
  // Where there is room for the copies, all are sent at once.
  CHECK(letters_of(*load_in(halves, 8 * bytes)) == by_exchange{28});
}

TEST_CASE("read once: ranks that want different parts, casts, and nothing at all") {
  const memory_store store;
  const auto part = [](int rank, int ranks, dtype type) {
    return from_rank_offsets("w", {type, {24 / ranks, 2}}, {.offsets = {{0, rank, ranks}}}).value();
  };
  CHECK(save_by(3, store, [&](int rank) {
          std::vector<float> data(16);
          std::iota(data.begin(), data.end(), static_cast<float>(16 * rank));
          return state{{"w", sharded<std::vector<float>>::make(part(rank, 3, dtype_kind::float32),
                                                               std::move(data))
                                 .value()}};
        }) == "done");
  // Two pairs of ranks want halves as float64, one rank wants nothing.
  const auto wanted = [&](int rank) {
    return sharded_tensor(part(rank % 2, 2, dtype_kind::float64));
  };
  CHECK(load_by(
            5, store,
            [&](int rank) {
              return rank == 4 ? state() : state{{"w", wanted(rank)}};
            },
            [&](int rank, const group_load_report& report) {
              if (rank == 4) return std::string();
              const tensor* found = report.loaded.find("w")->if_tensor()->get<tensor>();
              for (std::size_t i = 0; i < found->size(); ++i) {
                if (found->data<double>()[i] != static_cast<double>(i) + 24 * (rank % 2))
                  return "element " + std::to_string(i);
              }
              return std::string();
            },
            {.storage = {.cast = true}, .validate = false, .read_once = true}) == "done");
}

TEST_CASE("FP8-1: 8-bit floats and 16-bit ones, from one rank to all") {
  for (const int main : {0, 6}) {
    for (const dtype_kind kind : {dtype_kind::bfloat16, dtype_kind::float16,
                                  dtype_kind::float8_e4m3fn, dtype_kind::float8_e5m2}) {
      const auto about = [&](int rank) {
        shard_metadata out = copy("f", 300, rank == main ? 0 : 1 + rank);
        out.type = kind;
        return out;
      };
      const memory_store store;
      CHECK(save_by(8, store, [&](int rank) {
              return state{{"f", with_values(about(rank), seed)}};
            }) == "done");
      for (const bool once : {false, true})
        CHECK(load_by(
                  8, store,
                  [&](int rank) {
                    return state{{"f", with_room(about(rank))}};
                  },
                  [](int, const group_load_report& report) {
                    return wrong_in(*report.loaded.find("f")->if_tensor(), seed);
                  },
                  {.read_once = once}) == "done");
    }
  }
}

}  // namespace read_once_test
