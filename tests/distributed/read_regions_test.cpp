// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Loads with `read_once` of processes whose boxes differ, but meet the same stored chunks.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/distributed/load/read_once.hpp>
#include <zarrpoint/distributed/strategy/read_shard.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace read_regions_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr std::uint64_t seed = 11;

shard_metadata part(const dims& global, const box& at, dtype type = dtype_kind::float32) {
  return {.key = "w",
          .type = type,
          .local_shape = at.shape,
          .global_shape = global,
          .global_offset = at.offset};
}

/// What all ranks together read.
struct read_counts {
  std::atomic<index_t> elements{0};
  std::atomic<index_t> decoded{0};  ///< the elements of all inner chunks that they are in
};

/// Ours, which counts that.
struct counting_loader {
  static constexpr std::string_view name = "counting_loader";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 3;
  static constexpr strategy_action action = strategy_action::load_sharded;

  std::shared_ptr<read_counts> counts;

  struct reader final : sharded_reader {
    std::shared_ptr<sharded_reader> under;
    std::shared_ptr<read_counts> counts;

    std::string identity() const override { return under->identity(); }
    std::span<const stored_tensor> tensors() const override { return under->tensors(); }
    result<void> read(std::string_view key, const box& part,
                      const mutable_host_view& into) const override {
      const dims& unit = detail::unit_of(*detail::find_by_key(tensors(), key));
      index_t decoded = 1;
      for (std::size_t axis = 0; axis < part.rank(); ++axis) {
        const index_t last = part.offset[axis] + part.shape[axis] - 1;
        decoded *= (last / unit[axis] - part.offset[axis] / unit[axis] + 1) * unit[axis];
      }
      counts->elements += element_count(part.shape).value_or(0);
      counts->decoded += decoded;
      return under->read(key, part, into);
    }
  };
  result<std::shared_ptr<sharded_reader>> open(const load_job& job) const {
    auto out = std::make_shared<reader>();
    ZARRPOINT_TRY(under, zarr_loader{}.open(job));
    out->under = std::move(under);
    out->counts = counts;
    return std::shared_ptr<sharded_reader>(std::move(out));
  }
};

struct loaded_state {
  std::string said;
  std::vector<state> by_rank;
  index_t elements = 0;  ///< that were read
  index_t decoded = 0;
  std::uint64_t bytes = 0;  ///< as the reports say
};

using requests = std::vector<std::vector<shard_metadata>>;  // by rank

/// Loads what each rank asks for; with threads of their own where `pool` is set.
loaded_state load_all_of(const location& where, const requests& asked, group_load_options how,
                         bool pool = false) {
  loaded_state out;
  const auto counts = std::make_shared<read_counts>();
  how.sharded = counting_loader{counts};
  how.validate = false;
  const int ranks = static_cast<int>(asked.size());
  const auto done =
      thread_world::run(ranks, [&](const thread_communicator& self) -> result<group_load_report> {
        state::list wanted;
        for (const shard_metadata& one : asked[static_cast<std::size_t>(self.rank())])
          wanted.emplace_back(with_room(one));
        process_group group = group_of(self);
        if (pool) group.how = default_context();
        return load(where, state{{"l", std::move(wanted)}}, group, how);
      });
  out.said = outcome(done);
  for (const auto& one : done) {
    if (!one) continue;
    out.by_rank.push_back(one->loaded);
    out.bytes += one->bytes_read;
  }
  out.elements = counts->elements;
  out.decoded = counts->decoded;
  return out;
}

/// The bits of all tensors of all ranks.
std::string bits_of(const loaded_state& of) {
  std::string out;
  for (const state& one : of.by_rank) {
    static_cast<void>(for_each_leaf(one, [&](const state& leaf) {
      const tensor& found = *leaf.if_tensor()->get<tensor>();
      out.append(reinterpret_cast<const char*>(found.view().data),
                 found.size() * memory_size(found.type()));
    }));
  }
  return out;
}

std::string wrong_of(const loaded_state& of) {
  std::string wrong;
  for (const state& one : of.by_rank) {
    static_cast<void>(
        for_each_leaf(one, [&](const state& leaf) { wrong += wrong_in(*leaf.if_tensor(), seed); }));
  }
  return wrong;
}

void save_whole(const location& where, const dims& global, const dims& chunk,
                codec_list codecs = {}) {
  REQUIRE(save_by(1, where,
                  [&](int) {
                    return state{{"w", with_values(part(global, box::whole(global)), seed)}};
                  },
                  {.storage = {.rules = {{.chunk_shape = chunk, .codecs = std::move(codecs)}}}}) ==
          "done");
}

/// The boxes of ranks along an axis, cut at these places.
requests cut_along(const dims& global, std::size_t axis, const std::vector<index_t>& at) {
  requests out;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    box one = box::whole(global);
    one.offset[axis] = at[i];
    one.shape[axis] = at[i + 1] - at[i];
    out.push_back({part(global, one)});
  }
  return out;
}

}  // namespace

