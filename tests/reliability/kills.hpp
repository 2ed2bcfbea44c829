// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A save is killed at each of its system calls: what was there before stays or what is new is
// there, whole; and the next save, which may be killed too, finds its way.

#include "harness.hpp"
#include "trace.hpp"

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
    }
    // A short run takes every k-th call.
    const std::uint64_t step = row.of().trials < 2000 ? 1 + row.below(3) : 1;
    call = any ? call + step : 1;
  }
}

}  // namespace reliability
