// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/group_safetensors.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/stores.hpp>

#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <complex>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace safetensors_group_test {

using namespace zarrpoint;
using test::temp_directory;

namespace fs = std::filesystem;

const store_table known = formats<safetensors::format>();

bool has(const std::string& text, std::string_view of) { return text.find(of) != text.npos; }

/// Element `i` of tensor `t` in a step.
float element(int t, index_t i, int step) { return static_cast<float>(1000 * step + 37 * t + i); }

/// The tensors of a model of rows and columns; how they are cut is one of chance, the same for all.
struct random_model {
  explicit random_model(std::uint32_t seed, int processes) : ranks(processes) {
    std::mt19937 chance(seed);
    const auto below = [&](index_t most) {
      return static_cast<index_t>(chance() % static_cast<std::uint32_t>(most));
    };
    for (int t = 0; t < 6; ++t) {
      tensor one;
      one.axis = static_cast<std::size_t>(below(2));
      one.shape = {1 + below(6), 1 + below(6)};
      index_t at = 0;
      // Uneven parts, some of nothing.
      for (int rank = 0; rank < ranks; ++rank) {
        const index_t extent = one.shape[one.axis];
        const index_t next = rank + 1 == ranks ? extent : at + below(extent - at + 1);
        one.ends.push_back(next);
        at = next;
      }
      tensors.push_back(one);
    }
  }

  struct tensor {
    std::size_t axis = 0;
    dims shape;
    std::vector<index_t> ends;
  };

  static std::string name(int t) { return "model.layers." + std::to_string(t) + ".weight"; }

  box part(int t, int rank) const {
    const tensor& of = tensors[static_cast<std::size_t>(t)];
    box out = box::whole(of.shape);
    out.offset[of.axis] = rank == 0 ? 0 : of.ends[static_cast<std::size_t>(rank - 1)];
    out.shape[of.axis] = of.ends[static_cast<std::size_t>(rank)] - out.offset[of.axis];
    return out;
  }

  /// What a rank has, in `memory`.
  state tree(int rank, int step, std::vector<std::vector<float>>& memory) const {
    state::map out;
    memory.clear();
    memory.reserve(tensors.size());
    for (int t = 0; t < static_cast<int>(tensors.size()); ++t) {
      const box at = part(t, rank);
      std::vector<float>& values = memory.emplace_back();
      const dims shape = tensors[static_cast<std::size_t>(t)].shape;
      for (index_t r = 0; r < at.shape[0]; ++r)
        for (index_t c = 0; c < at.shape[1]; ++c)
          values.push_back(element(t, (at.offset[0] + r) * shape[1] + at.offset[1] + c, step));
      const host_view view = dense_view(reinterpret_cast<const std::byte*>(values.data()),
                                        tensor_spec{dtype_kind::float32, at.shape});
      if (at.empty()) continue;
      out.emplace(name(t), sharded<host_view>::make({.key = name(t),
                                                     .type = dtype_kind::float32,
                                                     .local_shape = at.shape,
                                                     .global_shape = shape,
                                                     .global_offset = at.offset},
                                                    view)
                               .value());
    }
    return state(std::move(out));
  }

  std::vector<tensor> tensors;
  int ranks;
};

std::vector<result<save_report>> save_model(const random_model& model, const std::string& path,
                                            int step, const group_save_options& how) {
  return thread_world::run(model.ranks, [&](thread_communicator& self) -> result<save_report> {
    std::vector<std::vector<float>> memory;
    state tree = model.tree(self.rank(), step, memory);
    tree.if_map()->emplace("step", state(step));
    tree.if_map()->emplace("opt", state{{"lr", 0.5}, {"on", true}});
    return save(path, tree, {.ranks = self}, how);
  });
}

