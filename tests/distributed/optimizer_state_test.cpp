// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/rank_mesh.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/state/optimizer_state.hpp>
#include <zarrpoint/distributed/state/split_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// The scenarios of Megatron-Core's tests of optimizers, by their numbers: how their states follow
// the sharding of a model, whatever the optimizer.

namespace optimizer_state_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

const dtype f32 = dtype_kind::float32;
const dtype bf16 = dtype_kind::bfloat16;

std::uint64_t seed_of(const std::string& key) {
  std::uint64_t seed = 17;
  for (const char c : key) seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

sharded_tensor with_own_values(const shard_metadata& of) {
  return with_values(of, seed_of(of.key));
}

shard_metadata part(const std::string& key, const tensor_spec& local, sharding where) {
  return from_rank_offsets(key, local, where).value();
}

/// What is wrong with the tensors of a state.
std::string wrong_values(const state& of, std::size_t count) {
  std::string wrong;
  std::size_t found = 0;
  static_cast<void>(for_each_leaf(of, [&](const state& leaf) {
    if (const sharded_tensor* one = leaf.if_tensor()) {
      ++found;
      wrong += wrong_in(*one, seed_of(one->key()));
    }
  }));
  return found == count ? wrong : std::to_string(found) + " tensors; " + wrong;
}

/// A model of two dense layers, a bias, and experts, as one rank of a mesh of tp, ep, dp and pp has
/// it: layers and experts are divided among stages and expert ranks, weights among tensor ranks.
std::vector<shard_metadata> model_of(const rank_mesh& mesh, int rank, dtype type) {
  constexpr index_t layers = 4;
  constexpr index_t experts = 8;
  const index_t tp = mesh.extent("tp");
  const index_t at = mesh.coordinate(rank, "tp");
  const index_t stages = mesh.extent("pp");
  const index_t stage = mesh.coordinate(rank, "pp");
  const index_t ep = mesh.extent("ep");
  const index_t group = mesh.coordinate(rank, "ep");
  const index_t copy = mesh.coordinate(rank, "dp");
  std::vector<shard_metadata> out;
  for (index_t layer = stage * layers / stages; layer < (stage + 1) * layers / stages; ++layer) {
    out.push_back(part("layers.up", {type, {16 / tp, 6}},
                       {.offsets = {{0, layer, layers}, {1, at, tp}},
                        .replica = replica_id({group, copy}),
                        .prepended_axes = 1}));
    out.push_back(part("layers.down", {type, {6, 16 / tp}},
                       {.offsets = {{0, layer, layers}, {2, at, tp}},
                        .replica = replica_id({group, copy}),
                        .prepended_axes = 1}));
    for (index_t e = group * experts / ep; e < (group + 1) * experts / ep; ++e)
      out.push_back(part("layers.experts", {type, {8 / tp, 3}},
                         {.offsets = {{0, layer, layers}, {1, e, experts}, {2, at, tp}},
                          .replica = copy,
                          .prepended_axes = 2}));
  }
  out.push_back(part("bias", {type, {5}}, {.replica = replica_id({stage, group, copy, at})}));
  return out;
}

sharded_parameters parameters_of(const std::vector<shard_metadata>& model) {
  sharded_parameters out;
  for (std::size_t i = 0; i < model.size(); ++i)
    out.add(static_cast<index_t>(i), sharded_tensor(model[i])).value();
  return out;
}

struct moments {
  std::vector<std::string> names;
  bool values = true;
  dtype type = f32;
};

/// The optimizer's state for a model, in float32: what is stored is told by key and place.
state optimizer_of(const std::vector<shard_metadata>& model, const moments& of) {
  optimizer_state out(parameters_of(model));
  std::vector<index_t> ids;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const auto id = static_cast<index_t>(i);
    ids.push_back(id);
    for (const std::string& name : of.names) {
      shard_metadata shard = model[i];
      shard.key = optimizer_key(name, shard.key);
      shard.type = of.type;
      if (of.values) {
        out.add(id, name, values_of(shard, seed_of(shard.key))).value();
      } else {
        out.request(id, name, of.type).value();
      }
    }
  }
  out.add_group({{"lr", 0.125}, {"betas", state::list{0.9, 0.99}}}, std::move(ids)).value();
  state tree = out.tree();
  tree.if_map()->emplace("step", 40);
  return tree;
}

