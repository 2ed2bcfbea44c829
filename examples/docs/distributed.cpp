// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/distributed.md, with threads for processes. Each returns whether it gave
// what the page promises.
//
//   docs_distributed [folder for the checkpoints]

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/megatron.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace zp = zarrpoint;

namespace {

zp::result<void> save_part(const std::string& path, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  std::vector<float> bias(6, static_cast<float>(rank));  // 6 elements of 6 * ranks
  ZARRPOINT_TRY(part, zp::shard("bias", bias, {.offsets = {{0, rank, ranks}}}));
  ZARRPOINT_TRY(random,
                zp::sharded_object::make("random", zp::json_text{"{\"seed\": 7}"},
                                         {.global_shape = {ranks}, .global_offset = {rank}}));

  const zp::state model{{"step", 1200}, {"bias", part}, {"random", random}};
  ZARRPOINT_TRY(report, zp::save(path, model, group));
  std::printf("rank %d wrote %d bytes\n", rank, static_cast<int>(report.bytes));
  return {};
}

zp::result<void> load_part(const std::string& path, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  std::vector<float> bias(24 / static_cast<std::size_t>(ranks));
  ZARRPOINT_TRY(part, zp::shard("bias", bias, {.offsets = {{0, rank, ranks}}}));

  const zp::state wanted{{"bias", part}};
  ZARRPOINT_TRY(report, zp::load(path, wanted, group));  // into `bias`
  ZARRPOINT_TRY(step, report.loaded.get<int>("step"));
  const int saver = rank * 24 / ranks / 6;  // whose rank the first element is
  return step == 1200 && bias[0] == static_cast<float>(saver)
             ? zp::result<void>()
             : zp::error{zp::errc::corrupt, "other values"};
}

template <class Work>
bool on_threads(int ranks, const std::string& path, Work work) {
  const auto outcomes = zp::thread_world::run(ranks, [&](const zp::thread_communicator& self) {
    return work(path, zp::process_group{.ranks = self});
  });
  for (const auto& one : outcomes)
    if (!one) std::printf("%s\n", to_string(one.failure()).c_str());
  return std::all_of(outcomes.begin(), outcomes.end(), [](const auto& one) { return bool(one); });
}

zp::result<void> describe(int rank, int ranks) {
  std::vector<float> row(8);
  // The same on each process of a data-parallel group: replica 0 is stored.
  ZARRPOINT_TRY(scale, zp::shard("scale", row, {.replica = {rank}}));
  // One layer of 24, which axis 0 of the global tensor counts, and a fragment along axis 1.
  ZARRPOINT_TRY(layer, zp::shard("layers", row,
                                 {.offsets = {{0, 3, 24}, {1, rank, ranks}}, .prepended_axes = 1}));
  // Elements 4 to 12 of a shard of shape [4, 7], which is fragment 3 of 5 along axis 1.
  ZARRPOINT_TRY(piece, zp::shard_flat("moments", row, {{4, 7}, {4, 12}}, {.offsets = {{1, 3, 5}}}));
  // Any other box: shards of a tensor may differ, as long as together they tile it.
  zp::shard_metadata box{.key = "odd", .type = zp::dtype_kind::float32, .local_shape = {8}};
  box.global_shape = {20};
  box.global_offset = {12};
  ZARRPOINT_TRY(odd, zp::sharded<std::vector<float>>::borrow(box, row));
  // The first 2 rows of the 4 of each shard: of `piece` a view of what lies in them.
  ZARRPOINT_TRY(top, zp::narrow(piece, {.axis = 0, .start = 0, .length = 2}));

  const bool right = scale.replica().is_main() == (rank == 0) &&
                     layer.metadata().global_shape == zp::dims{24, 8 * ranks} &&
                     piece.metadata().global_shape == zp::dims{4, 35} && odd.has_data() &&
                     top->metadata().global_shape == zp::dims{2, 35};
  return right ? zp::result<void>() : zp::error{zp::errc::corrupt, "other shapes"};
}

zp::result<void> divide(const std::string& path, const zp::process_group& group) {
  const int rank = group.ranks.rank();
  // JAX's Mesh of 2 x 2 devices with axes "x" and "y": neighbouring ranks differ along the last.
  ZARRPOINT_TRY(mesh, zp::rank_mesh::make({{"x", 2}, {"y", 2}}, zp::mesh_order::last_fastest));
  // PartitionSpec(None, "x"): columns are divided along x, and ranks along y hold copies.
  ZARRPOINT_TRY(columns, zp::partition::make(mesh, {{{}, {"x"}}}));
  ZARRPOINT_TRY(mine, columns.shard_of("w", {zp::dtype_kind::float32, {3, 8}}, rank));
  std::vector<float> w(12, 1.5F);  // of shape [3, 4]
  ZARRPOINT_TRY(part, zp::sharded<std::vector<float>>::borrow(mine, w));
  ZARRPOINT_CHECK(zp::save(path, zp::state{{"w", part}}, group));

  // And back: which axes of the mesh divide the boxes that the ranks have.
  ZARRPOINT_TRY(boxes, columns.boxes_of({3, 8}));
  ZARRPOINT_TRY(found, zp::partition::of_boxes(mesh, {3, 8}, boxes));
  return found.spec() == columns.spec() && boxes[3] == zp::box{{0, 4}, {3, 4}} &&
                 mine.replica.is_main() == (rank % 2 == 0)
             ? zp::result<void>()
             : zp::error{zp::errc::corrupt, "other boxes"};
}

zp::result<void> arrange(std::vector<float>& w, std::vector<float>& gate_and_up) {
  ZARRPOINT_TRY(part, zp::shard("layers.w", w));
  ZARRPOINT_TRY(fused, zp::shard("fc1", gate_and_up));
  ZARRPOINT_TRY(gated, zp::split_factory(fused));
  const zp::state model{{"step", 1200},
                        {"layers", zp::state::list{{{"w", part}}, {}}},
                        {"swiglu", gated},
                        {"device", zp::local_only(3)}};

  ZARRPOINT_TRY(parts, zp::extract(model, zp::of_kind(zp::state_kind::tensor)));
  ZARRPOINT_TRY(whole, zp::merge(parts.matching, parts.rest));  // as it was
  ZARRPOINT_TRY(step, whole.get<int>("step"));
  const bool right = step == 1200 && parts.matching.find("layers/0/w") != nullptr &&
                     parts.rest.find("layers/0/w") == nullptr;
  return right ? zp::result<void>() : zp::error{zp::errc::corrupt, "another tree"};
}

zp::result<void> train(const std::string& path, const zp::process_group& group) {
  zp::async_saves saves(group);
  std::vector<float> w(1000);
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  for (int step = 1; step <= 3; ++step) {
    std::fill(w.begin(), w.end(), static_cast<float>(step));
    ZARRPOINT_TRY(part, zp::shard("w", w, {.offsets = {{0, rank, ranks}}}));
    ZARRPOINT_CHECK(saves.schedule(path, zp::state{{"step", step}, {"w", part}}));
    ZARRPOINT_CHECK(saves.finalize(false));  // those that are written on all processes
  }
  ZARRPOINT_CHECK(saves.finalize());  // and the others

  std::uint64_t noted = 0;
  std::fill(w.begin(), w.end(), 3.F);
  ZARRPOINT_TRY(last, zp::shard("w", w, {.offsets = {{0, rank, ranks}}}));
  const auto note = [&noted](const zp::save_report& report) -> zp::result<void> {
    noted += report.cells;  // or: remove the iteration before the last
    return {};
  };
  ZARRPOINT_CHECK(saves.schedule(path, zp::state{{"step", 4}, {"w", last}}, {}, note));
  ZARRPOINT_CHECK(saves.finalize());
  return noted == 1 ? zp::result<void>() : zp::error{zp::errc::corrupt, "was not called"};
}

zp::result<void> save_seeds(const std::string& path, const zp::process_group& group) {
  zp::group_save_options options;
  options.compared_common = [](zp::json common) {  // a copy: what rank 0 has is stored, whole
    std::erase_if(*common.if_object(), [](const auto& member) { return member.key == "seed"; });
    return common;
  };
  const zp::state mine{{"step", 1200}, {"seed", group.ranks.rank()}};
  ZARRPOINT_TRY(report, zp::save(path, mine, group, options));
  return report.warnings.empty() ? zp::result<void>()
                                 : zp::error{zp::errc::corrupt, report.warnings.front()};
}

zp::result<void> resume(const std::string& path, const zp::process_group& group) {
  zp::shard_metadata more{.key = "w", .type = zp::dtype_kind::float32, .local_shape = {3000}};
  more.global_shape = {3000};
  more.global_offset = {0};
  more.allow_shape_mismatch = true;   // 2000 are stored
  more.replica = group.ranks.rank();  // each process has a copy
  zp::shard_metadata new_one = more;
  new_one.key = "added later";

  const zp::state wanted{{"w", zp::sharded_tensor(more)}, {"new", zp::sharded_tensor(new_one)}};
  ZARRPOINT_TRY(report, zp::load(path, wanted, group,
                                 {.strict = zp::strictness::return_all, .read_once = true}));
  const zp::tensor& w = *report.loaded.find("w")->if_tensor()->get<zp::tensor>();
  const bool right = report.unexpected.contains("added later") && report.missing.empty() &&
                     w.data<float>()[1999] == 3 && w.data<float>()[2000] == 0;
  return right ? zp::result<void>() : zp::error{zp::errc::corrupt, "other values"};
}

zp::result<void> keep_optimizer(const std::string& folder, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  std::vector<float> w(6), moment(6, 0.5F);
  ZARRPOINT_TRY(part, zp::shard("w", w, {.offsets = {{0, rank, ranks}}}));
  const zp::state model{{"layer", zp::state{{"w", part}}}};

  const std::vector<std::string> paths{"layer/w"};  // the optimizer's parameters 0, 1, ...
  ZARRPOINT_TRY(parameters, zp::sharded_parameters::of_model(model, paths));
  zp::optimizer_state adam(parameters);
  ZARRPOINT_CHECK(adam.add(0, "exp_avg", moment));  // "optimizer.state.exp_avg.w"
  ZARRPOINT_CHECK(adam.add_group({{"lr", 0.001}}, {0}));

  ZARRPOINT_TRY(where, zp::iteration_at(folder, 1200));  // iter_0001200
  ZARRPOINT_CHECK(zp::save(where, zp::state{{"model", model}, {"optimizer", adam.tree()}}, group));
  ZARRPOINT_TRY(iterations, zp::list_iterations(folder));
  ZARRPOINT_TRY(latest, zp::iteration_at(folder, iterations.back()));
  ZARRPOINT_TRY(report, zp::load(latest, zp::state{{"model", model}}, group));  // no moments
  ZARRPOINT_TRY(rate, report.loaded.get<double>("optimizer/param_groups/0/lr"));
  return rate == 0.001 ? zp::result<void>() : zp::error{zp::errc::corrupt, "another rate"};
}

/// Writes what all have in common as a document of its own, for people who look with an editor.
struct readable_common_saver : zp::json_common_saver {
  static constexpr std::string_view name = "readable_common_saver";

