// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/load/stored_metadata.hpp>
#include <zarrpoint/distributed/save/async_saves.hpp>
#include <zarrpoint/distributed/state/state_json.hpp>
#include <zarrpoint/interop/megatron/megatron_strategies.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "support/shard_values.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

namespace megatron_strategies_test {

using namespace zarrpoint;
using namespace zarrpoint_test;
namespace fs = std::filesystem;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/megatron/";

process_group group_with(any_communicator ranks) {
  process_group out = group_of(std::move(ranks));
  out.known = megatron::strategies::table();
  return out;
}

group_save_options in_their_layout(bool overwrite = false) {
  group_save_options out;
  out.sharded = strategy_choice("zarr", 1);
  out.storage.overwrite = overwrite;
  return out;
}

template <class F>
std::string saved(int ranks, const location& where, const F& state_of,
                  const group_save_options& options = in_their_layout()) {
  return outcome(thread_world::run(ranks, [&](const thread_communicator& self) {
    return save(where, state_of(self.rank()), group_with(self), options);
  }));
}

/// `check(rank, report)` says what is wrong.
template <class F, class C>
std::string loaded(int ranks, const location& where, const F& request_of, const C& check,
                   const group_load_options& options = {}) {
  return outcome(thread_world::run(ranks, [&](const thread_communicator& self) -> result<void> {
    ZARRPOINT_TRY(report, load(where, request_of(self.rank()), group_with(self), options));
    const std::string wrong = check(self.rank(), report);
    if (wrong.empty()) return {};
    return error{errc::corrupt, "wrong: " + wrong};
  }));
}

/// A directory that Megatron-Core wrote, and what it put into it.
struct fixture {
  std::string name;
  int ranks;
  std::map<std::string, tensor_spec> tensors;
  std::map<std::string, std::string> elements;

  std::string path() const { return golden + name; }

  /// The elements of a shard.
  std::string bytes_of(const shard_metadata& shard) const {
    const std::size_t size = shard.type.size();
    std::string out(byte_count(shard.data_spec()).value(), '\0');
    for_each_element(shard, shard.global_shape, [&](index_t n, index_t global) {
      std::memcpy(out.data() + static_cast<std::size_t>(n) * size,
                  elements.at(shard.key).data() + static_cast<std::size_t>(global) * size, size);
    });
    return out;
  }

  sharded_tensor value_of(const shard_metadata& shard) const {
    tensor out = tensor::make(shard.data_spec()).value();
    const std::string bytes = bytes_of(shard);
    if (!bytes.empty()) std::memcpy(out.mutable_view().data, bytes.data(), bytes.size());
    return sharded<tensor>::make(shard, std::move(out)).value();
  }
};

std::vector<fixture> fixtures() {
  std::vector<fixture> out;
  const json index = parse_json(as_bytes(test::read_file(golden + "cases.json"))).value();
  for (const json& one : *index.find("cases")->if_array()) {
    fixture made{*one.find("case")->if_string(), 0, {}, {}};
    if (!made.name.starts_with("zarr-")) continue;
    made.ranks = made.name.ends_with("4ranks") ? 4 : 2;
    const std::string elements = test::read_file(golden + made.name + ".bin");
    for (const json& leaf : *one.find("leaves")->if_array()) {
      const json* type = leaf.find("dtype");
      if (type == nullptr) continue;
      tensor_spec spec{parse_dtype(*type->if_string()).value(), {}};
      for (const json& extent : *leaf.find("shape")->if_array())
        spec.shape.push_back(*extent.to_int64());
      const std::string& key = *leaf.find("name")->if_string();
      made.tensors.emplace(key, spec);
      made.elements.emplace(
          key, elements.substr(static_cast<std::size_t>(*leaf.find("offset")->to_int64()),
                               byte_count(spec).value()));
    }
    REQUIRE(made.tensors.size() == 4);
    out.push_back(std::move(made));
  }
  REQUIRE(out.size() == 2);
  return out;
}

/// A rank's share of a tensor: of the elements of an axis, or (axis -1) of all in one flat piece.
shard_metadata share_of(const std::string& key, const tensor_spec& spec, int axis, int rank,
                        int ranks) {
  shard_metadata out{.key = key,
                     .type = spec.type,
                     .local_shape = spec.shape,
                     .global_shape = spec.shape,
                     .global_offset = dims(spec.shape.rank(), 0)};
  if (axis < 0) {
    const index_t count = element_count(spec.shape).value();
    out.fragmentation = dims(spec.shape.rank(), 1);
    out.range = flat_range{count * rank / ranks, count * (rank + 1) / ranks};
    return out;
  }
  const std::size_t at = std::min(static_cast<std::size_t>(axis), spec.shape.rank() - 1);
  const index_t extent = spec.shape[at];
  out.global_offset[at] = extent * rank / ranks;
  out.local_shape[at] = extent * (rank + 1) / ranks - out.global_offset[at];
  return out;
}

/// The shards that the processes of Megatron-Core had: two of them side by side along the second
/// axis of a weight, a bias that all have, a layer for each, and an optimizer's tensor in halves of
/// which the other processes have a flat piece each.
std::vector<shard_metadata> their_shards(int rank, int ranks) {
  const int replicas = ranks / 2;
  const index_t place = rank / replicas;
  const index_t copy = rank % replicas;
  const dtype f32 = dtype_kind::float32;
  const auto range = flat_range{16 * copy / replicas, 16 * (copy + 1) / replicas};
  return {from_rank_offsets("decoder.weight", {f32, {8, 6}},
                            {.offsets = {{1, place, 2}}, .replica = copy})
              .value(),
          from_rank_offsets("decoder.bias_bf16", {dtype_kind::bfloat16, {12}}, {.replica = rank})
              .value(),
          from_rank_offsets("decoder.layers", {f32, {2, 4}},
                            {.offsets = {{0, place, 2}}, .replica = copy, .prepended_axes = 1})
              .value(),
          from_rank_offsets_flat("optimizer.flat", {f32, {range.size()}}, {{2, 8}, range},
                                 {.offsets = {{0, place, 2}}})
              .value()};
}

sharded_object step_object(int rank) {
  return sharded_object::request("optimizer.step",
                                 {.global_shape = {1}, .global_offset = {0}, .replica = rank})
      .value();
}

std::string file_of(const std::string& folder, const std::string& name) {
  return test::read_file(fs::path(folder) / name);
}

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      out.insert(entry.path().lexically_relative(folder).generic_string());
  }
  return out;
}