TEST_CASE("read once: by columns of what lies in rows: each element once") {
  const dims global{300, 24};
  for (const bool compressed : {false, true}) {
    const memory_store store;
    save_whole(store, global, {10, 24}, compressed ? zstd_codecs() : codec_list());
    for (const std::vector<index_t>& at : std::vector<std::vector<index_t>>{
             {0, 12, 24}, {0, 8, 16, 24}, {0, 1, 6, 17, 24}, {0, 6, 12, 18, 24}}) {
      const requests asked = cut_along(global, 1, at);
      const auto alone = load_all_of(store, asked, {});
      CHECK(alone.said == "done");
      for (const bool pool : {false, true}) {
        const auto once = load_all_of(store, asked, {.read_once = true}, pool);
        CHECK(once.said == "done");
        CHECK(wrong_of(once) == "");
        CHECK(bits_of(once) == bits_of(alone));
        CHECK(once.elements == 300 * 24);
        CHECK(once.bytes == 4 * 300 * 24);
      }
    }
  }
}

TEST_CASE("read once: boxes that overlap in part, in three dimensions, and in groups") {
  const dims global{12, 10, 9};
  const memory_store store;
  save_whole(store, global, {4, 5, 9});
  requests asked{{part(global, {{0, 0, 0}, {8, 10, 4}})},
                 {part(global, {{2, 0, 2}, {10, 10, 7}})},
                 {part(global, {{0, 3, 5}, {12, 7, 4}})},
                 {part(global, {{0, 0, 0}, {8, 10, 4}})}};
  // One of them a row that has lost an axis.
  shard_metadata layer = part(global, {{5, 1, 0}, {1, 8, 8}});
  layer.prepended_axes = 1;
  layer.local_shape = {8, 8};
  asked[3].push_back(layer);
  const auto once = load_all_of(store, asked, {.read_once = true});
  CHECK(once.said == "done");
  CHECK(wrong_of(once) == "");
  CHECK(once.elements <= 12 * 10 * 9);
  CHECK(once.bytes == 4 * static_cast<std::uint64_t>(once.elements));
  const auto grouped = load_all_of(store, asked, {.read_once = true, .groups = {0, 1, 0, 1}});
  CHECK(grouped.said == "done");
  CHECK(wrong_of(grouped) == "");
  CHECK(grouped.elements > once.elements);
  CHECK(grouped.elements <= 2 * 12 * 10 * 9);
}

TEST_CASE("read once: parts of shared chunks are cast, and padded") {
  const dims global{40, 12};
  const memory_store store;
  save_whole(store, global, {8, 12});
  requests asked = cut_along(global, 1, {0, 5, 12});
  for (auto& of_rank : asked) of_rank.front().type = dtype_kind::float64;
  // The same boxes in two types are two tensors, as it were.
  asked.push_back(cut_along(global, 1, {0, 7, 12})[0]);
  asked.push_back(cut_along(global, 1, {0, 7, 12})[1]);
  const group_load_options cast{.storage = {.cast = true}};
  group_load_options cast_once = cast;
  cast_once.read_once = true;
  const auto alone = load_all_of(store, asked, cast);
  const auto once = load_all_of(store, asked, cast_once);
  CHECK(alone.said == "done");
  CHECK(once.said == "done");
  CHECK(bits_of(once) == bits_of(alone));
  CHECK(once.elements == 2 * 40 * 12);
  for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
    for (const dims& wanted : {dims{50, 20}, dims{30, 20}, dims{50, 7}, dims{70, 30}}) {
      CAPTURE(to_string(wanted));
      requests other = cut_along(wanted, 1, {0, 3, wanted[1]});
      for (auto& of_rank : other) of_rank.front().allow_shape_mismatch = true;
      const auto by_each = load_all_of(store, other, {.padding = padding});
      const auto by_one = load_all_of(store, other, {.read_once = true, .padding = padding});
      CHECK(by_each.said == "done");
      CHECK(by_one.said == "done");
      CHECK(bits_of(by_one) == bits_of(by_each));
    }
  }
}

