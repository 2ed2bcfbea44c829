// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/read_leaf.hpp>
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/distributed/state/split_factory.hpp>
#include <zarrpoint/distributed/state/state_ops.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/shard_values.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

// The state of a small transformer as the ranks of a mesh hold it, saved under one mesh and loaded
// under another: the scenarios MOD-1 to MOD-10 of Megatron-Core's tests.

namespace model_reshard_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

constexpr index_t hidden = 8;
constexpr index_t ffn = 16;
constexpr int all_layers = 8;
constexpr int all_experts = 8;

struct mesh {
  int tp = 1;
  int pp = 1;
  int dp = 1;
  int ep = 1;  // divides dp
  bool pipeline_before_data = false;
  std::vector<int> layers{};  // of each stage; empty: as many on each
  int size() const { return tp * pp * dp; }
};

/// Where a rank is.
struct seat {
  mesh in;
  int tp;
  int pp;
  int dp;
  int first_layer = 0;
  int layers = 0;

  seat(const mesh& of, int rank) : in(of), tp(rank % of.tp), pp(0), dp(0) {
    const int rest = rank / of.tp;
    pp = of.pipeline_before_data ? rest % of.pp : rest / of.dp;
    dp = of.pipeline_before_data ? rest / of.pp : rest % of.dp;
    std::vector<int> counts = of.layers;
    if (counts.empty()) counts.assign(static_cast<std::size_t>(of.pp), all_layers / of.pp);
    first_layer = std::accumulate(counts.begin(), counts.begin() + pp, 0);
    layers = counts[static_cast<std::size_t>(pp)];
  }
};

/// The data parallel ranks of each place in the model: a group of processes.
std::vector<int> data_groups(const mesh& of) {
  std::vector<int> out;
  for (int rank = 0; rank < of.size(); ++rank) {
    const seat at(of, rank);
    out.push_back(at.pp * of.tp + at.tp);
  }
  return out;
}

struct model {
  std::uint64_t seed = 1;
  int vocabulary = 17;
  bool extra_state = false;
  bool experts = true;
  shard_padding padding = shard_padding::zeros;  ///< of the vocabulary, when it is loaded
};

index_t padded(const model& of, int tp) {
  const index_t unit = 8 * tp;
  return (of.vocabulary + unit - 1) / unit * unit;
}

std::uint64_t seed_of(const model& of, const std::string& key) {
  return mixed(of.seed, std::hash<std::string>{}(key));
}

/// Makes the leaves of one rank: with the model's values, or with room for them.
struct leaf_maker {
  const model& of;
  bool values;

  sharded_tensor tensor_of(const shard_metadata& about) const {
    return values ? with_values(about, seed_of(of, about.key)) : with_room(about);
  }
  sharded_tensor operator()(std::string key, dims local, const sharding& where,
                            dtype type = dtype_kind::bfloat16) const {
    return tensor_of(from_rank_offsets(std::move(key), {type, local}, where).value());
  }
  /// The two weights of a gated layer in one, stored as the two that they are.
  sharded_factory gated(std::string key, dims local, const sharding& where) const {
    const auto about =
        from_rank_offsets(std::move(key), {dtype_kind::bfloat16, local}, where).value();
    tensor fused = tensor::make(about.data_spec()).value();
    for (const auto& part : detail::split_shard(about, {0, 2}).value()) {
      const sharded_tensor one = tensor_of(part->shard);
      copy_elements(subview(fused.mutable_view(), selection(part->part)),
                    one.get<tensor>()->view());
    }
    return split_factory(sharded<tensor>::make(about, std::move(fused)).value()).value();
  }
};