  zp::result<std::vector<zp::leaf_record>> save_common(const zp::save_job& job,
                                                       const zp::json& common) const {
    ZARRPOINT_TRY(key, zp::store_key::parse("common.json"));
    const std::string text = zp::dump_json(common, zp::json_style::pretty);
    ZARRPOINT_CHECK(job.store.put(key, zp::as_bytes(text)));
    return zp::json_common_saver::save_common(job, common);
  }
};
// In place of ours, which has the same backend, version and action.
using my_strategies = zp::default_strategies::with<readable_common_saver>;

zp::result<void> save_readably(const std::string& path, zp::process_group group) {
  group.known = my_strategies::table();
  return save_part(path, group);
}

zp::result<void> save_for_megatron(const std::string& path, zp::process_group group) {
  group.known = zp::megatron::strategies::table();
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  std::vector<float> w(6, static_cast<float>(rank));
  ZARRPOINT_TRY(part, zp::shard("decoder.w", w, {.offsets = {{0, rank, ranks}}}));
  ZARRPOINT_CHECK(
      zp::save(path, zp::state{{"w", part}}, group, {.sharded = zp::strategy_choice("zarr", 1)}));
  ZARRPOINT_CHECK(zp::load(path, zp::state{{"w", part}}, group));  // as its metadata say
  return {};
}

bool look_into_megatron(const std::string& path) {
  namespace mg = zp::megatron;
  const auto from = mg::directory::open(path).value();
  const mg::contents all = from.list().value();  // keys of tensors and of objects
  const zp::tensor weight = from.read("decoder.w").value();
  const zp::json common = from.common_json().value();
  return all.tensors.size() == 1 && weight.size() == 12 && common.if_object() != nullptr;
}

bool look(const std::string& path) {
  const auto tensors = zp::load_tensors_metadata(path).value();
  const auto values = zp::load_plain_tensors(path).value();
  const auto common = zp::load_common_state(path).value();
  const auto bias = zp::open(path).value().load<std::vector<float>>("bias").value();
  return tensors.at("bias").metadata().global_shape == zp::dims{24} &&
         values.at("bias").size() == 24 && common.get<int>("step").value() == 1200 &&
         bias.size() == 24;
}

bool passed(const char* name, bool good) {
  if (!good) std::printf("FAIL %s\n", name);
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? std::string(arguments[1]) + "/" : "";
  const std::string model = folder + "model.zarr", run = folder + "run.zarr";
  const std::string readable = folder + "readable.zarr", megatron = folder + "megatron";
  bool good = passed("save", on_threads(4, model, save_part));
  good = passed("load", on_threads(3, model, load_part)) && good;
  good = passed("look", look(model)) && good;
  good = passed("describe", on_threads(2, "",
                                       [](const auto&, const zp::process_group& group) {
                                         return describe(group.ranks.rank(), group.ranks.size());
                                       })) &&
         good;
  good = passed("divide", on_threads(4, folder + "divided.zarr", divide)) && good;
  std::vector<float> w(8), gate_and_up(8);
  good = passed("arrange", bool(arrange(w, gate_and_up))) && good;
  good = passed("seeds", on_threads(3, folder + "seeds.zarr", save_seeds)) && good;
  good = passed("train", on_threads(2, run, train)) && good;
  good = passed("resume", on_threads(3, run, resume)) && good;
  const std::string here = count > 1 ? arguments[1] : ".";
  good = passed("optimizer", on_threads(3, here, keep_optimizer)) && good;
  good = passed("strategy", on_threads(4, readable, save_readably)) && good;
  good = passed("strategy: load", on_threads(2, readable, load_part)) && good;
  good = passed("megatron", on_threads(2, megatron, save_for_megatron)) && good;
  good = passed("megatron: look", look_into_megatron(megatron)) && good;
  std::puts(good ? "all as docs/distributed.md says" : "not as docs/distributed.md says");
  return good ? 0 : 1;
}