TEST_CASE("read once: random boxes of random grids are loaded as without it") {
  std::mt19937_64 random(3);
  const auto below = [&](index_t n) {
    return static_cast<index_t>(random() % static_cast<std::uint64_t>(n));
  };
  index_t saved = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const auto rank = static_cast<std::size_t>(1 + below(3));
    dims global;
    dims chunk;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      chunk.push_back(1 + below(6));
      global.push_back(chunk[axis] * (1 + below(5)));
    }
    const memory_store store;
    save_whole(store, global, chunk, below(2) == 0 ? zstd_codecs() : codec_list());
    requests asked(static_cast<std::size_t>(2 + below(3)));
    std::vector<int> groups;
    for (auto& of_rank : asked) {
      groups.push_back(static_cast<int>(below(2)));
      for (index_t n = below(3); n >= 0; --n) {
        box at = box::whole(global);
        for (std::size_t axis = 0; axis < rank; ++axis) {
          at.offset[axis] = below(global[axis]);
          at.shape[axis] = 1 + below(global[axis] - at.offset[axis]);
        }
        of_rank.push_back(part(global, at));
        if (below(6) == 0)
          of_rank.back().range = flat_range{0, element_count(at.shape).value() / 2};
      }
    }
    group_load_options how{.read_once = true};
    if (below(2) == 0) how.groups = groups;
    const auto alone = load_all_of(store, asked, {});
    const auto once = load_all_of(store, asked, how, below(2) == 0);
    REQUIRE(once.said == "done");
    CHECK(wrong_of(once) == "");
    CHECK(bits_of(once) == bits_of(alone));
    CHECK(once.decoded <= alone.decoded);
    saved += alone.decoded - once.decoded;
  }
  CHECK(saved > 5'000);
}

TEST_CASE("read once: a chunk that several share is damaged: all ranks say which") {
  const dims global{64, 16};
  const test::temp_directory folder;
  const std::string path = folder / "ckpt";
  save_whole(path, global, {8, 16});
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.path().string().find("/w/c/") != std::string::npos && entry.is_regular_file())
      file = entry.path();
  }
  std::string bytes = test::read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  test::write_file(file, bytes);
  const requests asked = cut_along(global, 1, {0, 5, 10, 16});
  const std::string said = load_all_of(path, asked, {.read_once = true}).said;
  CAPTURE(said);
  // One text for all, of the one rank that read it.
  CHECK(said.starts_with("corrupt: rank "));
  CHECK(said.find("load \"w\"") != said.npos);
  CHECK(said.find("chunk c/") != said.npos);
  CHECK(said.find("; rank ") == said.npos);
}

namespace {

/// Takes bytes out of long letters, or puts more into them.
struct damaging_communicator {
  thread_communicator under;
  bool longer = false;

  int rank() const { return under.rank(); }
  int size() const { return under.size(); }
  result<std::vector<message>> exchange(std::vector<message> to_each) const {
    for (message& letter : to_each) {
      if (letter.size() < 4000) continue;
      // What marks the collective is at the end.
      if (longer) letter.insert(letter.begin(), 3, std::byte{1});
      if (!longer) letter.erase(letter.begin(), letter.begin() + 3);
    }
    return under.exchange(std::move(to_each));
  }
};

}  // namespace

TEST_CASE("read once: letters of another length than they should have are told") {
  const dims global{2048, 64};  // 512 KiB
  const memory_store store;
  save_whole(store, global, {16, 64});
  const requests columns = cut_along(global, 1, {0, 20, 64});
  const requests equal(2, {part(global, box::whole(global))});
  // Equal boxes as letters of a round, or, with less in hand, sent on.
  for (const std::size_t memory : {std::size_t{64} << 20, std::size_t{4} << 20}) {
    for (const bool longer : {false, true}) {
      for (const requests* asked : {&columns, &equal}) {
        CAPTURE(memory);
        CAPTURE(longer);
        const std::string said = outcome(thread_world::run(2, [&](const thread_communicator& self) {
          process_group group = group_of(damaging_communicator{self, longer});
          group.how.limit.memory = memory;
          const auto wanted = with_room((*asked)[static_cast<std::size_t>(self.rank())].front());
          return load(store, state{{"w", wanted}}, group, {.validate = false, .read_once = true});
        }));
        CAPTURE(said);
        CHECK(said.starts_with("corrupt: "));
        CHECK(said.find("from rank ") != said.npos);
      }
    }
  }
}

TEST_CASE("read once: a small budget is enough for parts, or says so on all ranks") {
  const dims global{2048, 64};  // 512 KiB
  const memory_store store;
  save_whole(store, global, {16, 64});
  const requests asked = cut_along(global, 1, {0, 20, 40, 64});
  std::size_t loaded = 0;
  std::size_t refused = 0;
  for (std::size_t memory = 1000; memory <= (4 << 20); memory += memory / 2) {
    const auto done =
        thread_world::run(3, [&](const thread_communicator& self) -> result<std::string> {
          process_group group = group_of(self);
          group.how.limit.memory = memory;
          const auto wanted = with_room(asked[static_cast<std::size_t>(self.rank())].front());
          ZARRPOINT_TRY(report, load(store, state{{"w", wanted}}, group, {.read_once = true}));
          return wrong_in(*report.loaded.find("w")->if_tensor(), seed);
        });
    for (const auto& one : done) {
      CHECK(one.has_value() == done.front().has_value());
      one ? ++loaded : ++refused;
      if (one) CHECK(*one == "");
      if (!one) CHECK(one.failure().code == errc::resource_limit);
    }
    if (memory >= (1 << 20)) CHECK(done.front());
  }
  CHECK(loaded > 0);
  CHECK(refused > 0);
}

}  // namespace read_regions_test