state layer_of(const seat& at, int layer, const leaf_maker& make) {
  const index_t tp = at.in.tp;
  const axis_fragment of_layers{0, layer, all_layers};
  const sharding columns{
      .offsets = {of_layers, {1, at.tp, tp}}, .replica = at.dp, .prepended_axes = 1};
  const sharding rows{
      .offsets = {of_layers, {2, at.tp, tp}}, .replica = at.dp, .prepended_axes = 1};
  const sharding copies{.offsets = {of_layers}, .replica = {at.tp, at.dp}, .prepended_axes = 1};
  state::map out{{"qkv", make("layers/qkv", {3 * hidden / tp, hidden}, columns)},
                 {"proj", make("layers/proj", {hidden, hidden / tp}, rows)},
                 {"norm", make("layers/norm", {hidden}, copies, dtype_kind::float32)},
                 {"fc1", make.gated("layers/fc1", {2 * ffn / tp, hidden}, columns)},
                 // Mamba's projection: some of its parts are divided, some are not.
                 {"mixer", state{{"z", make("layers/mixer/z", {ffn / tp, hidden}, columns)},
                                 {"dt", make("layers/mixer/dt", {8 / tp}, columns)},
                                 {"B", make("layers/mixer/B", {4, hidden}, copies)}}}};
  if (make.of.extra_state)
    out.emplace("_extra_state",
                sharded_object::make("layers/_extra_state", json_text{std::to_string(layer)},
                                     {{all_layers}, {layer}, {at.tp, at.dp}})
                    .value());
  if (make.of.experts) {
    state::list experts;
    const int each = all_experts / at.in.ep;
    for (int e = at.dp % at.in.ep * each; e < (at.dp % at.in.ep + 1) * each; ++e) {
      const sharding one{.offsets = {of_layers, {1, e, all_experts}, {2, at.tp, tp}},
                         .replica = at.dp / at.in.ep,
                         .prepended_axes = 2};
      experts.emplace_back(make("layers/experts/fc1", {ffn / tp, hidden}, one));
    }
    out.emplace("experts", std::move(experts));
  }
  // The moments of the optimizer: each data parallel rank has a range of the elements.
  const index_t volume = 3 * hidden / tp * hidden;
  shard_metadata moment =
      from_rank_offsets("optimizer/exp_avg/qkv", {dtype_kind::float32, {3 * hidden / tp, hidden}},
                        {.offsets = {of_layers, {1, at.tp, tp}}, .prepended_axes = 1})
          .value();
  moment.range = flat_range{volume * at.dp / at.in.dp, volume * (at.dp + 1) / at.in.dp};
  out.emplace("exp_avg", make.tensor_of(moment));
  return out;
}

state state_of(const mesh& of, int rank, const leaf_maker& make) {
  const seat at(of, rank);
  // By its number: each stage has other layers.
  state::map layers;
  for (int i = at.first_layer; i < at.first_layer + at.layers; ++i)
    layers.emplace(std::to_string(i), layer_of(at, i, make));
  state::map out{{"layers", std::move(layers)}};
  const auto embedding = [&](int copy) {
    return make(
        "embedding/word", {padded(make.of, of.tp) / of.tp, hidden},
        {.offsets = {{0, at.tp, of.tp}}, .replica = {copy, at.dp}, .allow_shape_mismatch = true});
  };
  if (at.pp == 0) out.emplace("embedding", embedding(0));
  if (at.pp == of.pp - 1 && of.pp > 1) out.emplace("output", embedding(1));
  return out;
}

std::string save_model(const mesh& of, const location& where, const model& what,
                       bool fully_parallel = false) {
  group_save_options how;
  how.fully_parallel = fully_parallel;
  if (fully_parallel) how.groups = data_groups(of);
  return save_by(
      of.size(), where,
      [&](int rank) {
        return state_of(of, rank, {what, true});
      },
      how);
}