void check_model(const random_model& model, const std::string& path, int step) {
  const auto ckpt = open(path, {.stores = known});
  REQUIRE(ckpt);
  CHECK(ckpt->names().size() == model.tensors.size() + 3);
  for (int t = 0; t < static_cast<int>(model.tensors.size()); ++t) {
    const auto loaded = ckpt->load<tensor>(random_model::name(t));
    REQUIRE(loaded);
    bool same = true;
    const auto* const values = reinterpret_cast<const float*>(loaded->view().data);
    for (std::size_t i = 0; i < loaded->size(); ++i)
      same = same && values[i] == element(t, static_cast<index_t>(i), step);
    CHECK(same);
    CHECK(ckpt->metadata(random_model::name(t)).value().spec.shape ==
          model.tensors[static_cast<std::size_t>(t)].shape);
  }
  CHECK(ckpt->load<std::int64_t>("step").value() == step);
  CHECK(ckpt->load<double>("opt/lr").value() == 0.5);
  CHECK(ckpt->load<bool>("opt/on").value());
}

TEST_CASE("many processes save a model of safetensors, however its tensors are cut") {
  const temp_directory dir;
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const random_model model(seed, static_cast<int>(1 + seed % 4));
    const std::string path = dir / std::to_string(seed);
    const group_save_options how{
        .storage = {.sync = false,
                    .format = safetensors::group_format{.max_file_bytes = 40 + 50 * (seed % 3)}}};
    for (const auto& one : save_model(model, path, 1, how)) REQUIRE(one);
    check_model(model, path, 1);
    // Each file stands for itself, and all are in the index.
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(path)) {
      if (file.path().extension() != ".safetensors") continue;
      const auto opened = safetensors::open(file.path().string());
      REQUIRE(opened);
      for (const std::string& name : opened->names()) CHECK(names.insert(name).second);
    }
    CHECK(names.size() == model.tensors.size() + 3);
    // Saved again by another number of processes: files of before are gone, those of others stay.
    REQUIRE(fs::exists(path + "/model-00001-00001.safetensors"));
    std::fclose(std::fopen((path + "/README.md").c_str(), "w"));
    const random_model next(seed + 100, 1 + (model.ranks + 1) % 4);
    for (const auto& one : save_model(next, path, 2, how)) {
      REQUIRE(one);
      CHECK(one->kept == std::vector<std::string>{"README.md"});
    }
    check_model(next, path, 2);
  }
}

TEST_CASE("what is not a safetensors model is an error on all ranks, and nothing is there") {
  const temp_directory dir;
  const auto refusal = [&](const std::string& name, const safetensors::group_format& as,
                           const std::function<void(state&, int)>& change) {
    const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<save_report> {
      std::vector<float> rows{1, 2};
      state tree{{"w", shard("w", rows, {.offsets = {{0, self.rank(), 2}}}).value()}};
      change(tree, self.rank());
      return save(dir / name, tree, {.ranks = self}, {.storage = {.format = as}});
    });
    CHECK(!fs::exists(dir / name));
    REQUIRE(!done[0]);
    REQUIRE(!done[1]);
    CHECK(done[0].failure().code == done[1].failure().code);
    return to_string(done[0].failure());
  };
  const auto add = [](std::string name, state what) {
    return [=](state& tree, int) { tree.if_map()->emplace(name, what); };
  };
  CHECK(has(refusal("text", {}, add("notes", "a text")), "\"notes\""));
  CHECK(has(refusal("object", {},
                    [](state& tree, int rank) {
                      if (rank == 1)
                        tree.if_map()->emplace("o",
                                               sharded_object::make("o", json_text{"1"}).value());
                    }),
            "the object \"o\""));
  CHECK(has(refusal("no.safetensors", {}, [](state&, int) {}), "several files"));
  CHECK(has(refusal("none", {.max_file_bytes = 0}, [](state&, int) {}), "at most 0 bytes"));
  std::vector<std::complex<double>> numbers(2);
  CHECK(has(
      refusal(
          "dtype", {},
          [&](state& tree, int rank) {
            tree.if_map()->emplace("z", shard("z", numbers, {.offsets = {{0, rank, 2}}}).value());
          }),
      "complex128"));
  // Of two shards, each in two flat pieces.
  std::vector<float> piece{1, 2};
  CHECK(has(refusal("flat", {},
                    [&](state& tree, int rank) {
                      for (index_t of = 0; of < 2; ++of)
                        tree.if_map()->emplace(
                            "flat" + std::to_string(of),
                            shard_flat("flat", piece,
                                       {.local_shape = {4}, .range = {2 * rank, 2 * rank + 2}},
                                       {.offsets = {{0, of, 2}}})
                                .value());
                    }),
            "flat pieces of several shards"));
  // A name twice: as a tensor, and as a number.
  CHECK(has(
      refusal(
          "twice", {},
          [&](state& tree, int rank) {
            tree.if_map()->emplace("t", shard("a/b", piece, {.offsets = {{0, rank, 2}}}).value());
            tree.if_map()->emplace("a", state{{"b", 1}});
          }),
      "\"a/b\""));
}

