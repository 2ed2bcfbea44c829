// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A manager is killed at each of its system calls: as it starts, saves a step, removes an older one
// or ends. Every step that was kept is there, whole, and the next start leaves no litter.

#include <zarrpoint/manager.hpp>

#include "harness.hpp"
#include "trace.hpp"

#include <optional>

namespace reliability {

inline zp::manager_options manager_options_of(std::uint64_t kind) {
  zp::manager_options out;
  out.keep = zp::keep_policy::newest(2) | zp::keep_policy::best(1, "loss", zp::better::lower);
  out.background = false;  // so that each run makes the same calls
  out.verify = kind % 2 == 1;
  out.how = alone();
  return out;
}

/// A whole run of one step, as plain leaves or as two items.
inline zp::result<void> manager_run(const tally& row, const std::string& path, std::int64_t step,
                                    std::uint64_t kind) {
  if (row.without()) fs::remove_all(path);  // the old ones go first
  ZARRPOINT_TRY(manager, zp::checkpoint_manager::open(path, manager_options_of(kind)));
  const values of(step);
  std::vector<zp::step_metric> metrics{{"loss", static_cast<double>(step % 5)}};
  if (kind % 3 != 0) {
    ZARRPOINT_CHECK(manager.save(step, of.leaves(), std::move(metrics)));
  } else {
    std::vector<zp::step_item> items(2);
    items[0] = {.name = "model", .leaves = of.leaves()};
    items[1] = {.name = "settings.json", .json = step};
    ZARRPOINT_CHECK(manager.save_items(step, std::move(items), std::move(metrics)));
  }
  return manager.close();
}

/// What is wrong with the steps at `path`, of which those in `kept` must be there; or nothing.
inline std::string manager_fault(const std::string& path, const std::vector<std::int64_t>& kept,
                                 std::optional<std::int64_t> made) {
  auto opened = zp::checkpoint_manager::open(path, manager_options_of(0));
  if (!opened) return "the next start fails: " + to_string(opened.failure());
  const std::vector<std::int64_t> steps = opened->steps();
  const auto has = [&](std::int64_t step) {
    return std::find(steps.begin(), steps.end(), step) != steps.end();
  };
  for (const std::int64_t step : kept)
    if (!has(step)) return "step " + std::to_string(step) + " is gone";
  if (made && !has(*made)) return "the step that was saved is not there";
  for (const std::int64_t step : steps) {
    const std::string at = path + '/' + zp::detail::step_name(step, {});
    const found left = look(fs::exists(at + "/model") ? at + "/model" : at);
    // Its attributes are the mark of the manager.
    if (left.step != step || left.what != found::kind::attributes)
      return "step " + std::to_string(step) + " is not whole";
  }
  for (const zp::step_record& one : opened->records())
    if (!one.fault.empty()) return one.name + ": " + one.fault;
  if (const auto latest = opened->latest(); !latest || *latest != steps.back())
    return "the newest one was not found";
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("step_") && name != ".zarrpoint_manager") return name + " is left behind";
  }
  return {};
}

inline void manager_kills(tally& row) {
  if (!can_trace) {
    row.why_not = "the registers of this processor are not known to it";
    return;
  }
  const std::string path = (fresh_folder(row, "manager") / "run").string();
  std::int64_t step = 0;
  std::uint64_t call = 1, kind = 0;
  while (row.more()) {
    // Three steps are there, of which a whole run removes one.
    std::vector<std::int64_t> steps;
    if (const auto seen = zp::checkpoint_manager::open(path, manager_options_of(0)))
      steps = seen->steps();
    while (steps.size() < 2) {
      if (!manager_run(tally(budget()), path, ++step, kind))
        row.violation("a run without faults fails");
      steps.push_back(step);
    }
    const std::int64_t made = ++step;
    const ended how =
        traced([&] { return as_status([&] { return manager_run(row, path, made, kind); }); },
               [&](stop&, bool before, std::uint64_t at) { return !before || at < call; });
    // The newest of before stays, whatever the policy removes.
    const std::string fault =
        manager_fault(path, {steps.back()}, how.status == 0 ? std::optional(made) : std::nullopt);
    ++row.trials;
    if (!fault.empty()) {
      row.violation("kind " + std::to_string(kind) + ", call " + std::to_string(call) + ": " +
                    fault + ", exit status " + std::to_string(how.status));
      fs::remove_all(path);
    }
    ++row.seen[how.status == 0 ? "ended" : "killed"];
    // A short run takes every k-th call.
    call += row.of().trials < 2000 ? 1 + row.below(31) : 1;
    if (how.status == 0) {
      call = 1;
      ++kind;
    }
  }
}

}  // namespace reliability