/// Bits of all tensors of two checkpoints, of the embedding those rows that are words.
std::string differences(const location& a, const location& b, const model& of) {
  const auto left = load_plain_tensors(a).value();
  const auto right = load_plain_tensors(b).value();
  std::string out;
  if (left.size() != right.size()) out += "other keys; ";
  for (const auto& [key, one] : left) {
    const auto other = right.find(key);
    if (other == right.end()) {
      out += key + " is missing; ";
      continue;
    }
    host_view x = one.view();
    host_view y = other->second.view();
    if (key == "embedding/word") x.shape[0] = y.shape[0] = of.vocabulary;
    if (!detail::same_bits(x, y)) out += key + " ";
  }
  return out;
}

/// What is wrong with the rows of the embedding that the first checkpoint does not have.
std::string wrong_padding(const location& a, const location& b, shard_padding padding) {
  const auto before = load_plain_tensors(a).value();
  const auto after = load_plain_tensors(b).value();
  const tensor& from = before.at("embedding/word");
  const tensor& to = after.at("embedding/word");
  const index_t rows = from.shape()[0];
  tensor expected = tensor::make({to.type(), {1, hidden}}).value();
  detail::fill_with_zero(expected.mutable_view());
  if (padding == shard_padding::replicate)
    copy_elements(expected.mutable_view(),
                  subview(from.view(), selection(box{{rows - 1, 0}, {1, hidden}})));
  for (index_t row = rows; row < to.shape()[0]; ++row) {
    const host_view found = subview(to.view(), selection(box{{row, 0}, {1, hidden}}));
    if (!detail::same_bits(found, expected.view())) return "row " + std::to_string(row);
  }
  return "";
}

/// Saved under one mesh, loaded under another in place, saved from there: both hold the same.
void check_move(const mesh& from, const mesh& to, const model& what, bool fully_parallel) {
  CAPTURE(from.tp);
  CAPTURE(from.pp);
  CAPTURE(from.dp);
  CAPTURE(from.ep);
  CAPTURE(to.tp);
  CAPTURE(to.pp);
  CAPTURE(to.dp);
  CAPTURE(to.ep);
  const memory_store a;
  const memory_store b;
  CHECK(save_model(from, a, what, fully_parallel) == "done");
  const bool once = fully_parallel;
  const std::vector<int> groups = once ? data_groups(to) : std::vector<int>();
  const auto moved =
      thread_world::run(to.size(), [&](const thread_communicator& self) -> result<void> {
        const process_group group = group_of(self);
        const state room = state_of(to, self.rank(), {what, false});
        ZARRPOINT_TRY(report, load(a, room, group,
                                   {.strict = strictness::raise_all,
                                    .validate = true,
                                    .read_once = once,
                                    .groups = groups,
                                    .padding = what.padding}));
        // Factories are merged: each of the gated weights is one tensor again.
        const int first = seat(to, self.rank()).first_layer;
        if (seat(to, self.rank()).layers > 0 &&
            report.loaded.find("layers/" + std::to_string(first) + "/fc1")->if_tensor() == nullptr)
          return error{errc::corrupt, "a factory was not merged"};
        group_save_options how;
        how.fully_parallel = fully_parallel;
        how.groups = groups;
        ZARRPOINT_CHECK(save(b, room, group, how));
        return {};
      });
  CHECK(outcome(moved) == "done");
  CHECK(differences(a, b, what) == "");
  CHECK(wrong_padding(a, b, what.padding) == "");
}

void check_meshes(const mesh& from, const mesh& to, const model& what = {}) {
#if defined(ZARRPOINT_TEST_SANITIZED)  // some ten times as slow: one of the two
  check_move(from, to, what, (from.size() + to.size()) % 2 == 0);
#else
  for (const bool fully_parallel : {false, true}) check_move(from, to, what, fully_parallel);
#endif
}

/// Draws meshes whose stages have as many layers as it comes, some of them none.
struct mesh_generator {
  std::mt19937_64 random;

  int one_of(const std::vector<int>& choices) { return choices[random() % choices.size()]; }