TEST_CASE("what cannot be saved leaves the old model, in a store that cannot publish, too") {
  const memory_store store;
  const auto save_rows = [&](float value, bool clashes) {
    return thread_world::run(2, [&](thread_communicator& self) -> result<save_report> {
      const std::vector<float> rows(2, value);
      state tree{{"w", shard("a/b", rows, {.offsets = {{0, self.rank(), 2}}}).value()}};
      if (clashes) tree.if_map()->emplace("a", state{{"b", 1}});
      return save(location(any_store(store), store_key::root()), tree, {.ranks = self},
                  {.storage = {.format = safetensors::group_format{}}});
    });
  };
  for (const auto& one : save_rows(1, false)) REQUIRE(one);
  for (const auto& one : save_rows(2, true)) {
    REQUIRE(!one);
    CHECK(one.failure().code == errc::invalid_argument);
  }
  const auto there = safetensors::open(any_store(store),
                                       store_key::parse("model-00001-00001.safetensors").value());
  REQUIRE(there);
  CHECK(reinterpret_cast<const float*>(there->view("a/b").value().data)[3] == 1);
  CHECK(store.open(store_key::parse("model.safetensors.index.json").value()).value() != nullptr);
}

TEST_CASE("tensors in flat pieces of one shard are whole; one without elements is there") {
  const temp_directory dir;
  const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<save_report> {
    const std::vector<float> piece(static_cast<std::size_t>(self.rank()) + 1,
                                   static_cast<float>(self.rank()));
    const std::vector<float> none;
    const index_t begin = self.rank(), end = self.rank() == 0 ? 1 : 3;
    const auto flat = [&](const char* name) {
      return shard_flat(name, piece, {.local_shape = {3}, .range = {begin, end}}).value();
    };
    return save(dir / "m",
                state{{"v", flat("v")},
                      {"w", flat("w")},
                      {"none", shard("none", none, {.replica = self.rank()}).value()}},
                {.ranks = self}, {.storage = {.format = safetensors::group_format{}}});
  });
  for (const auto& one : done) REQUIRE(one);
  const auto ckpt = open(dir / "m", {.stores = known});
  REQUIRE(ckpt);
  for (const char* name : {"v", "w"})
    CHECK(ckpt->load<std::vector<float>>(name).value() == std::vector<float>{0, 1, 1});
  CHECK(ckpt->load<std::vector<float>>("none").value().empty());
}

TEST_CASE("what one process is sent of tensors counts against the memory of the save") {
  const temp_directory dir;
  const auto done = thread_world::run(2, [&](thread_communicator& self) -> result<save_report> {
    const std::vector<float> rows(1 << 20, 1.0F);
    context how;
    how.limit.memory = std::size_t{1} << 20;
    return save(dir / "m",
                state{{"w", shard("w", rows, {.offsets = {{0, self.rank(), 2}}}).value()}},
                {.ranks = self, .how = how}, {.storage = {.format = safetensors::group_format{}}});
  });
  CHECK(!fs::exists(dir / "m"));
  for (const auto& one : done) {
    REQUIRE(!one);
    CHECK(one.failure().code == errc::resource_limit);
  }
}

}  // namespace safetensors_group_test
