// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Each allocation of a save and of a load fails in turn, for every way of storing. The calls of the
// whole interface are in tests/allocation/sweep_test.cpp.

#include "../allocation/failing_new.hpp"
#include "harness.hpp"
#include "trace.hpp"

namespace reliability {

/// How a call ends whose n-th allocation fails: as `as_status` says, or minus the signal.
inline int starved(const std::function<zp::result<void>()>& call, long n, bool lasting,
                   bool& reached) {
  int pipes[2];
  if (::pipe(pipes) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    test::fail_allocation(n, lasting);
    zp::result<void> done;
    int status = status_thrown;
    try {
      done = call();
      status = 0;
    } catch (...) {
    }
    const char failed = test::allocations_work() ? 1 : 0;
    if (status == 0 && !done)
      status = done.failure().code == zp::errc::resource_limit ? status_failed : status_unknown;
    if (::write(pipes[1], &failed, 1) != 1) status = 99;
    ::_exit(status);
  }
  ::close(pipes[1]);
  char failed = 1;
  const bool told = ::read(pipes[0], &failed, 1) == 1;
  ::close(pipes[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  reached = !told || failed != 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

inline void starved_save(tally& row, const fs::path& folder, const form& as, bool lasting) {
  const std::string path = (folder / as.file).string();
  const zp::location where(path);
  std::int64_t step = 1;
  if (!save_step(path, as, step, false)) row.violation("a save without faults fails");
  for (long n = 1; row.more(); n += lasting ? 7 : 1) {
    bool reached = false;
    values model_of(step + 1);
    const auto leaves = model_of.leaves();
    const auto options = options_of(as, step + 1, false);
    const int status = starved(
        [&]() -> zp::result<void> {
          // An allocation of the caller's own, for which nobody gives a result.
          if (row.without()) model_of.w = std::vector<float>(model_of.w);
          auto saved = zp::save(where, leaves, options, alone());
          if (!saved) return std::move(saved).failure();
          return {};
        },
        n, lasting, reached);
    ++row.trials;
    const found left = look(path);
    const bool good = status == 0 ? left.is(step + 1)
                                  : status == status_failed && (left.is(step) || left.is(step + 1));
    const std::uint64_t litter = remove_litter(folder);
    row.seen["left behind"] += litter;
    ++row.seen[status == 0 ? "succeeded" : "refused"];
    // A save that succeeds may leave the old directory, and warns of it.
    if (!good || (litter != 0 && !lasting && status != 0))
      row.violation(std::string(as.name) + ", save, allocation " + std::to_string(n) +
                    (lasting ? " and all after it" : "") + ": exit status " +
                    std::to_string(status) + ", found " + to_string(left) +
                    (litter != 0 ? ", and litter" : ""));
    if (left.is(step + 1)) ++step;
    if (!reached) return;
  }
}

inline void starved_load(tally& row, const fs::path& folder, const form& as, bool lasting) {
  const std::string path = (folder / as.file).string();
  const zp::location where(path);
  const std::int64_t step = look(path).step;
  for (long n = 1; row.more(); n += lasting ? 7 : 1) {
    bool reached = false;
    const int status = starved(
        [&]() -> zp::result<void> {
          auto opened = zp::open(where, alone());
          if (!opened) return std::move(opened).failure();
          for (const char* name : {"a/w", "a/z", "at", "note"}) {
            auto loaded = opened->load<zp::tensor>(name);
            if (!loaded) return std::move(loaded).failure();
          }
          return {};
        },
        n, lasting, reached);
    ++row.trials;
    ++row.seen[status == 0 ? "load succeeded" : "load refused"];
    if (status != 0 && status != status_failed)
      row.violation(std::string(as.name) + ", load of step " + std::to_string(step) +
                    ", allocation " + std::to_string(n) + (lasting ? " and all after it" : "") +
                    ": exit status " + std::to_string(status));
    if (!reached) return;
  }
}

inline void allocations(tally& row) {
  const fs::path folder = fresh_folder(row, "allocations");
  for (const bool lasting : {false, true}) {
    for (const form& as : forms) {
      starved_save(row, folder, as, lasting);
      if (!row.without()) starved_load(row, folder, as, lasting);
    }
  }
}

}  // namespace reliability