std::string copy_of(const fixture& of, const test::temp_directory& into) {
  const std::string to = into / of.name;
  fs::copy(of.path(), to, fs::copy_options::recursive);
  return to;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("attributes of tensors and groups, which this layout does not have, are refused") {
  const memory_store store;
  const auto with = [&](json::object of) {
    group_save_options how = in_their_layout();
    how.storage.attributes_of = std::move(of);
    return saved(
        2, store,
        [](int rank) {
          return state{{"w", with_values({.key = "g.w",
                                          .type = dtype_kind::float32,
                                          .local_shape = {1, 4},
                                          .global_shape = {2, 4},
                                          .global_offset = {rank, 0}},
                                         1)},
                       {"v", with_values({.key = "g/v",
                                          .type = dtype_kind::float32,
                                          .local_shape = {1, 4},
                                          .global_shape = {2, 4},
                                          .global_offset = {rank, 0}},
                                         1)}};
        },
        how);
  };
  const json one = json::object{{"n", 1}};
  const std::string of_tensor = with({{"g.w", one}});
  CHECK(of_tensor.starts_with("invalid_argument: "));
  CHECK(of_tensor.find("save \"g.w\": strategy ") != of_tensor.npos);
  CHECK(of_tensor.find("(zarr, 1) does not store save_options::attributes_of") != of_tensor.npos);
  const std::string of_group = with({{"g", one}});
  CHECK(of_group.starts_with("invalid_argument: "));
  CHECK(of_group.find("attributes_of \"g\": strategy ") != of_group.npos);
}

TEST_CASE("megatron_strategies: directories of 2 and 4 processes, loaded by 1, 3 and 4") {
  for (const fixture& one : fixtures()) {
    for (const int ranks : {1, 3, 4}) {
      for (const int axis : {0, 1, -1}) {
        for (const bool once : {false, true}) {
          CAPTURE(one.name);
          CAPTURE(ranks);
          CAPTURE(axis);
          CAPTURE(once);
          const auto request = [&](int rank) {
            state::map tensors;
            for (const auto& [key, spec] : one.tensors)
              tensors.emplace(key, sharded_tensor(share_of(key, spec, axis, rank, ranks)));
            return state{{"model", std::move(tensors)}, {"step", step_object(rank)}};
          };
          const auto check = [&](int, const group_load_report& report) {
            std::string wrong;
            for (const auto& [key, spec] : one.tensors) {
              const state* leaf = report.loaded.find("model/" + key);
              const tensor* value = leaf->if_tensor()->get<tensor>();
              const std::string expected = one.bytes_of(leaf->if_tensor()->metadata());
              const bytes_view bytes{value->view().data, value->size() * spec.type.size()};
              if (as_text(bytes) != expected) wrong += key + "; ";
            }
            if (report.loaded.get<int>("iteration").value_or(0) != 7) wrong += "iteration; ";
            const auto bytes = report.loaded.find("step")->if_object()->bytes();
            if (as_text(bytes) != file_of(one.path(), "optimizer.step/shard_0_1.pt"))
              wrong += "object; ";
            return wrong;
          };
          CHECK(loaded(ranks, one.path(), request, check, {.read_once = once}) == "done");
        }
      }
    }
  }
}

TEST_CASE("megatron_strategies: what 2 and 4 ranks save is the same, file for file") {
  for (const fixture& one : fixtures()) {
    CAPTURE(one.name);
    const test::temp_directory folder;
    const std::string path = folder / "ours";
    const std::string object = file_of(one.path(), "optimizer.step/shard_0_1.pt");
    const bytes_view object_bytes = as_bytes(object);
    const auto state_of = [&](int rank) {
      state::map tensors;
      for (const shard_metadata& shard : their_shards(rank, one.ranks))
        tensors.emplace(shard.key, one.value_of(shard));
      return state{
          {"iteration", 7},
          {"tensors", std::move(tensors)},
          {"step", step_object(rank).with_bytes({object_bytes.begin(), object_bytes.end()})}};
    };
    const auto reports = thread_world::run(one.ranks, [&](const thread_communicator& self) {
      return save(path, state_of(self.rank()), group_with(self), in_their_layout());
    });
    REQUIRE(outcome(reports) == "done");
    std::set<std::string> expected = files_in(one.path());
    std::erase_if(expected, [](const std::string& name) { return has(name, ".sync/"); });
    CHECK(files_in(path) == expected);
    for (const std::string& name : expected) {
      CAPTURE(name);
      if (name != "common.pt") CHECK((file_of(path, name) == file_of(one.path(), name)));
    }
    CHECK(megatron::directory::open(path)->common_json().value() ==
          megatron::directory::open(one.path())->common_json().value());
    // The owner of the first range of a cell writes it; the others write nothing of it.
    for (int rank = 0; rank < one.ranks; ++rank) {
      CAPTURE(rank);
      const bool first = rank % (one.ranks / 2) == 0;
      const std::uint64_t cells = first ? (rank == 0 ? 4U : 3U) : 0U;
      CHECK(reports[static_cast<std::size_t>(rank)]->cells == cells);
    }
  }
}

TEST_CASE("megatron_strategies: several pieces of one cell, of several ranks, in any order") {
  const test::temp_directory folder;
  const std::string path = folder / "c";
  // Two cells of 3 x 4; each rank has a piece of both, and the last rank the first pieces.
  const auto piece = [](int rank, index_t cell) {
    const index_t at[] = {7, 2, 0};
    const index_t end[] = {12, 7, 2};
    const flat_range range{at[rank], end[rank]};
    return from_rank_offsets_flat("opt/w", {dtype_kind::float64, {range.size()}}, {{3, 4}, range},
                                  {.offsets = {{0, cell, 2}}})
        .value();
  };
  const auto state_of = [&](int rank) {
    return state{{"a", with_values(piece(rank, 0), 5)}, {"b", with_values(piece(rank, 1), 5)}};
  };
  for (const bool parallel : {false, true}) {
    group_save_options options = in_their_layout(true);
    options.fully_parallel = parallel;
    CHECK(saved(3, path, state_of, options) == "done");
    CHECK(files_in(path) == std::set<std::string>{"common.pt", "metadata.json", "opt/w/.zarray",
                                                  "opt/w/0.0", "opt/w/1.0"});
    CHECK(loaded(
              2, path,
              [](int rank) {
                return state{{"w", sharded_tensor(share_of("opt/w", {dtype_kind::float64, {6, 4}},
                                                           1, rank, 2))}};
              },
              [](int, const group_load_report& report) {
                return wrong_in(*report.loaded.find("w")->if_tensor(), 5);
              }) == "done");
  }
}

TEST_CASE("megatron_strategies: every dtype of the layout, and shapes with no or no extent") {
  const test::temp_directory folder;
  std::vector<shard_metadata> all;
  for (const dtype_kind kind :
       {dtype_kind::bool_, dtype_kind::uint8, dtype_kind::int8, dtype_kind::int16,
        dtype_kind::int32, dtype_kind::int64, dtype_kind::float16, dtype_kind::bfloat16,
        dtype_kind::float32, dtype_kind::float64, dtype_kind::complex64, dtype_kind::complex128}) {
    const std::string name(to_string(dtype(kind)));
    all.push_back(share_of("full/" + name, {kind, {4, 3}}, 0, 0, 1));
    all.push_back(share_of("empty/" + name, {kind, {0, 3}}, 0, 0, 1));
    all.push_back(from_rank_offsets("scalar/" + name, {kind, {}}, {}).value());
  }
  for (shard_metadata& one : all) one.fragmentation = dims(one.global_shape.rank(), 1);
  const auto tree = [&](bool values) {
    state::list out;
    for (const shard_metadata& one : all)
      out.push_back(values ? with_values(one, 9) : sharded_tensor(one));
    return state{{"all", std::move(out)}};
  };
  CHECK(saved(1, folder / "c", [&](int) { return tree(true); }) == "done");
  CHECK(test::read_file(folder / "c/full/bfloat16/.zarray").find("\"bfloat16\"") !=
        std::string::npos);
  const auto check = [&](int, const group_load_report& report) {
    std::string wrong;
    for (const state& leaf : *report.loaded.find("all")->if_list())
      wrong += wrong_in(*leaf.if_tensor(), 9);
    return wrong;
  };
  CHECK(loaded(
            1, folder / "c", [&](int) { return tree(false); }, check) == "done");
}

TEST_CASE("megatron_strategies: what the layout does not have is refused on all ranks") {
  const test::temp_directory folder;
  const auto refused = [&](const auto& shard_of) {
    const std::string text = saved(3, folder / "c", [&](int rank) {
      return state{{"w", with_values(shard_of(rank), 1)}};
    });
    CHECK_FALSE(fs::exists(folder / "c"));
    return text;
  };
  const auto uneven = [](std::vector<index_t> ends) {
    return [ends](int rank) {
      shard_metadata out = share_of("uneven", {dtype_kind::float32, {ends.back()}}, 0, 0, 1);
      out.global_offset[0] = rank == 0 ? 0 : ends[static_cast<std::size_t>(rank) - 1];
      out.local_shape[0] = ends[static_cast<std::size_t>(rank)] - out.global_offset[0];
      return out;
    };
  };
  const std::string irregular = refused(uneven({7, 18, 31}));
  CHECK(has(irregular, "unsupported"));
  CHECK(has(irregular, "\"uneven\": the shards have different shapes"));
  CHECK_FALSE(has(irregular, "rank 0: "));  // the same on all
  const auto whole = [](const char* key, dtype type, int rank) {
    return from_rank_offsets(key, {type, {2}}, {.offsets = {{0, rank, 3}}}).value();
  };
  const std::string fp8 =
      refused([&](int rank) { return whole("eight", dtype_kind::float8_e4m3fn, rank); });
  CHECK(has(fp8, "unsupported"));
  CHECK(has(fp8, "\"eight\""));
  CHECK_FALSE(has(fp8, "rank 0: "));
  for (const char* key : {"metadata.json", "common.pt"}) {
    const std::string text =
        refused([&](int rank) { return whole(key, dtype_kind::float32, rank); });
    CHECK(has(text, "invalid_argument"));
    CHECK(has(text, std::string("\"") + key + "\" is not a name"));
  }
  // A few chunks for each shard are as good.
  const auto even = uneven({4, 8, 14});
  CHECK(saved(3, folder / "c", [&](int rank) {
          return state{{"w", with_values(even(rank), 1)}};
        }) == "done");
  CHECK(has(test::read_file(folder / "c/uneven/.zarray"), "\"chunks\": [\n        2\n    ]"));
}

TEST_CASE("megatron_strategies: a missing and a short chunk are named on all ranks") {
  const fixture one = fixtures()[1];
  const test::temp_directory folder;
  const std::string path = copy_of(one, folder);
  const auto outcome_of = [&](bool once) {
    return loaded(
        3, path,
        [&](int rank) {
          return state{{"w", sharded_tensor(share_of(
                                 "decoder.weight", one.tensors.at("decoder.weight"), 0, rank, 3))}};
        },
        [](int, const group_load_report&) { return ""; }, {.read_once = once});
  };
  const std::string chunk = path + "/decoder.weight/0.1";
  const std::string whole = test::read_file(chunk);
  for (const bool once : {false, true}) {
    CAPTURE(once);
    test::write_file(chunk, whole);
    CHECK(outcome_of(once) == "done");
    fs::remove(chunk);
    const std::string missing = outcome_of(once);
    CHECK(has(missing, "not_found"));
    CHECK(has(missing, "decoder.weight: chunk 0.1: "));
    if (!once) CHECK_FALSE(has(missing, "rank 0: "));  // which has no use for it by itself
    test::write_file(chunk, whole.substr(1));
    const std::string cut = outcome_of(once);
    CHECK(has(cut, "corrupt"));
    CHECK(has(cut, "decoder.weight: chunk 0.1: "));
    if (!once) CHECK_FALSE(has(cut, "rank 0: "));
  }
}

TEST_CASE("megatron_strategies: objects are pickled as bytes, or are files of torch.save already") {
  const test::temp_directory folder;
  const auto object = [](int rank, index_t extent = 2) {
    return sharded_object::request("rng/state", {.global_shape = {extent}, .global_offset = {rank}})
        .value();
  };
  CHECK(saved(2, folder / "c", [&](int rank) {
          const std::string text = "state of rank " + std::to_string(rank);
          const bytes_view bytes = as_bytes(text);
          return state{{"o", object(rank).with_bytes({bytes.begin(), bytes.end()})}};
        }) == "done");
  CHECK(files_in(folder / "c") == std::set<std::string>{"common.pt", "metadata.json",
                                                        "rng/state/shard_0_2.pt",
                                                        "rng/state/shard_1_2.pt"});
  const auto check = [](int rank, const group_load_report& report) {
    const auto text = as_text(report.loaded.find("o")->if_object()->bytes());
    return text == "state of rank " + std::to_string(rank) ? "" : std::string(text);
  };
  const auto ask = [&](index_t extent) {
    return loaded(
        2, folder / "c",
        [&](int rank) {
          return state{{"o", object(rank, extent)}};
        },
        check);
  };
  CHECK(ask(2) == "done");
  CHECK(has(ask(3), "objects are not resharded"));
  const auto file = megatron::directory::open(folder / "c").value().object({"rng/state", {1}, {2}});
  CHECK(as_text(torch::to_bytes(file->root()).value()) == "state of rank 1");

  // Bytes that are a file of torch.save, pickled: handed over bare they would become what is in it.
  const std::string path = folder / "c/rng/state/shard_0_2.pt";
  const std::string inner = test::read_file(folder / "c/rng/state/shard_1_2.pt");
  const bytes_view bytes = as_bytes(inner);
  const any_store there = file_store::open(folder / "c").value();
  torch::save(there, store_key::parse("rng/state/shard_0_2.pt").value(),
              torch::value(torch::value::bytes(bytes.begin(), bytes.end())))
      .value();
  const std::string outer = test::read_file(path);
  const auto found =
      load(folder / "c", state{{"o", object(0)}}, group_with({}), {.validate = false}).value();
  CHECK(as_text(found.loaded.find("o")->if_object()->bytes()) == outer);
  group_save_options part = in_their_layout();
  part.validate = false;
  save(folder / "d", state{{"o", *found.loaded.find("o")->if_object()}}, group_with({}), part)
      .value();
  CHECK(test::read_file(folder / "d/rng/state/shard_0_2.pt") == outer);
}

TEST_CASE("megatron_strategies: what training has in common never stops the tensors") {
  const std::string common = std::string(ZARRPOINT_TEST_GOLDEN) + "/megatron-lm-common/";
  const std::string key = "layers.self_attention.weight";
  const tensor_spec spec{dtype_kind::float32, {6, 10}};
  const auto ask = [&](const std::string& name, int ranks, const auto& check) {
    return loaded(
        ranks, common + name,
        [&](int rank) {
          return state{
              {"model", state{{"w", sharded_tensor(share_of(key, spec, 0, rank, ranks))}}}};
        },
        [&](int rank, const group_load_report& report) -> std::string {
          const sharded_tensor* w = report.loaded.find("model/w")->if_tensor();
          const auto elements = w->get<tensor>()->data<float>();
          for (std::size_t i = 0; i < elements.size(); ++i) {
            const auto first = static_cast<std::size_t>(w->metadata().global_offset[0] * 10);
            if (elements[i] != static_cast<float>(first + i)) return "the elements";
          }
          if (report.loaded.get<int>("iteration").value_or(0) != 1250) return "iteration";
          if (report.loaded.get<double>("checkpoint_version").value_or(0) != 3) return "version";
          return check(rank, report.loaded);
        });
  };
  for (int ranks : {1, 3}) {
    CAPTURE(ranks);
    CHECK(ask("ns", ranks, [](int, const state& all) {
            const bool right =
                all.get<std::string>("args/__class__").value_or("") == "argparse.Namespace" &&
                all.get<int>("args/num_layers").value_or(0) == 24 &&
                all.get<std::string>("args/params_dtype").value_or("") == "torch.bfloat16" &&
                all.get<std::string>("args/data_path/1").value_or("") == "b" &&
                all.at("args/rampup_batch_size").value()->if_value()->is_null();
            return std::string(right ? "" : "the arguments");
          }) == "done");
    CHECK(ask("big", ranks, [](int, const state& all) {
            return all.get<std::string>("num_floating_point_operations_so_far").value_or("") ==
                           "12345678901234567890123"
                       ? std::string()
                       : "the number";
          }) == "done");
    CHECK(ask("obj", ranks, [](int, const state&) { return std::string(); }) == "done");
    CHECK(ask("opt", ranks, [](int rank, const state& all) -> std::string {
            if (!all.find("opt_param_scheduler/5")) return "a key that is a number";
            if (all.get<double>("optimizer/param_groups/0/betas/1").value_or(0) != 0.95)
              return "the groups";
            const sharded_tensor* scale =
                all.at("optimizer/grad_scaler/scale").value()->if_tensor();
            if (scale == nullptr || scale->key() != "optimizer/grad_scaler/scale") return "a leaf";
            if (scale->replica() != replica_id(rank)) return "its replica";
            return scale->get<tensor>()->data<float>()[0] == 4 ? "" : "its element";
          }) == "done");
  }
  // What was loaded is saved again: by us, and in their layout.
  for (const auto& options : {group_save_options{}, in_their_layout()}) {
    const test::temp_directory folder;
    const auto again = thread_world::run(2, [&](const thread_communicator& self) -> result<void> {
      const process_group group = group_with(self);
      ZARRPOINT_TRY(read, load(common + "opt", state(state::map{}), group));
      ZARRPOINT_CHECK(save(folder / "c", read.loaded, group, options));
      state request(state::map{});
      request.if_map()->emplace("s", *read.loaded.find("optimizer/grad_scaler/scale")->if_tensor());
      ZARRPOINT_TRY(second, load(folder / "c", request, group));
      const bool right =
          second.loaded.find("s")->if_tensor()->get<tensor>()->data<float>()[0] == 4 &&
          second.loaded.get<double>("optimizer/param_groups/0/lr").value_or(0) == 0.1;
      return right ? result<void>() : result<void>(error{errc::corrupt, "another state"});
    });
    CHECK(outcome(again) == "done");
  }
  // Objects: the bytes that were pickled; of other values the file, as a document if asked.
  const auto from = megatron::directory::open(common + "obj").value();
  const auto extra = from.object({"decoder.layers.0._extra_state", {0}, {1}}).value();
  CHECK(as_text(torch::to_bytes(extra.root()).value()) == "hello");
  const auto random = torch::to_document(from.object({"rng_state", {0, 0}, {1, 1}}).value());
  REQUIRE(random);
  CHECK(detail::state_from_json(*random));
  CHECK(loaded(
            1, common + "obj",
            [](int) {
              return state{{"o", sharded_object::request({"rng_state", {1, 1}, {0, 0}}).value()}};
            },
            [](int, const group_load_report& report) {
              const auto bytes = report.loaded.find("o")->if_object()->bytes();
              return as_text(bytes).starts_with("PK") ? std::string() : "its file";
            }) == "done");
}

TEST_CASE("megatron_strategies: common.pt has values of Python, which a load gives back") {
  const double infinite = -std::numeric_limits<double>::infinity();
  const auto not_a_number = std::bit_cast<double>(std::uint64_t{0x7ff8000000000001});
  const state all{{"nan", not_a_number},
                  {"deep", state(state::list{state{{"x", infinite}}, state("a")})},
                  {"raw", std::string("\xff\xfe")},
                  {"$key", state{{"$$more", 1}}}};
  const std::string document = dump_json(to_json(all).value());
  for (const char* const layout : {"zarr", "torch_dist"}) {
    CAPTURE(layout);
    const test::temp_directory folder;
    group_save_options options;
    options.sharded = strategy_choice(layout, 1);
    REQUIRE(saved(
                1, folder / "c", [&](int) { return all; }, options) == "done");
    const auto store = file_store::open(folder / "c").value();
    const auto file = torch::open(store, store_key::parse("common.pt").value()).value();
    const auto number = file.root().find("nan").value().to_double();
    REQUIRE(number);
    CHECK(std::bit_cast<std::uint64_t>(*number) == 0x7ff8000000000001);
    const auto deep = file.root().find("deep").value().element(0).find("x").value();
    CHECK(deep.to_double().value_or(0) == infinite);
    const auto raw = torch::to_bytes(file.root().find("raw").value());
    REQUIRE(raw);
    CHECK(as_text(*raw) == "\xff\xfe");
    CHECK(file.root().find("$key"));
    const auto again = load(folder / "c", state(state::map{}), group_with(single_process{}));
    CHECK(dump_json(to_json(again.value().loaded).value()) == document);
  }
}

TEST_CASE("megatron_strategies: what others put beside a checkpoint is kept") {
  const auto state_of = [](const std::string& key) {
    return [key](int rank) {
      const auto shard =
          from_rank_offsets(key, {dtype_kind::float32, {2}}, {.offsets = {{0, rank, 2}}}).value();
      return state{{"w", with_values(shard, 1)}};
    };
  };
  const std::vector<std::string> others{"latest_checkpointed_iteration.txt", "model/notes.txt",
                                        "tokenizer/"};
  const auto key = [](const char* text) { return store_key::parse(text).value(); };
  const group_save_options ours;
  const struct {
    group_save_options first, second;
    bool in_memory;
  } cases[] = {{in_their_layout(), in_their_layout(true), false},
               {ours, ours, false},
               {in_their_layout(), in_their_layout(true), true}};
  for (const auto& one : cases) {
    CAPTURE(&one - cases);
    const test::temp_directory folder;
    const memory_store memory;
    const location where = one.in_memory ? location(memory) : location(folder / "c");
    REQUIRE(saved(2, where, state_of("model/w"), one.first) == "done");
    const auto root = [&]() -> any_store {
      if (one.in_memory) return memory;
      return file_store::open(folder / "c").value();
    };
    for (const char* name :
         {"latest_checkpointed_iteration.txt", "tokenizer/vocab.json", "model/notes.txt"})
      root().put(key(name), as_bytes(std::string_view(name))).value();
    const auto reports = thread_world::run(2, [&](const thread_communicator& self) {
      return save(where, state_of("new/w")(self.rank()), group_with(self), one.second);
    });
    REQUIRE(outcome(reports) == "done");
    for (const auto& report : reports) CHECK(report->kept == others);
    CHECK(root().open(key("latest_checkpointed_iteration.txt")).value() != nullptr);
    CHECK(root().open(key("tokenizer/vocab.json")).value() != nullptr);
    CHECK(root().list(key("model")).value().size() == 1);  // the notes
    CHECK(root().list(key("new")).value().size() >= 1);
  }
  // Another layout is never replaced.
  const test::temp_directory folder;
  REQUIRE(saved(2, folder / "ours", state_of("w"), ours) == "done");
  CHECK(has(saved(2, folder / "ours", state_of("w"), in_their_layout(true)),
            "is a zarrpoint checkpoint, not a checkpoint of megatron_zarr_saver(zarr, 1)"));
  fs::create_directories(folder / "c");
  megatron::detail::write_metadata(file_store::open(folder / "c").value(),
                                   {"torch_dist", 1, "torch", 1})
      .value();
  CHECK(has(saved(2, folder / "c", state_of("w"), in_their_layout(true)), "nothing was changed"));
  CHECK(file_of(folder / "c", "metadata.json").find("torch_dist") != std::string::npos);
}

TEST_CASE("megatron_strategies: beside the objects of a key, too") {
  const test::temp_directory folder;
  const auto state_of = [](const std::string& key) {
    return [key](int rank) {
      return state{{"o", sharded_object::make(key, json_text{"1"}, {{2}, {rank}, {}}).value()}};
    };
  };
  REQUIRE(saved(2, folder / "c", state_of("rng")) == "done");
  fs::create_directories(folder / "c/new");
  test::write_file(folder / "c/new/notes.txt", "a note");
  test::write_file(folder / "c/rng/notes.txt", "a note");
  const std::vector<std::string> notes{"new/notes.txt", "rng/notes.txt"};
  for (const char* key : {"new", "rng"}) {
    const auto reports = thread_world::run(2, [&](const thread_communicator& self) {
      return save(folder / "c", state_of(key)(self.rank()), group_with(self),
                  in_their_layout(true));
    });
    REQUIRE(outcome(reports) == "done");
    const bool is_new = std::string_view(key) == "new";
    for (const auto& report : reports) CHECK(report->kept == notes);
    for (const std::string& one : notes) CHECK(test::read_file(folder / "c/" + one) == "a note");
    CHECK(fs::exists(folder / "c/rng/shard_0_2.pt") == !is_new);
    CHECK(fs::exists(folder / "c/new/shard_0_2.pt") == is_new);
  }
}

TEST_CASE("megatron_strategies: a checkpoint is replaced if told so, another directory never") {
  const test::temp_directory folder;
  const auto state_of = [](std::uint64_t seed) {
    return [seed](int rank) {
      const auto shard =
          from_rank_offsets("w", {dtype_kind::float32, {2}}, {.offsets = {{0, rank, 2}}}).value();
      return state{{"w", with_values(shard, seed)}};
    };
  };
  const auto holds = [&](const location& where, std::uint64_t seed) {
    return loaded(
        1, where,
        [](int) {
          return state{{"w", sharded_tensor(share_of("w", {dtype_kind::float32, {4}}, 0, 0, 1))}};
        },
        [&](int, const group_load_report& report) {
          return wrong_in(*report.loaded.find("w")->if_tensor(), seed);
        });
  };
  // Megatron-Core's own, and then ours.
  const std::string path = copy_of(fixtures()[0], folder);
  const auto before = files_in(path);
  const std::string refused = saved(2, path, state_of(1));
  CHECK(has(refused, "already_exists"));
  CHECK(has(refused, "overwrite is false"));
  CHECK(files_in(path) == before);
  CHECK(saved(2, path, state_of(1), in_their_layout(true)) == "done");
  CHECK(files_in(path) ==
        std::set<std::string>{"common.pt", "metadata.json", "w/.zarray", "w/0", "w/1"});
  CHECK(saved(2, path, state_of(2), in_their_layout(true)) == "done");
  CHECK(holds(path, 2) == "done");
  // A save in our own format replaces only what is in that; and the other way round.
  group_save_options ours;
  ours.storage.overwrite = true;
  CHECK(has(saved(2, path, state_of(3), ours), "is a Megatron-Core checkpoint, not a zarrpoint"));
  CHECK(holds(path, 2) == "done");
  CHECK(saved(2, folder / "v3", state_of(3), ours) == "done");
  CHECK(has(saved(2, folder / "v3", state_of(4), in_their_layout(true)),
            "is a zarrpoint checkpoint, not a checkpoint of"));
  CHECK(holds(folder / "v3", 3) == "done");
  // Anything else is somebody's.
  for (const char* text : {"{}", "[1]", "{\"name\": \"sharded_backend\"}", "no JSON"}) {
    const std::string other = folder / "other";
    fs::create_directories(other);
    test::write_file(other + "/metadata.json", text);
    const bool names_backend = has(text, "\"sharded_backend\"");
    CHECK(has(saved(2, other, state_of(1), in_their_layout(true)),
              names_backend ? "is a Megatron-Core checkpoint, not a checkpoint of"
                            : "is a directory with other files, not a checkpoint of"));
    CHECK(test::read_file(other + "/metadata.json") == text);
  }
  // In a store that cannot publish a tree nothing of the old one shows through.
  const memory_store store;
  for (const std::uint64_t seed : {5U, 6U}) {
    CHECK(saved(2, location(any_store(store)), state_of(seed), in_their_layout(true)) == "done");
    CHECK(holds(location(any_store(store)), seed) == "done");
  }
  CHECK(store.list(store_key::parse("w").value()).value().size() == 3);
}

TEST_CASE("megatron_strategies: saved in the background") {
  const test::temp_directory folder;
  const auto outcomes =
      thread_world::run(2, [&](const thread_communicator& self) -> result<std::size_t> {
        async_saves saves(group_with(self));
        std::vector<float> w(2);
        for (int step = 1; step <= 2; ++step) {
          std::fill(w.begin(), w.end(), static_cast<float>(step));
          ZARRPOINT_TRY(part, shard("w", w, {.offsets = {{0, self.rank(), 2}}}));
          ZARRPOINT_CHECK(saves.schedule(folder / std::to_string(step),
                                         state{{"step", step}, {"w", part}}, in_their_layout()));
        }
        std::fill(w.begin(), w.end(), -1.F);
        ZARRPOINT_TRY(done, saves.finalize());
        return done.size();
      });
  REQUIRE(outcome(outcomes) == "done");
  for (const auto& done : outcomes) CHECK(*done == 2);
  for (int step = 1; step <= 2; ++step) {
    const std::string path = folder / std::to_string(step);
    const auto all = load_plain_tensors(path, group_with({})).value();
    for (const float one : all.at("w").data<float>()) CHECK(one == static_cast<float>(step));
    CHECK(load_common_state(path, group_with({}))->get<int>("step").value() == step);
  }
}

/// A store that cannot tell what is in it.
struct unlisted_store {
  memory_store base;

  auto open(const store_key& key) const { return base.open(key); }
  std::string describe(const store_key& key) const { return base.describe(key); }
  auto create(const store_key& key) const { return base.create(key); }
  auto put(const store_key& key, bytes_view bytes) const { return base.put(key, bytes); }
  auto erase(const store_key& key) const { return base.erase(key); }
  auto erase_all(const store_key& key) const { return base.erase_all(key); }
};

TEST_CASE("megatron_strategies: what lies where nothing can be listed is not cleared away") {
  const unlisted_store store;
  const store_key note = store_key::parse("notes/mine").value();
  store.put(note, as_bytes(std::string_view("mine"))).value();
  const auto step = [](int) { return state{{"step", 1}}; };
  CHECK(saved(2, location(store), step, in_their_layout(true)) == "done");
  CHECK(store.open(note).value() != nullptr);
  // What is beside a checkpoint goes with it.
  CHECK(saved(2, location(store), step, in_their_layout(true)) == "done");
  CHECK(store.open(note).value() == nullptr);
}

/// A program's own, in place of ours.
struct noting_saver {
  static constexpr std::string_view name = "noting_saver";
  static constexpr std::string_view backend = "zarr";
  static constexpr int version = 1;
  static constexpr strategy_action action = strategy_action::save_sharded;
  static strategy_id companion() { return megatron::saver::companion(); }

  result<array_metadata> layout(const save_job& job, const planned_tensor& tensor) const {
    return megatron::saver{}.layout(job, tensor);
  }
  result<message> write(const save_job& job, const shard_writes& mine) const {
    return megatron::saver{}.write(job, mine);
  }
  result<void> finish(const save_job& job, const save_receipts& all) const {
    ZARRPOINT_TRY(note, store_key::parse("note.txt"));
    ZARRPOINT_CHECK(job.store.put(note, as_bytes(std::string_view("noted"))));
    return megatron::saver{}.finish(job, all);
  }
};
using noting_strategies = megatron::strategies::with<noting_saver>;

/// Rank 1 leaves out an array or an object, and says that all is well.
struct forgetful_saver : megatron::saver {
  bool has_arrays = true;

  result<message> write(const save_job& job, const shard_writes& mine) const {
    shard_writes rest = mine;
    if (mine.objects.empty()) {
    } else if (has_arrays) {
      rest.objects.clear();
    } else {
      rest.arrays.clear();
    }
    return megatron::saver::write(job, rest);
  }
};

TEST_CASE("megatron_strategies: what was not written is named, and the old checkpoint stays") {
  const test::temp_directory folder;
  const std::string path = folder / "c";
  const auto of_step = [](int step) {
    return [=](int rank) {
      std::vector<float> values(3, static_cast<float>(10 * step + rank));
      state out{{"w", shard("w", std::move(values), {.offsets = {{0, rank, 2}}}).value()}};
      if (rank == 1)
        out.if_map()->emplace("o", sharded_object::make("o", json_text{std::to_string(step)},
                                                        {.global_shape = {1}, .global_offset = {0}})
                                       .value());
      return out;
    };
  };
  const auto files = [](const std::string& of) {
    std::string out;
    for (const char* one : {"/metadata.json", "/w/.zarray", "/w/0", "/w/1", "/o/shard_0_1.pt"}) {
      CHECK(fs::exists(of + one));
      out += test::read_file(of + one);
    }
    return out;
  };
  REQUIRE(saved(2, path, of_step(1)) == "done");
  REQUIRE(saved(2, folder / "next", of_step(2)) == "done");
  const std::string before = files(path);
  CHECK(files(folder / "next") != before);
  for (const bool has_arrays : {false, true}) {
    forgetful_saver saver;
    saver.has_arrays = has_arrays;
    group_save_options options = in_their_layout(true);
    options.sharded = saver;
    CHECK(saved(2, path, of_step(2), options) ==
          "corrupt: save " + path +
              ": rank 0: 1 of 3 planned objects were not written, among them " +
              (has_arrays ? "\"o\" o/shard_0_1 of rank 1" : "\"w\" 1 of rank 1"));
    CHECK(files(path) == before);
  }
}

TEST_CASE("megatron_strategies: as types; a program's own stays in place of ours") {
  const auto table = noting_strategies::table();
  CHECK(table.entries().size() == megatron::strategies::table().entries().size());
  const strategy_id theirs{"zarr", 1};
  CHECK(to_string(table.find(strategy_action::save_sharded, theirs).value()) ==
        "noting_saver(zarr, 1)");
  CHECK(to_string(table.find(strategy_action::load_sharded, theirs).value()) ==
        "megatron_zarr_loader(zarr, 1)");
  CHECK(to_string(table.find(strategy_action::load_common, {"torch", 1}).value()) ==
        "torch_common_loader(torch, 1)");
  CHECK(to_string(table.find(strategy_action::save_common, {"torch", 1}).value()) ==
        "torch_common_saver(torch, 1)");

  const test::temp_directory folder;
  process_group group = group_with({});
  group.known = table;
  const state tree{{"step", 3}};
  for (const char* name : {"a", "b"}) {  // looking one up does not bring ours back
    save(folder / name, tree, group, in_their_layout()).value();
    CHECK(fs::exists(folder / std::string(name) + "/note.txt"));
  }
  // Without `is_checkpoint` a saver replaces none of these.
  CHECK(save(folder / "a", tree, group, in_their_layout(true)).failure().code ==
        errc::already_exists);

  // Without the strategies, the error lists those that there are.
  const process_group bare = group_of({});
  const error no_saver = save(folder / "c", tree, bare, in_their_layout()).failure();
  CHECK(no_saver.code == errc::unsupported);
  CHECK(has(no_saver.message, "no strategy to save_sharded for (zarr, 1)"));
  CHECK(has(no_saver.message, "this program has (zarr, 3)"));
  const error no_loader = load(folder / "a", state{{"x", 1}}, bare).failure();
  CHECK(no_loader.code == errc::unsupported);
  CHECK(has(no_loader.message, "no strategy to load_sharded for (zarr, 1)"));
  test::write_file(folder / "a/metadata.json",
                   "{\"sharded_backend\": \"zarr\", \"sharded_backend_version\": 2}");
  const error version = load(folder / "a", state{{"x", 1}}, group_with({})).failure();
  CHECK(version.code == errc::unsupported);
  CHECK(has(version.message, "another version of a known backend"));
  // Some versions name the sharded backend only.
  test::write_file(folder / "a/metadata.json",
                   "{\"sharded_backend\": \"zarr\", \"sharded_backend_version\": 1}");
  CHECK(load_common_state(folder / "a", group_with({}))->get<int>("step").value() == 3);
}

TEST_CASE("megatron_strategies: common states that differ, and what the content is") {
  const test::temp_directory folder;
  group_save_options options = in_their_layout();
  options.content_metadata = json::object{{"none", json::object{}}, {"version", 2}};
  const auto reports = thread_world::run(3, [&](const thread_communicator& self) {
    return save(folder / "c", state{{"seed", self.rank() == 2 ? 8 : 5}}, group_with(self), options);
  });
  REQUIRE(outcome(reports) == "done");
  for (const auto& report : reports) {
    REQUIRE(report->warnings.size() == 1);
    CHECK(has(report->warnings[0], "2"));
    CHECK(has(report->warnings[0], "seed"));
  }
  const auto common = load_common_state(folder / "c", group_with({})).value();
  CHECK(common.get<int>("seed").value() == 5);
  CHECK(common.find("content_metadata") == nullptr);
  CHECK(load_content_metadata(folder / "c", group_with({})).value() == options.content_metadata);
  CHECK(load_content_metadata(fixtures()[0].path(), group_with({})).value().is_null());
  options.content_metadata = json::object{};
  CHECK(saved(
            2, folder / "empty",
            [](int) {
              return state{{"x", 1}};
            },
            options) == "done");
  const json empty = load_content_metadata(folder / "empty", group_with({})).value();
  CHECK(empty == json(json::object{}));
  CHECK_FALSE(empty.is_null());
}

TEST_CASE("megatron_strategies: tensors and objects of a prefix are removed, locks and all") {
  const fixture one = fixtures()[1];
  const test::temp_directory folder;
  const std::string path = copy_of(one, folder);
  const process_group group = group_with({});
  CHECK(remove_sharded_tensors(path, "nothing.", group).value().empty());
  CHECK(files_in(path) == files_in(one.path()));
  CHECK(remove_sharded_tensors(path, "optimizer.", group).value() ==
        std::vector<std::string>{"optimizer.flat", "optimizer.step"});
  for (const std::string& name : files_in(path)) CHECK_FALSE(has(name, "optimizer."));
  const auto left = load_plain_tensors(path, group).value();
  CHECK(left.size() == 3);
  CHECK(left.at("decoder.weight").spec() == one.tensors.at("decoder.weight"));
  CHECK(load_common_state(path, group)->get<int>("iteration").value() == 7);
}

}  // namespace megatron_strategies_test