rank_mesh mesh(int tp, int ep, int dp, int pp) {
  return rank_mesh::make({{"tp", tp}, {"ep", ep}, {"dp", dp}, {"pp", pp}}).value();
}

/// Saves a model and its optimizer on one mesh and loads both on another.
void reshard(const rank_mesh& from, const rank_mesh& to, const moments& of, dtype type = f32) {
  const memory_store store;
  REQUIRE(save_by(from.size(), store, [&](int rank) {
            const auto model = model_of(from, rank, type);
            state::list weights;
            for (const shard_metadata& one : model) weights.emplace_back(with_own_values(one));
            return state{{"model", std::move(weights)}, {"optimizer", optimizer_of(model, of)}};
          }) == "done");
  moments wanted = of;
  wanted.values = false;
  CHECK(load_by(
            to.size(), store,
            [&](int rank) {
              const auto model = model_of(to, rank, type);
              state::list weights;
              for (const shard_metadata& one : model) weights.emplace_back(sharded_tensor(one));
              return state{{"weights", std::move(weights)},
                           {"optimizer", optimizer_of(model, wanted)}};
            },
            [&](int rank, const group_load_report& report) {
              const std::size_t tensors = model_of(to, rank, type).size();
              std::string wrong = wrong_values(report.loaded, tensors * (1 + of.names.size()));
              if (report.loaded.get<int>("optimizer/step").value_or(0) != 40) wrong += "step; ";
              return wrong;
            },
            {.validate = true}) == "done");
}

}  // namespace

TEST_CASE("OPT-1: every parameter's states are sharded as it is, under keys of their own") {
  const rank_mesh four = mesh(2, 1, 1, 2);
  for (int rank = 0; rank < 4; ++rank) {
    const auto model = model_of(four, rank, bf16);
    const state tree = optimizer_of(model, {.names = {"exp_avg", "exp_avg_sq"}});
    for (std::size_t i = 0; i < model.size(); ++i) {
      for (const char* name : {"exp_avg", "exp_avg_sq"}) {
        const state* leaf = tree.find("state/" + std::to_string(i) + "/" + name);
        REQUIRE(leaf != nullptr);
        shard_metadata expected = model[i];
        expected.key = std::string("optimizer.state.") + name + "." + model[i].key;
        expected.type = f32;
        CHECK(leaf->if_tensor()->metadata() == expected);
      }
    }
    const auto* ids = tree.find("param_groups/0/params")->if_local()->get<std::vector<index_t>>();
    REQUIRE(ids != nullptr);
    CHECK(ids->size() == model.size());
  }
  reshard(four, four, {.names = {"exp_avg", "exp_avg_sq"}});
}

TEST_CASE("OPT-1: parameters by their places in a model's state; what they cannot be") {
  const shard_metadata w = part("w", {f32, {4}}, {.offsets = {{0, 1, 2}}});
  const state model{{"a", state{{"w", sharded_tensor(w)}}},
                    {"step", 3},
                    {"l", state::list{sharded_tensor(part("v", {f32, {2, 3}}, {}))}}};
  const std::vector<std::string> paths{"l/0", "a/w"};
  const auto parameters = sharded_parameters::of_model(model, paths).value();
  CHECK(parameters.size() == 2);
  CHECK((*parameters.at(0))->if_tensor()->key() == "v");
  CHECK((*parameters.at(1))->if_tensor()->key() == "w");
  const auto refused = [&](std::vector<std::string> of) {
    return sharded_parameters::of_model(model, of).failure().code;
  };
  CHECK(refused({"a/w", "nowhere"}) == errc::not_found);
  CHECK(refused({"step"}) == errc::invalid_argument);
  CHECK(refused({"a"}) == errc::invalid_argument);

  sharded_parameters again = parameters;
  CHECK(again.add(1, sharded_tensor(w)).failure().code == errc::invalid_argument);
  optimizer_state of(parameters);
  std::vector<float> value(4);
  const error unknown = of.add(2, "m", value).failure();
  CHECK(unknown.code == errc::not_found);
  CHECK(unknown.message == "no parameter of the model has the number 2; there are 2");
  CHECK(of.request(-1, "m", f32).failure().code == errc::not_found);
  CHECK(of.add_group({}, {0, 5}).failure().code == errc::not_found);
  CHECK(of.add_group({{"params", 1}}, {0}).failure().code == errc::invalid_argument);
  std::vector<float> longer(5);
  const error shape = of.add(1, "m", longer).failure();
  CHECK(shape.code == errc::shape_mismatch);
  CHECK(shape.message.find("\"optimizer.state.m.w\"") != std::string::npos);
  of.add(1, "m", value).value();
  CHECK(of.add(1, "m", value).failure().code == errc::invalid_argument);
  CHECK(of.request(1, "m", f32).failure().code == errc::invalid_argument);
  of.request(1, "v", bf16).value();
  // An lvalue is borrowed.
  value[2] = 9;
  const state tree = of.tree();
  CHECK((*tree.find("state/1/m")->if_tensor()->get<std::vector<float>>())[2] == 9);
  CHECK_FALSE(tree.find("state/1/v")->if_tensor()->has_data());
  CHECK(optimizer_tensor(state(3), "m", value).failure().code == errc::invalid_argument);
}

