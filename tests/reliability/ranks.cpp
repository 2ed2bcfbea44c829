// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The row of many processes: four save together, and one or two of them end at any moment. Those
// that are left come back with an answer, and what is there is one save, whole. Called as
// reliability.cpp is:
//
//     reliability_ranks ranks TRIALS SECONDS SEED FOLDER [without]

#include <zarrpoint/distributed.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>

#include "../support/fork_world.hpp"
#include "harness.hpp"

#include <sys/time.h>

#include <cstdlib>
#include <numeric>

namespace {

using namespace reliability;
using zarrpoint_test::fork_communicator;
using zarrpoint_test::fork_world;

constexpr int ranks = 4;
constexpr std::size_t part = 12;

zp::result<zp::state> state_of(int rank, std::int64_t step) {
  std::vector<double> w(part);
  std::iota(w.begin(), w.end(), static_cast<double>(1000 * step + static_cast<int>(part) * rank));
  ZARRPOINT_TRY(rows, zp::shard("w", std::move(w), {.offsets = {{0, rank, ranks}}}));
  return zp::state{{"step", step}, {"w", rows}};
}

/// The step of which everything is; -1 for nothing there, -2 for anything else.
std::int64_t step_in(const std::string& path) {
  auto w = zp::shard("w", std::vector<double>(part * ranks));
  if (!w) return -2;
  zp::state request{{"w", *w}};
  const auto report = zp::load(path, request, zp::process_group{.how = zp::context{}});
  if (!report) return report.failure().code == zp::errc::not_found ? -1 : -2;
  const auto step = report->loaded.get<std::int64_t>("step");
  if (!step) return -2;
  for (std::size_t i = 0; i < part * ranks; ++i) {
    if (w->value()[i] != static_cast<double>(1000 * *step) + static_cast<double>(i)) return -2;
  }
  return *step;
}

/// When which ranks end, in microseconds after they began; -1 for never.
using deaths = std::array<long, ranks>;

std::vector<std::string> save_by_four(const std::string& path, std::int64_t step,
                                      const deaths& when, bool without) {
  return fork_world(ranks, [&](const fork_communicator& self) -> std::string {
    if (without && self.rank() == 0) fs::remove_all(path);
    const long at = when[static_cast<std::size_t>(self.rank())];
    if (at >= 0) {
      // Nobody catches this signal: the process ends there, and cleans up nothing.
      const ::itimerval timer{{0, 0}, {0, at + 1}};
      ::setitimer(ITIMER_REAL, &timer, nullptr);
    }
    auto mine = state_of(self.rank(), step);
    if (!mine) return to_string(mine.failure());
    const auto saved =
        zp::save(path, *mine, {.ranks = self, .how = zp::context{}}, {.storage = {.sync = false}});
    return saved ? std::string("saved") : to_string(saved.failure());
  });
}

void trial(tally& row, const fs::path& folder, long duration) {
  static std::int64_t step = 1;
  const std::string path = (folder / "model").string();
  deaths when{-1, -1, -1, -1};
  const std::size_t first = row.below(ranks);
  const auto any = [&] {
    return static_cast<long>(row.below(static_cast<std::uint64_t>(duration)));
  };
  when[first] = any();
  if (row.below(3) == 0) when[row.below(ranks)] = any();
  const std::int64_t old = step_in(path), made = ++step;
  const auto said = save_by_four(path, made, when, row.without());
  const std::int64_t left = step_in(path);
  ++row.trials;
  std::string all;
  bool good = left == made || left == old, told_old = false;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string& text = said[rank];
    all += "\n  rank " + std::to_string(rank) + ": " + text;
    const bool died = text == "died of signal 14" && when[rank] >= 0;
    if (died)
      ++row.seen["killed"];
    else if (text == "saved")
      ++row.seen["saved"], good = good && left == made;
    else if (text.starts_with("unavailable"))
      ++row.seen["unavailable"], told_old = true;
    else if (text.starts_with("outcome_unknown"))
      ++row.seen["outcome_unknown"];
    else
      good = false;
  }
  good = good && !(told_old && left != old);  // it must not claim that the save failed
  if (!good)
    row.violation("found step " + std::to_string(left) + " after " + std::to_string(old) + all);
  row.seen["left behind"] += remove_litter(folder);
  if (left >= 0 && row.trials % 16 != 0) return;
  save_by_four(path, ++step, {-1, -1, -1, -1}, false);
  if (step_in(path) != step) row.violation("the next save does not succeed");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) return 2;
  tally row({.seed = std::strtoull(arguments[4], nullptr, 10),
             .trials = std::strtoull(arguments[2], nullptr, 10),
             .seconds = std::strtod(arguments[3], nullptr),
             .folder = arguments[5],
             .without = count > 6});
  const fs::path folder = fresh_folder(row, "ranks");
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < 5; ++i)
    save_by_four((folder / "model").string(), 1, {-1, -1, -1, -1}, false);
  const auto spent = std::chrono::steady_clock::now() - begin;
  const long duration = std::chrono::duration_cast<std::chrono::microseconds>(spent).count() / 4;
  while (row.more()) trial(row, folder, duration);
  return report(row, "ranks");
}
