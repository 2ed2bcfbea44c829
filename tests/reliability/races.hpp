// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Readers while a checkpoint is replaced again and again: each sees one save, whole.

#include "harness.hpp"
#include "kills.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace reliability {

/// What a reader may say while a writer replaces what it reads. All else is a violation.
struct allowed_answer {
  std::string_view reader;  ///< "open": opens it anew each time; "handle": keeps it open
  std::string_view code;    ///< what the text of the error begins with
};
inline constexpr allowed_answer allowed_answers[] = {
    {"handle", "replaced"},  // the handle of a directory whose files are gone
    {"open", "replaced"},    // between the `open` and the loads that follow it
};

inline bool is_allowed(std::string_view reader, std::string_view answer) {
  for (const allowed_answer& one : allowed_answers) {
    if (one.reader == reader && answer.starts_with(one.code)) return true;
  }
  return false;
}

/// What readers count, for all processes.
struct race_counts {
  std::atomic<std::uint64_t> loads{0}, whole{0}, mixed{0}, allowed{0}, corrupt{0}, not_found{0},
      other{0}, saves{0}, back{0};
  std::atomic<bool> stop{false};
  char text[200] = {};  ///< of the last mixture, or error of another kind
};

inline void count_answer(race_counts& counts, std::string_view reader, const found& there) {
  ++counts.loads;
  if (there.what == found::kind::whole)
    ++counts.whole;
  else if (there.what == found::kind::mixed || there.what == found::kind::attributes)
    ++counts.mixed, std::snprintf(counts.text, sizeof counts.text, "%s: %s",
                                  std::string(reader).c_str(), to_string(there).c_str());
  else if (is_allowed(reader, there.text))
    ++counts.allowed;
  else if (there.text.starts_with("corrupt"))
    ++counts.corrupt;
  else if (there.text.starts_with("not_found"))
    ++counts.not_found;
  else
    ++counts.other, std::snprintf(counts.text, sizeof counts.text, "%s: %s",
                                  std::string(reader).c_str(), there.text.c_str());
}

inline void read_for_long(race_counts& counts, const std::string& path, std::uint64_t loads) {
  std::int64_t newest = 0;
  for (std::uint64_t i = 0; i < loads && !counts.stop; ++i) {
    const found there = look(path);
    count_answer(counts, "open", there);
    if (there.what == found::kind::whole) {
      if (there.step < newest) ++counts.back;
      newest = there.step;
    }
  }
}

inline void keep_open(race_counts& counts, const std::string& path, std::uint64_t loads) {
  for (std::uint64_t i = 0; i < loads && !counts.stop;) {
    const auto opened = zp::open(path, alone());
    if (!opened) {
      count_answer(counts, "open", failed_with(opened.failure()));
      ++i;
      continue;
    }
    for (int k = 0; k < 4 && i < loads; ++k, ++i) {
      count_answer(counts, "handle", look_at(*opened));
      ::usleep(100);
    }
  }
}

inline void race_of(tally& row, const std::string& path, const form& as, std::uint64_t loads) {
  if (!save_step(path, as, 1, false)) row.violation("a save without faults fails");
  void* const shared = ::mmap(nullptr, sizeof(race_counts), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& counts = *new (shared) race_counts;
  std::vector<pid_t> readers;
  std::fflush(nullptr);
  for (int i = 0; i < 4; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (i % 2 == 0)
        read_for_long(counts, path, loads / 4);
      else
        keep_open(counts, path, loads / 4);
      ::_exit(0);
    }
    readers.push_back(pid);
  }
  const pid_t writer = ::fork();
  if (writer == 0) {
    for (std::int64_t step = 2; !counts.stop; ++step) {
      const auto saved =
          row.without() ? save_in_place(path, as, step) : save_step(path, as, step, false);
      if (!saved) ::_exit(1);
      ++counts.saves;
      // As long as some loads take: readers of a slow machine have a turn as well.
      ::usleep(300);
    }
    ::_exit(0);
  }
  const auto name = std::string(as.name) + ": ";
  for (const pid_t pid : readers) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (status != 0) row.violation(name + "a reader ended with status " + std::to_string(status));
  }
  counts.stop = true;
  int status = 0;
  ::waitpid(writer, &status, 0);
  if (status != 0) row.violation(name + "the writer ended with status " + std::to_string(status));
  row.trials += counts.loads;
  row.seen["saves"] += counts.saves;
  row.seen["whole"] += counts.whole;
  row.seen["allowed"] += counts.allowed;
  const std::pair<const char*, std::uint64_t> bad[] = {{"mixed", counts.mixed},
                                                       {"corrupt", counts.corrupt},
                                                       {"not_found", counts.not_found},
                                                       {"other errors", counts.other},
                                                       {"back in time", counts.back}};
  for (const auto& [what, times] : bad) {
    if (times == 0) continue;
    row.violation(name + what + ", " + std::to_string(times) + " times of " +
                  std::to_string(counts.loads.load()));
    if (counts.text[0] != 0 && !row.without())
      std::fprintf(stderr, "the last of another kind: %s%s\n", name.c_str(), counts.text);
    row.violations += times - 1;
    row.seen[what] += times;
  }
  ::munmap(shared, sizeof(race_counts));
}

inline void races(tally& row) {
  const fs::path folder = fresh_folder(row, "races");
  const std::uint64_t round = std::min<std::uint64_t>(row.of().trials / 4 + 4, 20000);
  while (row.more()) {
    for (const form& as : forms) {
      if (row.more()) race_of(row, (folder / as.file).string(), as, round);
    }
  }
}

}  // namespace reliability