TEST_CASE("OPT-1: flat ranges keep theirs; factories are those of the model, for another value") {
  const flat_range range{3, 8};
  const shard_metadata flat =
      from_rank_offsets_flat("w", {bf16, {5}}, {{2, 6}, range}, {.offsets = {{0, 1, 2}}}).value();
  const state made =
      optimizer_tensor(state(sharded_tensor(flat)), "m", std::vector<float>(5)).value();
  CHECK(made.if_tensor()->metadata().range == range);
  CHECK(made.if_tensor()->metadata().type == f32);
  CHECK(optimizer_tensor(state(sharded_tensor(flat)), "m", std::vector<float>(6)).failure().code ==
        errc::shape_mismatch);

  // A gated layer: the optimizer's tensors are split as the weights are.
  const memory_store store;
  const auto fused = [](int rank, int ranks, dtype type, const char* key) {
    return part(key, {type, {8 / ranks, 3}}, {.offsets = {{0, rank, ranks}}});
  };
  const auto parameter = [&](int rank, int ranks) {
    const auto of = sharded<tensor>::request(fused(rank, ranks, bf16, "wv")).value();
    return state(split_factory<>(of).value());
  };
  const auto value = [&](int rank, int ranks) {
    return values_of(fused(rank, ranks, f32, "optimizer.state.m.wv"), 4);
  };
  CHECK(save_by(1, store, [&](int) {
          return state{{"m", optimizer_tensor(parameter(0, 1), "m", value(0, 1)).value()}};
        }) == "done");
  CHECK(load_tensors_metadata(store)->contains("optimizer.state.m.wv"));
  for (const bool room : {false, true}) {
    CAPTURE(room);
    CHECK(load_by(
              2, store,
              [&](int rank) {
                tensor zeros = tensor::make({f32, {4, 3}}).value();
                return state{
                    {"m", room ? optimizer_tensor(parameter(rank, 2), "m", std::move(zeros)).value()
                               : optimizer_request(parameter(rank, 2), "m", f32).value()}};
              },
              [&](int rank, const group_load_report& report) -> std::string {
                const tensor* found = report.loaded.find("m")->if_tensor()->get<tensor>();
                if (found == nullptr) return "no value";
                // Rows 2r and 2r + 1 of each half of the whole.
                const tensor whole = value(0, 1);
                for (index_t row = 0; row < 4; ++row) {
                  const index_t from = (row / 2) * 4 + rank * 2 + row % 2;
                  if (std::memcmp(found->data<float>().data() + row * 3,
                                  whole.data<float>().data() + from * 3, 12) != 0)
                    return "row " + std::to_string(row);
                }
                return "";
              }) == "done");
  }
  CHECK(optimizer_tensor(parameter(0, 1), "m", std::vector<float>(24)).failure().code ==
        errc::invalid_argument);
  CHECK(
      optimizer_tensor(parameter(0, 1), "m", tensor::make({f32, {4, 3}}).value()).failure().code ==
      errc::shape_mismatch);
}

TEST_CASE("OPT-2: states of another dtype than their parameters, and parameters without any") {
  const rank_mesh two = mesh(2, 1, 1, 1);
  reshard(two, mesh(1, 1, 2, 1), {.names = {"fp32_param", "exp_avg"}}, bf16);
  // A frozen parameter is in a group, and has no state.
  optimizer_state of(parameters_of(model_of(two, 0, bf16)));
  of.add_group({{"lr", 0.5}}, {0, 1}).value();
  CHECK(of.tree().find("state/0") == nullptr);
  CHECK(of.tree().find("param_groups/0/lr") != nullptr);
}

