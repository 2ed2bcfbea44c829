// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Where the parts of a save and a load of many processes meet: elements without a fixed size,
// strategies that throw, plans kept for another group.

namespace review_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

std::string word(index_t i) {
  return "a string too long to be kept in place, " + std::to_string(i);
}

/// Four strings of each of `ranks`; `flat`: as pieces of one shard.
shard_metadata part_of_words(int rank, int ranks, bool flat) {
  const index_t all = index_t{4} * ranks;
  shard_metadata out{.key = "words",
                     .type = dtype_kind::string,
                     .local_shape = {4},
                     .global_shape = {all},
                     .global_offset = {index_t{4} * rank},
                     .fragmentation = dims{ranks}};
  if (!flat) return out;
  out.local_shape = {all};
  out.global_offset = {0};
  out.fragmentation = dims{1};
  out.range = flat_range{index_t{4} * rank, index_t{4} * rank + 4};
  return out;
}

state with_words(const shard_metadata& of) {
  tensor words = tensor::make(of.data_spec()).value();
  index_t i = of.range ? of.range->start : of.global_offset[0];
  for (std::string& one : words.data<std::string>()) one = word(i++);
  return state{{"words", sharded<tensor>::make(of, std::move(words)).value()}};
}

/// The first word that is not the one of its place; beyond `stored` all are empty.
std::string wrong_word(const group_load_report& report, index_t first, index_t stored) {
  const tensor* const words = report.loaded.find("words")->if_tensor()->get<tensor>();
  for (const std::string& one : words->data<std::string>()) {
    if (one != (first < stored ? word(first) : "")) return std::to_string(first) + " is " + one;
    ++first;
  }
  return "";
}

shard_metadata half(int rank, int ranks = 2) {
  return from_rank_offsets("w", {dtype_kind::float32, {4, 3}}, {.offsets = {{0, rank, ranks}}})
      .value();
}

state with_half(int rank) { return state{{"w", with_values(half(rank), 1)}}; }

/// Says no in the loudest way.
struct throwing_saver : zarr_saver {
  static constexpr std::string_view name = "throwing_saver";

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const {
    static_cast<void>(job);
#if ZARRPOINT_EXCEPTIONS
    throw exception({errc::unsupported, "no layout for " + tensor.key});
#else
    return error{errc::unsupported, "no layout for " + tensor.key};
#endif
  }
};

}  // namespace

TEST_CASE("strings: a save in the background keeps what they were when it was scheduled") {
  const memory_store store;
  CHECK(outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
          async_saves queue(group_of(self));
          state tree = with_words(part_of_words(self.rank(), 2, false));
          ZARRPOINT_CHECK(queue.schedule(store, tree));
          for (std::string& one :
               tree.find("words")->if_tensor()->get<tensor>()->data<std::string>())
            one = "changed";
          return queue.finalize().transform([](const auto&) {});
        })) == "done");
  for (const bool once : {false, true}) {
    CHECK(load_by(
              3, store,
              [](int) {
                shard_metadata whole = part_of_words(0, 1, false);
                whole.local_shape = whole.global_shape = {8};
                return state{{"words", sharded_tensor(whole)}};
              },
              [](int, const group_load_report& report) { return wrong_word(report, 0, 8); },
              {.validate = false, .read_once = once}) == "done");
  }
}

TEST_CASE("strings: beyond a smaller stored tensor they are empty, whatever was there") {
  const memory_store store;
  CHECK(save_by(1, store, [](int) { return with_words(part_of_words(0, 1, false)); }) == "done");
  CHECK(load_by(
            3, store,
            [](int rank) {
              shard_metadata wanted = part_of_words(rank, 3, false);
              wanted.allow_shape_mismatch = true;
              return with_words(wanted);
            },
            [](int rank, const group_load_report& report) {
              return wrong_word(report, index_t{4} * rank, 4);
            }) == "done");
}

TEST_CASE("strings: flat pieces are joined on one process, and not sent to another") {
  const memory_store store;
  CHECK(save_by(1, store, [](int) { return with_words(part_of_words(0, 1, true)); }) == "done");
  const std::string refused =
      save_by(2, store, [](int rank) { return with_words(part_of_words(rank, 2, true)); });
  CHECK(refused.find("unsupported: ") == 0);
  CHECK(refused.find("rank 1: parts of \"words\", whose elements have no fixed size") !=
        std::string::npos);
}

TEST_CASE("an exception of a strategy on the rank that plans is an error on all") {
  const memory_store store;
  CHECK(save_by(3, store,
                [](int rank) {
                  return state{{"w", with_values(half(rank, 3), 1)}};
                },
                {.sharded = throwing_saver{}}) ==
        "unsupported: save " + location(store).name() + ": no layout for w");
}

