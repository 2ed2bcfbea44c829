// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/training.md. It returns whether they gave what the page promises.

#include <zarrpoint/delta.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/group_manager.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace zp = zarrpoint;

namespace {

zp::checkpoint_manager* running = nullptr;

void load(const zp::checkpoint& from, std::vector<float>& w, std::int64_t& step) {
  w = from.load<std::vector<float>>("w").value();
  step = from.load<std::int64_t>("step").value();
}

/// A step of the training; its loss is least when the first weight is 440.
double train(std::vector<float>& w) {
  for (float& one : w) one += 1;
  return (w[0] - 440.0) * (w[0] - 440.0);
}

// clang-format off
std::int64_t run() {
  std::vector<float> w(1000);
  std::int64_t step = 0;
  auto manager = zp::checkpoint_manager::open(
      "run", {.save_when = zp::save_policy::every_steps(100),
              .keep = zp::keep_policy::newest(3) |
                      zp::keep_policy::best(1, "loss", zp::better::lower)}).value();
  if (auto last = manager.latest().value()) load(manager.restore(*last).value().data, w, step);
  for (++step; step <= 1000; ++step) {
    const double loss = train(w);
    if (manager.should_save(step)) manager.save(step, {{"w", w}, {"step", step}}, {{"loss", loss}}).value();
  }
  manager.close().value();
  return step;
}

bool unchanged() {
  zp::manager_options options{.save_when = zp::save_policy::every_steps(100),
                              .keep = zp::keep_policy::newest(3),
                              .share_unchanged = true};
  const std::vector<float> embedding(100'000, 0.5F);
  std::vector<float> head(2'000);
  auto manager = zp::checkpoint_manager::open("fine_tune", options).value();
  for (std::int64_t step = 100; step <= 500; step += 100) {
    head[static_cast<std::size_t>(step)] = 1;
    if (manager.should_save(step))
      manager.save(step, {{"embedding", embedding}, {"head", head}}).value();
  }
  manager.close().value();
  return manager.last_report().value().shared_bytes == embedding.size() * sizeof(float) &&
         manager.restore(500).value().data.load<std::vector<float>>("head").value() == head;
}

bool deltas() {
  zp::manager_options options{.save_when = zp::save_policy::every_steps(100),
                              .keep = zp::keep_policy::newest(3),
                              .whole_when = zp::save_policy::every_steps(1000)};
  std::vector<std::uint16_t> w(100'000);  // bfloat16 bits
  auto manager = zp::checkpoint_manager::open("delta_run", options).value();
  for (std::int64_t step = 1000; step <= 1500; step += 100) {
    w[static_cast<std::size_t>(step)] += 1;
    if (manager.should_save(step)) manager.save(step, {{"w", w}}).value();
  }
  manager.close().value();
  return manager.steps() == std::vector<std::int64_t>{1000, 1300, 1400, 1500} &&
         manager.restore(1500).value().data.load<std::vector<std::uint16_t>>("w").value() == w &&
         zp::open_delta("delta_run/step_00001500").value().contains("w");
}

bool items(zp::checkpoint_manager& manager) {
  const std::vector<float> w(100, 1), m(100, 2);
  zp::json settings;
  settings.set("seed", 7);
  manager.save_items(2000, {{.name = "model", .leaves = {{"w", w}}},
                            {.name = "optimizer", .leaves = {{"m", m}},
                             .options = zp::save_options{.rules = {{.codecs = zp::zstd_codecs()}}}},
                            {.name = "settings.json", .document = settings}}).value();
  manager.wait().value();
  auto model = manager.restore(2000, "model").value();
  return model.data.load<std::vector<float>>("w").value() == w &&
         manager.document(2000, "settings.json").value() == settings;
}

bool many(const zp::process_group& group, const zp::state& tree, const zp::state& request) {
  const zp::manager_options options{.keep = zp::keep_policy::newest(2)};
  const std::int64_t step = 100;
  const double loss = 0.5;
  auto manager = zp::group_checkpoint_manager::open("group_run", group, options).value();
  if (const auto last = manager.latest().value()) zp::load(manager.place_of(*last).value(), request, group).value();
  if (manager.should_save(step).value()) manager.save(step, tree, {{"loss", loss}}).value();
  const bool leaves = manager.save_requested();  // the same on all
  manager.close().value();
  return leaves;
}

bool items_of_many(const zp::process_group& group, const zp::state& tree, const zp::state& request) {
  const std::int64_t step = 100;
  const zp::json settings = 7;
  auto manager = zp::group_checkpoint_manager::open("group_items", group).value();
  manager.save_items(step, {{.name = "model", .tree = tree}, {.name = "settings.json", .document = settings}}).value();
  manager.wait().value();
  zp::load(manager.place_of(step, "model").value(), request, group).value();
  return manager.document(step, "settings.json").value() == settings && manager.close();
}
// clang-format on

}  // namespace

int main() {
  run();
  bool good = true;
  {
    auto manager = zp::checkpoint_manager::open("run").value();
    running = &manager;
    good = manager.steps() == std::vector<std::int64_t>{400, 800, 900, 1000};
    zp::restored_step newest = manager.restore_latest().value();
    zp::restored_step best = manager.restore_best("loss", zp::better::lower).value();
    zp::restored_step older = manager.restore(900).value();
    for (const std::string& said : manager.warnings()) std::puts(said.c_str());
    good = good && newest.step == 1000 && best.step == 400 && older.step == 900;
    std::signal(SIGTERM, [](int) { running->request_save(); });
    std::raise(SIGTERM);
    good = good && manager.save_requested() && manager.should_save(1001);
    good = good && items(manager) && unchanged() && deltas();
    manager.close().value();
  }
  // As where somebody copied half of it: the run goes on from the step before.
  std::filesystem::remove_all("run/step_00002000");
  std::filesystem::remove("run/step_00001000/zarr.json");
  run();
  good = good && zp::open("run/step_00001000").value().load<std::int64_t>("step").value() == 1000;
  const zp::process_group alone;
  const std::vector<float> rows(10, 3);
  std::vector<float> loaded(10);
  for (int i = 0; i < 2; ++i)
    good = !many(alone, zp::state{{"w", zp::shard("w", std::span<const float>(rows), {}).value()}},
                 zp::state{{"w", zp::shard("w", std::span<float>(loaded), {}).value()}}) &&
           good;
  good = good && loaded == rows;
  loaded.assign(10, 0);
  good = items_of_many(alone,
                       zp::state{{"w", zp::shard("w", std::span<const float>(rows), {}).value()}},
                       zp::state{{"w", zp::shard("w", std::span<float>(loaded), {}).value()}}) &&
         good && loaded == rows;
  std::puts(good ? "as docs/training.md says" : "not what docs/training.md says");
  return good ? 0 : 1;
}