  mesh with_stages(mesh of) {
    of.pipeline_before_data = random() % 2 == 0;
    of.layers.assign(static_cast<std::size_t>(of.pp), 0);
    for (int layer = 0; layer < all_layers; ++layer) ++of.layers[random() % of.layers.size()];
    return of;
  }
  /// 64 ranks, more than one along each axis.
  mesh of_64() {
    mesh out{.tp = one_of({2, 4})};
    out.pp = one_of({2, 4, 8});
    out.dp = 64 / (out.tp * out.pp);
    out.ep = out.dp == 2 ? 2 : one_of({2, 4});
    return with_stages(std::move(out));
  }
  mesh any() {
    mesh out{.tp = one_of({1, 2, 4, 8}), .pp = one_of({1, 2, 3, 4, 5, 8})};
    out.ep = one_of({1, 2, 4, 8});
    out.dp = out.ep * one_of({1, 2, 3});
    return out.size() > 64 ? any() : with_stages(std::move(out));
  }
};

}  // namespace

TEST_CASE("MOD-1: with another layer specification only extra states may mismatch") {
  const mesh of{.tp = 2, .pp = 2};
  const model with{.extra_state = true};
  const model without{};
  for (const auto& [saved, loaded] : {std::pair(with, without), {without, with}}) {
    const memory_store store;
    CHECK(save_model(of, store, saved) == "done");
    CHECK(load_by(
              of.size(), store,
              [&](int rank) {
                return state_of(of, rank, {loaded, false});
              },
              [&](int, const group_load_report& report) {
                const std::set<std::string, std::less<>> extra{"layers/_extra_state"};
                const auto& here = loaded.extra_state ? report.unexpected : report.missing;
                const auto& there = loaded.extra_state ? report.missing : report.unexpected;
                return here == extra && there.empty() ? std::string() : std::string("other keys");
              },
              {.strict = strictness::return_all}) == "done");
  }
}

TEST_CASE("MOD-2, MOD-8: another mesh of tensor, pipeline and data parallel ranks") {
  const model plain{.experts = false};
  check_meshes({.tp = 2, .pp = 4}, {.tp = 4, .pp = 2}, plain);
  check_meshes({.tp = 1, .pp = 8}, {.tp = 8, .pp = 1}, plain);
  check_meshes({.tp = 2}, {.tp = 1, .pp = 8}, plain);
  check_meshes({}, {.tp = 2, .pp = 2});
  check_meshes({.dp = 3}, {.tp = 2, .pp = 2, .dp = 2, .pipeline_before_data = true});
  check_meshes({.tp = 2, .pp = 4}, {.tp = 2, .pp = 4, .pipeline_before_data = true});
  check_meshes({.tp = 2, .pp = 2, .dp = 4}, {.tp = 4, .pp = 2, .dp = 3});
}

TEST_CASE("MOD-3: states of different seeds have the same keys and differ in every tensor") {
  const memory_store one;
  const memory_store two;
  const mesh of{.tp = 2, .pp = 2, .dp = 2, .ep = 2};
  CHECK(save_model(of, one, {.seed = 1}) == "done");
  CHECK(save_model(of, two, {.seed = 2}) == "done");
  const auto left = load_plain_tensors(one).value();
  const auto right = load_plain_tensors(two).value();
  CHECK(left.size() == 10);
  REQUIRE(left.size() == right.size());
  std::string all;
  for (const auto& [key, tensor] : left) {
    REQUIRE(right.contains(key));
    CHECK(tensor.shape() == right.at(key).shape());
    CHECK_FALSE(detail::same_bits(tensor.view(), right.at(key).view()));
    all += key + " ";
  }
  CHECK(differences(one, two, {}) == all);
  CHECK(differences(one, one, {}) == "");
}

