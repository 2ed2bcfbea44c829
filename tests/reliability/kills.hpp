// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A save is killed at each of its system calls: what was there before stays or what is new is
// there, whole; and the next save, which may be killed too, finds its way.

#include "harness.hpp"
#include "trace.hpp"

#include <sys/time.h>

namespace reliability {

/// Saves as libraries do that have no commit: what was there goes first.
inline zp::result<void> save_in_place(const std::string& path, const form& as, std::int64_t step) {
  fs::remove_all(path);
  return save_step(path, as, step, false);
}

inline zp::result<void> save_for(const tally& row, const std::string& path, const form& as,
                                 std::int64_t step) {
  return row.without() ? save_in_place(path, as, step) : save_step(path, as, step);
}

/// Lets a save run until it begins call number `until`. How it ended.
inline ended killed_save(const tally& row, const std::string& path, const form& as,
                         std::pair<std::int64_t, std::uint64_t> step_and_call) {
  return traced(
      [&] { return as_status([&] { return save_for(row, path, as, step_and_call.first); }); },
      [&](stop&, bool before, std::uint64_t call) {
        return !before || call < step_and_call.second;
      });
}

/// A save by threads, which ends at a moment of the clock.
inline int save_by_threads(const std::string& path, const form& as, std::int64_t step,
                           long microseconds) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
    ::sched_setaffinity(0, sizeof all, &all);
    const values of(step);
    // Nobody catches this signal: the process ends there, and cleans up nothing.
    const ::itimerval timer{{0, 0}, {0, microseconds + 1}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
    const auto saved =
        zp::save(path, of.leaves(), options_of(as, step, true), zp::default_context());
    const ::itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::_exit(saved ? 0 : status_failed);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

inline void kill_threads(tally& row, const fs::path& folder, const form& as) {
  static std::int64_t step = 10;
  const std::string path = (folder / ("t" + std::string(as.file))).string();
  if (!look(path).is(step) && !save_step(path, as, ++step, false))
    row.violation("a save without faults fails");
  const std::int64_t old = step, made = ++step;
  const int status = save_by_threads(path, as, made, static_cast<long>(row.below(2500)));
  const found left = look(path);
  ++row.trials;
  ++row.seen["with threads"];
  if (status == 0 ? !left.is(made) : status != -SIGALRM || (!left.is(old) && !left.is(made)))
    row.violation(std::string(as.name) + ", by threads: found " + to_string(left) +
                  ", exit status " + std::to_string(status));
  step = left.is(made) ? made : old;
  row.seen["left behind"] += remove_litter(folder);
}

inline void kill_trial(tally& row, const fs::path& folder, const form& as, std::uint64_t call) {
  static std::int64_t step = 10;
  const std::string path = (folder / as.file).string();
  const bool fresh = row.below(4) == 0;
  if (fresh) fs::remove_all(path);
  if (!fresh && !look(path).is(step)) {
    if (!save_step(path, as, ++step, false)) row.violation("a save without faults fails");
  }
  const std::int64_t old = step, made = ++step;
  const ended how = killed_save(row, path, as, {made, call});
  const auto where = std::string(as.name) + (fresh ? ", new" : ", over another") + ", call " +
                     std::to_string(call) + ": ";
  const found left = look(path);
  const bool whole_old = fresh ? left.what == found::kind::none : left.is(old);
  ++row.trials;
  if (how.status == 0 ? !left.is(made) : !whole_old && !left.is(made))
    row.violation(where + "found " + to_string(left) + ", exit status " +
                  std::to_string(how.status));
  row.seen[left.is(made) ? "new" : "old"] += 1;
  // A quarter of the next saves are killed as well.
  if (row.below(4) == 0) {
    const bool is_new = left.is(made);
    const std::int64_t again = ++step;
    killed_save(row, path, as, {again, 1 + row.below(call + 10)});
    const found then = look(path);
    ++row.trials;
    if (!then.is(again) && !(is_new  ? then.is(made)
                             : fresh ? then.what == found::kind::none
                                     : then.is(old)))
      row.violation(where + "killed again: found " + to_string(then));
  }
  if (row.trials % 4 == 0 || row.without()) {
    const auto next = save_step(path, as, ++step, false);
    if (!next || !look(path).is(step))
      row.violation(where + "the next save does not succeed: " +
                    (next ? std::string("other values") : to_string(next.failure())));
  } else if (left.is(made) && look(path).is(made)) {
    step = made;
  }
  row.seen["left behind"] += remove_litter(folder);
}

inline void kills(tally& row) {
  if (!can_trace) {
    row.why_not = "the registers of this processor are not known to it";
    return;
  }
  const fs::path folder = fresh_folder(row, "kills");
  // All calls of each form in turn, then again.
  for (std::uint64_t call = 1; row.more();) {
    bool any = false;
    for (const form& as : forms) {
      if (!row.more()) break;
      static std::map<std::string_view, std::uint64_t> calls;
      std::uint64_t& of_form = calls[as.name];
      if (of_form == 0) {
        const std::string path = (folder / as.file).string();
        if (!save_step(path, as, 1)) row.violation("a save without faults fails");
        of_form = killed_save(row, path, as, {2, UINT64_MAX}).calls;
        fs::remove_all(path);
      }
      if (call > of_form + 1) continue;
      any = true;
      kill_trial(row, folder, as, call);
      if (!row.without() && row.below(8) == 0) kill_threads(row, folder, as);
    }
    // A short run takes every k-th call.
    const std::uint64_t step = row.of().trials < 2000 ? 1 + row.below(3) : 1;
    call = any ? call + step : 1;
  }
}

}  // namespace reliability