TEST_CASE("OPT-3: steps and groups are the same after any resharding; numbers are of the process") {
  const memory_store store;
  const rank_mesh from = mesh(2, 1, 1, 2);
  CHECK(save_by(4, store, [&](int rank) {
          return optimizer_of(model_of(from, rank, f32), {.names = {"exp_avg"}});
        }) == "done");
  for (const rank_mesh& to : {mesh(1, 1, 1, 1), mesh(1, 1, 1, 4), mesh(4, 1, 1, 1)}) {
    CHECK(load_by(
              to.size(), store,
              [&](int rank) {
                return optimizer_of(model_of(to, rank, f32),
                                    {.names = {"exp_avg"}, .values = false});
              },
              [&](int rank, const group_load_report& report) {
                const state& got = report.loaded;
                std::string wrong;
                if (got.get<int>("step").value_or(0) != 40) wrong += "step; ";
                if (got.get<double>("param_groups/0/lr").value_or(0) != 0.125) wrong += "lr; ";
                if (got.get<double>("param_groups/0/betas/1").value_or(0) != 0.99)
                  wrong += "betas; ";
                const local_only* ids = got.find("param_groups/0/params")->if_local();
                if (ids == nullptr ||
                    ids->get<std::vector<index_t>>()->size() != model_of(to, rank, f32).size())
                  wrong += "params; ";
                return wrong;
              }) == "done");
  }
}

namespace {

/// Counts what is opened and read under keys that begin with a prefix.
class watched_store {
 public:
  struct counts {
    std::atomic<int> opened{0};
    std::atomic<std::uint64_t> bytes{0};
  };

  watched_store(any_store base, std::string prefix) : base_(std::move(base)), prefix_(prefix) {}
  const counts& seen() const { return *counts_; }

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    ZARRPOINT_TRY(found, base_.open(key));
    if (found == nullptr || !key.str().starts_with(prefix_)) return std::move(found);
    ++counts_->opened;
    counts_->bytes += found->size();
    return std::move(found);
  }
  std::string describe(const store_key& key) const { return base_.describe(key); }

 private:
  any_store base_;
  std::string prefix_;
  std::shared_ptr<counts> counts_ = std::make_shared<counts>();
};

}  // namespace

TEST_CASE("OPT-4: what is not asked for is not read, not a byte of it") {
  const memory_store store;
  const rank_mesh four = mesh(2, 1, 1, 2);
  CHECK(save_by(4, store, [&](int rank) {
          const auto model = model_of(four, rank, f32);
          state::list weights;
          for (const shard_metadata& one : model) weights.emplace_back(with_own_values(one));
          return state{{"model", std::move(weights)},
                       {"optimizer", optimizer_of(model, {.names = {"exp_avg", "exp_avg_sq"}})}};
        }) == "done");
  const auto load_from = [&](const any_store& from, bool all) {
    return load_by(
        3, from,
        [&](int rank) {
          const auto model = model_of(mesh(1, 1, 3, 1), rank, f32);
          state::list weights;
          for (const shard_metadata& one : model) weights.emplace_back(sharded_tensor(one));
          state out{{"weights", std::move(weights)}};
          if (all)
            out.if_map()->emplace("optimizer",
                                  optimizer_of(model, {.names = {"exp_avg"}, .values = false}));
          return out;
        },
        [](int, const group_load_report&) { return ""; }, {.strict = strictness::ignore_all});
  };
  const watched_store model_only(store, "optimizer.");
  CHECK(load_from(model_only, false) == "done");
  CHECK(model_only.seen().opened == 0);
  CHECK(model_only.seen().bytes == 0);
  const watched_store everything(store, "optimizer.");
  CHECK(load_from(everything, true) == "done");
  CHECK(everything.seen().opened > 0);
  CHECK(everything.seen().bytes > 0);
}