TEST_CASE("MOD-4: a vocabulary padded to another length") {
  for (const auto padding : {shard_padding::zeros, shard_padding::replicate}) {
#if defined(ZARRPOINT_TEST_SANITIZED)  // some ten times as slow
    for (const int vocabulary : {128, 17}) {
#else
    for (const int vocabulary : {128, 17, 127, 1123}) {
#endif
      const model what{.vocabulary = vocabulary, .experts = false, .padding = padding};
      check_move({.tp = 2, .pp = 4}, {.tp = 4, .pp = 2}, what, false);
      check_move({}, {.tp = 1, .pp = 8}, what, false);
      check_move({.tp = 8}, {.tp = 1}, what, true);
      check_move({.tp = 1}, {.tp = 8}, what, vocabulary == 17);
    }
  }
}

TEST_CASE("MOD-5: gated weights, fused in memory and two where they are stored") {
  const model what{.experts = false};
  check_meshes({.tp = 2, .pp = 2}, {.tp = 4, .pp = 2}, what);
  check_meshes({}, {.tp = 8}, what);
  check_meshes({.tp = 8}, {.tp = 8}, what);
  check_meshes({}, {.tp = 2}, what);
  const memory_store store;
  CHECK(save_model({.tp = 2}, store, what) == "done");
  const auto all = load_tensors_metadata(store).value();
  CHECK(all.at("layers/fc1").metadata().global_shape == dims{all_layers, 2 * ffn, hidden});
}

TEST_CASE("MOD-7: experts along an axis of their own, spread over the data parallel ranks") {
  check_meshes({.dp = 8, .ep = 8}, {.dp = 2, .ep = 2});
  check_meshes({.tp = 2, .pp = 2, .dp = 2, .ep = 2}, {.tp = 4, .pp = 2, .dp = 1});
  check_meshes({.dp = 4, .ep = 4}, {.tp = 8, .dp = 2, .ep = 1});
  check_meshes({.tp = 2, .dp = 4, .ep = 2}, {.pp = 2, .dp = 4, .ep = 4});
}

TEST_CASE(
    "MOD-2, MOD-7: random meshes of tensor, pipeline, data and expert parallel ranks, of 64") {
#if defined(ZARRPOINT_TEST_SANITIZED)  // some ten times as slow
  constexpr int pairs = 1;
#else
  constexpr int pairs = 6;
#endif
  mesh_generator draw{std::mt19937_64(64)};
  for (int i = 0; i < pairs; ++i) {
    const mesh large = draw.of_64();
    const mesh other = draw.any();
    CHECK(large.size() == 64);
    check_move(i % 2 == 0 ? large : other, i % 2 == 0 ? other : large, {}, i % 4 < 2);
  }
}

TEST_CASE("MOD-9: keys are rewritten on the way") {
  const memory_store store;
  const mesh of{.tp = 2, .pp = 2};
  const model what{};
  CHECK(save_model(of, store, what) == "done");
  // Another model calls its layers blocks, and knows how the checkpoint calls them.
  const std::vector<prefix_change> to_blocks{{"layers/", "blocks/"}};
  const std::vector<prefix_change> to_layers{{"blocks/", "layers/"}};
  const auto renamed = [&](int rank) {
    return map_prefixes(state_of(of, rank, {what, false}), to_blocks).value();
  };
  const auto nothing = [](int, const group_load_report&) { return std::string(); };
  CHECK(load_by(of.size(), store, renamed, nothing).starts_with("not_found: "));
  // A pattern that a key does not have is told.
  CHECK_FALSE(replace_prefix(renamed(0), {"layers/", ""}));
  CHECK(load_by(of.size(), store,
                [&](int rank) { return map_prefixes(renamed(rank), to_layers).value(); }, nothing,
                {.strict = strictness::raise_all}) == "done");
}

TEST_CASE("MOD-10: stages of different lengths, one of them empty") {
  const mesh uneven{.tp = 2, .pp = 4, .layers = {3, 0, 4, 1}};
  const mesh first_empty{.pp = 3, .dp = 2, .layers = {0, 7, 1}};
  check_meshes(uneven, {.tp = 2, .pp = 2});
  check_meshes({.tp = 2, .pp = 2}, uneven);
  check_meshes(uneven, first_empty);
}

}  // namespace model_reshard_test
