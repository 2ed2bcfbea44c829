// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// System calls that fail, once or from then on: a save says so and leaves what was there, a load
// says so or has the right values.

#include "harness.hpp"
#include "trace.hpp"

#include <climits>

namespace reliability {

struct fault {
  long call;
  std::string_view name;
  bool must_tell;  ///< a save that succeeds although this failed has lied
};

inline constexpr fault faulty_calls[] = {
    {SYS_write, "write", true},          {SYS_pwrite64, "pwrite64", true},
    {SYS_writev, "writev", true},        {SYS_pwritev, "pwritev", true},
    {SYS_fsync, "fsync", true},          {SYS_fdatasync, "fdatasync", true},
    {SYS_syncfs, "syncfs", true},        {SYS_renameat, "renameat", false},
    {SYS_renameat2, "renameat2", false}, {SYS_openat, "openat", false},
    {SYS_openat2, "openat2", false},     {SYS_mkdirat, "mkdirat", false},
    {SYS_unlinkat, "unlinkat", false},   {SYS_close, "close", false},
    {SYS_fcntl, "fcntl", false},         {SYS_flock, "flock", false},
    {SYS_newfstatat, "fstatat", false},  {SYS_getdents64, "getdents64", false},
    {SYS_pread64, "pread64", false},     {SYS_read, "read", false},
    {SYS_ftruncate, "ftruncate", false}, {SYS_fallocate, "fallocate", false},
    {SYS_linkat, "linkat", false},       {SYS_copy_file_range, "copy_file_range", false},
    {SYS_getrandom, "getrandom", false}, {SYS_fstatfs, "fstatfs", false},
    {SYS_mmap, "mmap", false},
};

inline const fault* fault_of(long call) {
  for (const fault& one : faulty_calls) {
    if (one.call == call) return &one;
  }
  return nullptr;
}

inline constexpr int fault_codes[] = {EIO,    ENOSPC, EINTR,  EDQUOT, EROFS,  ENOMEM,
                                      EMFILE, EACCES, ESTALE, EAGAIN, ENOSYS, EINVAL};
/// Half of the bytes are written or read, and that is told.
inline constexpr int short_count = -1;

struct injection {
  std::uint64_t call = 0;  ///< its number
  int code = 0;            ///< an errno, or `short_count`
  bool lasting = false;    ///< all calls of the same kind after it fail, too
};

/// Runs with a fault. `hit` is the call that failed first; null if none did.
inline ended with_fault(const std::function<int()>& run, const injection& what, const fault*& hit) {
  hit = nullptr;
  bool failing = false;
  // What a signal interrupts is done again, for as long as that takes.
  int interruptions = what.code == EINTR ? 20 : INT_MAX;
  return traced(run, [&](stop& at, bool before, std::uint64_t call) {
    if (!before) {
      if (failing) at.give(-what.code);
      failing = false;
      return true;
    }
    const fault* kind = fault_of(at.number());
    if (kind == nullptr || call < what.call || (call > what.call && !what.lasting)) return true;
    // Memory of the program itself, not of a file.
    if (at.number() == SYS_mmap && static_cast<int>(at.argument(4)) < 0) return true;
    if (hit != nullptr && kind != hit) return true;
    if (interruptions-- == 0) return interruptions = 0, true;
    if (what.code == short_count) {
      const bool counts = at.number() == SYS_pwrite64 || at.number() == SYS_write ||
                          at.number() == SYS_pread64 || at.number() == SYS_read;
      if (!counts || at.argument(2) < 2) return true;
      at.set_third(at.argument(2) / 2);
    } else {
      at.skip();
      failing = true;
    }
    hit = kind;
    return true;
  });
}

/// Whether a failed call may be done again, or done without: then a save may succeed.
inline bool may_succeed(const fault& kind, const injection& what) {
  if (!kind.must_tell || what.code == short_count || what.code == EINTR) return true;
  // Memory that was refused once is asked for again, with fewer workers.
  if (what.code == ENOMEM && !what.lasting) return true;
  // File systems that cannot sync a directory say so by this; a call that is not there has another.
  return what.code == EINVAL || what.code == ENOSYS;
}

inline void fault_in_save(tally& row, const fs::path& folder, const form& as, injection what) {
  static std::int64_t step = 10;
  const std::string path = (folder / as.file).string();
  if (!look(path).is(step) && !save_step(path, as, ++step, false))
    row.violation("a save without faults fails");
  const std::int64_t old = step, made = ++step;
  const fault* hit = nullptr;
  const ended how = with_fault(
      [&] {
        return as_status([&]() -> zp::result<void> {
          auto done = save_step(path, as, made);
          if (row.without()) return {};  // as programs do that look at no result
          return done;
        });
      },
      what, hit);
  if (hit == nullptr) {
    step = look(path).is(made) ? made : old;
    return;
  }
  ++row.trials;
  const auto where = std::string(as.name) + ", call " + std::to_string(what.call) + ", " +
                     std::string(hit->name) + " says " + std::to_string(what.code) +
                     (what.lasting ? " from then on: " : " once: ") + "exit status " +
                     std::to_string(how.status) + ", ";
  const found left = look(path);
  bool good = left.is(old) || left.is(made);
  if (how.status == 0) good = left.is(made) && may_succeed(*hit, what);
  if (how.status == status_failed) good = left.is(old);
  if (how.status < 0 || how.status == status_thrown) good = false;
  if (!good) row.violation(where + "found " + to_string(left));
  row.seen[how.status == 0                ? "succeeded"
           : how.status == status_unknown ? "unknown"
                                          : "refused"] += 1;
  const std::uint64_t litter = remove_litter(folder);
  row.seen["left behind"] += litter;
  step = left.is(made) ? made : old;
  if (row.trials % 8 == 0) {
    if (!save_step(path, as, ++step, false) || !look(path).is(step))
      row.violation(where + "the next save does not succeed");
  }
}

inline void fault_in_load(tally& row, const fs::path& folder, const form& as, injection what) {
  constexpr std::int64_t step = 7;
  const std::string path = (folder / ("l" + std::string(as.file))).string();
  if (!look(path).is(step) && !save_step(path, as, step, false))
    row.violation("a save without faults fails");
  const fault* hit = nullptr;
  const ended how = with_fault(
      [&] {
        const found there = look(path);
        return there.is(step) ? 0 : static_cast<int>(there.what) + 1;
      },
      what, hit);
  if (hit == nullptr) return;
  ++row.trials;
  const int none = static_cast<int>(found::kind::none) + 1;
  const int failed = static_cast<int>(found::kind::failed) + 1;
  // "There is nothing" is said of no path that exists, whatever fails.
  if (how.status != 0 && how.status != failed)
    row.violation(std::string(as.name) + ", load, call " + std::to_string(what.call) + ", " +
                  std::string(hit->name) + " says " + std::to_string(what.code) +
                  (what.lasting ? " from then on: " : " once: ") +
                  (how.status == none ? "not found" : "exit status " + std::to_string(how.status)));
  row.seen[how.status == 0 ? "load succeeded" : "load refused"] += 1;
}

inline void faults(tally& row) {
  if (!can_trace) {
    row.why_not = "the registers of this processor are not known to it";
    return;
  }
  const fs::path folder = fresh_folder(row, "faults");
  std::map<std::string_view, std::uint64_t> calls;
  for (const form& as : forms) {
    const std::string path = (folder / as.file).string();
    if (!save_step(path, as, 1)) row.violation("a save without faults fails");
    const fault* hit = nullptr;
    calls[as.name] = with_fault([&] { return as_status([&] { return save_step(path, as, 2); }); },
                                {UINT64_MAX, EIO, false}, hit)
                         .calls;
  }
  // The whole matrix, call by call; a short run draws from it.
  const bool sample = row.of().trials < 20000;
  std::uint64_t cell = 0;
  while (row.more()) {
    const form& as = forms[sample ? row.below(4) : cell % 4];
    constexpr std::uint64_t codes = std::size(fault_codes) + 1;
    const std::uint64_t code = sample ? row.below(codes) : cell / 4 % codes;
    const std::uint64_t lasting = sample ? row.below(2) : cell / 4 / codes % 2;
    const std::uint64_t call = sample ? row.below(calls[as.name]) : cell / 8 / codes % 400;
    ++cell;
    const injection what{call + 1, code == codes - 1 ? short_count : fault_codes[code],
                         lasting == 1};
    if (call < calls[as.name]) fault_in_save(row, folder, as, what);
    if (!row.without() && call < 60 && (!sample || row.below(3) == 0))
      fault_in_load(row, folder, as, what);
  }
}

}  // namespace reliability