TEST_CASE("a plan that was kept for another group, or another strategy, is not used") {
  const memory_store store;
  std::vector<std::shared_ptr<plan_cache>> kept;
  for (int i = 0; i < 2; ++i) kept.push_back(std::make_shared<plan_cache>());
  const auto save_with = [&](int ranks, bool validate) {
    return outcome(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
      group_save_options options{.validate = validate};
      options.storage.overwrite = true;
      options.storage.elide_fill = true;  // so that nobody counts what was written
      options.storage.plans = kept[static_cast<std::size_t>(self.rank())];
      ZARRPOINT_TRY(report, save(store, with_half(self.rank()), group_of(self), options));
      if (!report.plan_reused) return {};
      return error{errc::corrupt, "the plan of others"};
    }));
  };
  CHECK(save_with(2, true) == "done");
  CHECK(save_with(1, true).find("invalid_argument: ") == 0);  // half of the tensor is missing
  // One of the two has saved something else in between, alone.
  CHECK(save_with(1, false) == "done");
  CHECK(save_with(2, true) == "done");
  CHECK(load_by(
            2, store,
            [](int rank) {
              return state{{"w", sharded_tensor(half(rank))}};
            },
            [](int, const group_load_report& report) {
              return wrong_in(*report.loaded.find("w")->if_tensor(), 1);
            }) == "done");
}

TEST_CASE("what most processes want and is large reaches all of them in one piece") {
  const memory_store store;
  const auto large = [](int rank) {
    return shard_metadata{.key = "large",
                          .type = dtype_kind::complex128,
                          .local_shape = {index_t{15} << 16},
                          .global_shape = {index_t{15} << 16},
                          .global_offset = {0},
                          .fragmentation = dims{1},
                          .replica = rank};
  };
  CHECK(save_by(1, store, [&](int) {
          return state{{"large", with_values(large(0), 3)}, {"w", with_values(half(0, 1), 1)}};
        }) == "done");
  const tensor expected = values_of(large(0), 3);
  CHECK(load_by(
            5, store,
            [&](int rank) {
              state::map out;
              out.emplace("w", sharded_tensor(half(0, 1)));
              // One process wants it twice, one not at all.
              if (rank != 3) out.emplace("large", sharded_tensor(large(rank)));
              if (rank == 1) out.emplace("again", sharded_tensor(large(rank)));
              return state(std::move(out));
            },
            [&](int, const group_load_report& report) {
              std::string wrong = wrong_in(*report.loaded.find("w")->if_tensor(), 1);
              for (const char* name : {"large", "again"}) {
                const state* const one = report.loaded.find(name);
                if (one == nullptr) continue;
                const tensor& read = *one->if_tensor()->get<tensor>();
                if (!detail::same_bits(read.view(), expected.view()))
                  wrong += std::string(name) + " differs; ";
              }
              return wrong;
            },
            {.validate = false, .read_once = true}) == "done");
}

TEST_CASE("ranks that opened different checkpoints do not mix them") {
  const memory_store stores[2];
  for (const memory_store& store : stores) CHECK(save_by(2, store, with_half) == "done");
  const std::string refused =
      outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
        const state request{{"w", sharded_tensor(half(self.rank()))}};
        return load(stores[self.rank()], request, group_of(self)).transform([](const auto&) {});
      }));
  CHECK(refused.find("invalid_argument: rank 1: ") == 0);
  CHECK(refused.find("is not the checkpoint that rank 0 opened") != std::string::npos);
}

TEST_CASE("a rule for the chunks of tensors leaves objects alone") {
  const memory_store store;
  group_save_options options;
  options.storage.rules.push_back({.chunk_shape = dims{2, 3}});
  const auto object = [](int rank) {
    return sharded_object::make("o", json_text{std::to_string(rank)},
                                {.global_shape = {2}, .global_offset = {rank}})
        .value();
  };
  CHECK(save_by(
            2, store,
            [&](int rank) {
              return state{{"w", with_values(half(rank), 1)}, {"o", object(rank)}};
            },
            options) == "done");
  CHECK(load_by(
            2, store,
            [&](int rank) {
              return state{{"o", object(1 - rank).without_data()}};
            },
            [](int rank, const group_load_report& report) {
              const auto text = report.loaded.find("o")->if_object()->get<json_text>();
              return text && text->text == std::to_string(1 - rank) ? "" : "another object";
            }) == "done");
}

TEST_CASE("what all have in common is not saved where it could not be loaded") {
  const memory_store store;
  const std::string refused =
      outcome(thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
        process_group group = group_of(self);
        group.how.limit.metadata_bytes = 10'000;
        const state tree{{"text", std::string(20'000, 'x')}};
        return save(store, tree, group).transform([](const auto&) {});
      }));
  CHECK(refused.find("resource_limit: ") == 0);
  CHECK(refused.find("limits::metadata_bytes of 10000") != std::string::npos);
}

TEST_CASE("Zarr v2 is the business of another strategy, which the error names") {
  const memory_store store;
  group_save_options options;
  options.storage.zarr_format = 2;
  const std::string refused = save_by(2, store, with_half, options);
  CHECK(refused.find("unsupported: ") == 0);
  CHECK(refused.find("(zarr, 1)") != std::string::npos);
}

}  // namespace review_test