TEST_CASE("OPT-5: a bucket with one padding, loaded by other numbers of processes with another") {
  constexpr index_t elements = 37;
  const auto share = [](int rank, int ranks, index_t multiple) {
    return bucket_shard("bucket", f32,
                        {.elements = elements, .rank = rank, .ranks = ranks, .multiple = multiple})
        .value();
  };
  CHECK(share(2, 8, 7).global_shape == dims{56});
  CHECK(share(2, 8, 7).global_offset == dims{14});
  CHECK(share(2, 8, 5).global_shape == dims{40});
  CHECK(share(0, 1, 1).global_shape == dims{37});
  const memory_store store;
  CHECK(save_by(8, store, [&](int rank) {
          // What is padding is never used: any value will do.
          return state{{"b", with_values(share(rank, 8, 7), 3)}};
        }) == "done");
  struct target {
    int ranks;
    index_t multiple;
    index_t length;
  };
  for (const target& to :
       {target{8, 5, 40}, target{4, 32, 128}, target{2, 22, 44}, target{1, 1, 37}, {3, 20, 60}}) {
    for (const bool once : {false, true}) {
      CAPTURE(to.length);
      CHECK(share(0, to.ranks, to.multiple).global_shape == dims{to.length});
      CHECK(load_by(
                to.ranks, store,
                [&](int rank) {
                  return state{{"b", with_room(share(rank, to.ranks, to.multiple))}};
                },
                [](int, const group_load_report& report) {
                  return wrong_in(*report.loaded.find("b")->if_tensor(), 3, {56});
                },
                {.read_once = once}) == "done");
    }
  }
  const auto refused = [](const bucket_share& of) {
    return bucket_shard("b", f32, of).failure().code;
  };
  CHECK(refused({.elements = 4, .rank = 2, .ranks = 2}) == errc::invalid_argument);
  CHECK(refused({.elements = -1}) == errc::invalid_argument);
  CHECK(refused({.elements = 4, .multiple = 0}) == errc::invalid_argument);
  CHECK(refused({.elements = INT64_MAX, .multiple = 1000}) == errc::out_of_range);
  CHECK(bucket_shard("b", f32, {.elements = 0, .rank = 3, .ranks = 4}).value().global_shape ==
        dims{0});
}

TEST_CASE("OPT-6: what cannot be resharded is loaded where it was saved, and elsewhere refused") {
  const memory_store store;
  const auto object = [](int rank, int ranks) {
    return sharded_object::request("optimizer.local",
                                   {.global_shape = {ranks}, .global_offset = {rank}})
        .value();
  };
  CHECK(save_by(4, store, [&](int rank) {
          return state{
              {"o", object(rank, 4).with_bytes({std::byte{static_cast<unsigned char>(rank)}})}};
        }) == "done");
  const auto ask = [&](int ranks) {
    return load_by(
        ranks, store,
        [&](int rank) {
          return state{{"o", object(rank, ranks)}};
        },
        [](int rank, const group_load_report& report) {
          const bytes_view got = report.loaded.find("o")->if_object()->bytes();
          return got.size() == 1 && std::to_integer<int>(got[0]) == rank ? "" : "another's";
        });
  };
  CHECK(ask(4) == "done");
  CHECK(ask(2).find("objects are not resharded") != std::string::npos);
}

TEST_CASE("OPT-7: parameters in several buckets, each padded by itself, are where they were") {
  // Parameters lie one after another in their bucket; where the next bucket begins depends on the
  // padding, so it is not a place that is told by what came before.
  const std::vector<std::vector<index_t>> buckets{{5, 9, 4}, {7, 1}, {3, 3, 3, 8}};
  const auto elements = [](const std::vector<index_t>& of) {
    index_t sum = 0;
    for (const index_t one : of) sum += one;
    return sum;
  };
  const auto share = [&](std::size_t bucket, int rank, int ranks, index_t multiple) {
    return bucket_shard("optimizer.bucket." + std::to_string(bucket), f32,
                        {elements(buckets[bucket]), rank, ranks, multiple})
        .value();
  };
  const memory_store store;
  CHECK(save_by(4, store, [&](int rank) {
          state::list out;
          for (std::size_t b = 0; b < buckets.size(); ++b)
            out.emplace_back(with_own_values(share(b, rank, 4, 8)));
          return state{{"buckets", std::move(out)}};
        }) == "done");
  CHECK(share(0, 0, 4, 8).global_shape != dims{elements(buckets[0])});
  CHECK(load_by(
            3, store,
            [&](int rank) {
              state::list out;
              for (std::size_t b = 0; b < buckets.size(); ++b)
                out.emplace_back(with_room(share(b, rank, 3, 2)));
              return state{{"buckets", std::move(out)}};
            },
            [&](int rank, const group_load_report& report) {
              std::string wrong;
              for (std::size_t b = 0; b < buckets.size(); ++b) {
                const state* leaf = report.loaded.find("buckets/" + std::to_string(b));
                wrong += wrong_in(*leaf->if_tensor(), seed_of(leaf->if_tensor()->key()),
                                  share(b, rank, 4, 8).global_shape);
              }
              return wrong;
            }) == "done");
  // One parameter alone, by its offset in its bucket.
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    index_t offset = 0;
    for (const index_t length : buckets[b]) {
      shard_metadata wanted = share(b, 0, 4, 8);
      wanted.fragmentation.reset();
      wanted.global_offset = {offset};
      wanted.local_shape = {length};
      CHECK(load_by(
                1, store,
                [&](int) {
                  return state{{"p", sharded_tensor(wanted)}};
                },
                [](int, const group_load_report& report) { return wrong_values(report.loaded, 1); },
                {.validate = false}) == "done");
      offset += length;
    }
  }
}

