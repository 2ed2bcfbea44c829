// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The programs of docs/rotate.md. It returns whether they gave what the page promises.

#include <zarrpoint/zarrpoint.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace zp = zarrpoint;
namespace fs = std::filesystem;

namespace {

/// The checkpoints of a run: "step_900" and "step_10000", by their numbers and not as text.
std::map<std::int64_t, fs::path> steps_of(const fs::path& run) {
  std::map<std::int64_t, fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(run, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("step_")) continue;
    std::int64_t step = 0;
    const auto [end, wrong] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (wrong == std::errc() && end == name.data() + name.size()) found[step] = entry.path();
  }
  return found;
}

/// Saves a step, and then removes all but the newest `keep`.
zp::result<void> save_step(const fs::path& run, std::int64_t step,
                           const std::vector<zp::leaf>& leaves, std::size_t keep) {
  ZARRPOINT_CHECK(zp::save((run / ("step_" + std::to_string(step))).string(), leaves));
  auto steps = steps_of(run);
  std::error_code ignored;  // what cannot be removed now is removed with the next step
  while (steps.size() > keep) {
    const fs::path oldest = steps.begin()->second;
    const fs::path gone = run / ("removed_" + std::to_string(steps.begin()->first));
    fs::rename(oldest, gone, ignored);  // so that a kill here leaves no half of a checkpoint
    fs::remove_all(gone, ignored);
    steps.erase(steps.begin());
  }
  return {};
}

/// The newest one that opens.
zp::result<zp::checkpoint> newest(const fs::path& run) {
  const auto steps = steps_of(run);
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    auto opened = zp::open(at->second.string());
    if (opened) return opened;
    std::puts(to_string(opened.failure()).c_str());  // and the one before is tried
  }
  return zp::error{zp::errc::not_found, run.string() + " has no checkpoint"};
}

}  // namespace

int main() {
  const fs::path run = "run";
  fs::create_directory(run);
  if (newest(run)) return 1;
  for (std::int64_t step = 8000; step <= 12000; step += 1000)
    save_step(run, step, {{"step", step}, {"w", std::vector<float>(10, 0.5F)}}, 3).value();

  const bool kept = steps_of(run).size() == 3 && steps_of(run).begin()->first == 10000;
  fs::remove(run / "step_12000" / "zarr.json");  // as where somebody copied half of it
  const bool found = newest(run).value().load<std::int64_t>("step").value() == 11000;
  std::puts(kept && found ? "as docs/rotate.md says" : "not what docs/rotate.md says");
  return kept && found ? 0 : 1;
}