TEST_CASE("OPT-9: an optimizer of one moment, and one of names of its own") {
  reshard(mesh(2, 1, 1, 1), mesh(1, 1, 1, 2), {.names = {"momentum_buffer"}});
  reshard(mesh(2, 1, 1, 1), mesh(1, 1, 1, 2), {.names = {"a", "b.c", "exp_avg"}});
}

TEST_CASE("OPT-10: optimizer states on other meshes, in two precisions") {
  const moments adam{.names = {"exp_avg", "exp_avg_sq"}};
  const moments half{.names = {"exp_avg"}, .type = bf16};
  const rank_mesh two_four = mesh(2, 1, 1, 4);
  for (const rank_mesh& to : {two_four, mesh(2, 1, 1, 2), mesh(4, 1, 1, 2)}) {
    reshard(two_four, to, adam);
    reshard(two_four, to, half, bf16);
  }
  reshard(mesh(8, 1, 1, 1), mesh(1, 1, 1, 2), adam);
}

TEST_CASE("OPT-11: the optimizers of experts and of the rest, on other meshes") {
  const moments adam{.names = {"exp_avg"}};
  reshard(mesh(2, 2, 1, 2), mesh(2, 2, 1, 2), adam);
  reshard(mesh(4, 2, 1, 1), mesh(1, 2, 1, 2), adam);
  reshard(mesh(1, 2, 1, 1), mesh(1, 4, 1, 1), adam);
  reshard(mesh(2, 2, 1, 1), mesh(1, 8, 1, 1), adam);
}

TEST_CASE("OPT-12: an optimizer of which each process keeps whole layers, by another number") {
  constexpr int layers = 7;
  const auto layer = [](int i) {
    return part("layer." + std::to_string(i), {f32, {3, static_cast<index_t>(i) + 1}}, {});
  };
  const auto owned = [&](int rank, int ranks, bool values) {
    sharded_parameters all;
    for (int i = 0; i < layers; ++i) all.add(i, sharded_tensor(layer(i))).value();
    optimizer_state out(std::move(all));
    for (int i = rank; i < layers; i += ranks) {
      shard_metadata shard = layer(i);
      shard.key = optimizer_key("momentum", shard.key);
      if (values) {
        out.add(i, "momentum", values_of(shard, seed_of(shard.key))).value();
      } else {
        out.request(i, "momentum", f32).value();
      }
    }
    return out.tree();
  };
  const memory_store store;
  CHECK(save_by(4, store, [&](int rank) { return owned(rank, 4, true); }) == "done");
  for (const int ranks : {1, 2, 3, 8}) {
    CHECK(load_by(
              ranks, store, [&](int rank) { return owned(rank, ranks, false); },
              [&](int rank, const group_load_report& report) {
                const int count = rank < layers ? (layers - 1 - rank) / ranks + 1 : 0;
                return wrong_values(report.loaded, static_cast<std::size_t>(count));
              },
              {.validate = true}) == "done");
  }
  // All copies of a layer, of which one is stored, no matter which.
  const auto copies = [&](int rank, int main) {
    shard_metadata one = layer(2);
    one.replica = rank == main ? 0 : 1;
    return state{{"m", optimizer_tensor(state(sharded_tensor(one)), "m",
                                        values_of(layer(2), seed_of("optimizer.state.m.layer.2")))
                           .value()}};
  };
  const memory_store again;
  CHECK(save_by(3, again, [&](int rank) { return copies(rank, 2); }) == "done");
  CHECK(load_by(
            3, again, [&](int rank) { return copies(rank, 0); },
            [](int, const group_load_report& report) { return wrong_values(report.loaded, 1); }) ==
        "done");
}

}  // namespace optimizer_state_test
