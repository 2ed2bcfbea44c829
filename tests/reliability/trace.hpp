// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A child process that is stopped at each of its system calls: seen, changed, or killed there.

#include <sched.h>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

namespace reliability {

#if defined(__x86_64__)
inline constexpr bool can_trace = true;
// Calls that other processors do not have.
inline constexpr long call_open = SYS_open, call_rename = SYS_rename, call_unlink = SYS_unlink;

/// A stop of the child, before or after a system call.
class stop {
 public:
  explicit stop(pid_t pid) : pid_(pid) { ::ptrace(PTRACE_GETREGS, pid, nullptr, &registers_); }

  pid_t pid() const { return pid_; }
  long number() const { return static_cast<long>(registers_.orig_rax); }
  std::uint64_t argument(int i) const {
    const unsigned long long all[] = {registers_.rdi, registers_.rsi, registers_.rdx,
                                      registers_.r10, registers_.r8,  registers_.r9};
    return all[i];
  }
  /// After the call only.
  long value() const { return static_cast<long>(registers_.rax); }

  void skip() { registers_.orig_rax = static_cast<unsigned long long>(-1), put(); }
  void give(long value) { registers_.rax = static_cast<unsigned long long>(value), put(); }
  void set_third(std::uint64_t value) { registers_.rdx = value, put(); }

 private:
  void put() { ::ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_); }

  pid_t pid_;
  user_regs_struct registers_{};
};
#else
inline constexpr bool can_trace = false;
inline constexpr long call_open = -2, call_rename = -3, call_unlink = -4;
class stop {
 public:
  explicit stop(pid_t pid) : pid_(pid) {}
  pid_t pid() const { return pid_; }
  long number() const { return -1; }
  std::uint64_t argument(int) const { return 0; }
  long value() const { return -1; }
  void skip() {}
  void give(long) {}
  void set_third(std::uint64_t) {}

 private:
  pid_t pid_;
};
#endif

/// Bytes of the child; fewer where it has not that many.
inline std::string memory_of(pid_t pid, std::uint64_t at, std::size_t bytes) {
  std::string out(bytes, '\0');
  iovec here{out.data(), bytes};
  iovec there{reinterpret_cast<void*>(at), bytes};
  const ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

/// A string of the child. Page by page, since the next page may not be there.
inline std::string text_of(pid_t pid, std::uint64_t at) {
  std::string out;
  for (int pages = 0; pages < 3; ++pages) {
    const std::string part = memory_of(pid, at, 4096 - at % 4096);
    const std::size_t end = part.find('\0');
    out += part.substr(0, end);
    if (end != std::string::npos || part.empty()) break;
    at += part.size();
  }
  return out;
}

/// How a traced child ended: its exit status, or minus the signal.
struct ended {
  int status = 0;
  std::uint64_t calls = 0;  ///< that it began
};

/// Called at each stop, `before` the call or after it. False kills the child there.
using stop_hook = std::function<bool(stop& at, bool before, std::uint64_t call)>;

/// Keeps this process on the processor where it is: a traced child and its tracer take turns, and
/// do so several times as fast there.
inline void stay_on_one_processor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  const int here = ::sched_getcpu();
  if (here < 0) return;
  CPU_SET(static_cast<std::size_t>(here), &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

inline ended traced(const std::function<int()>& run, const stop_hook& hook) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::alarm(30);  // what hangs ends with -SIGALRM
    ::_exit(run());
  }
  ended out;
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  bool before = false;
  int signal = 0;
  for (;;) {
    ::ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
    signal = 0;
    if (::waitpid(pid, &status, 0) != pid) break;
    if (WIFEXITED(status)) {
      out.status = WEXITSTATUS(status);
      break;
    }
    if (WIFSIGNALED(status)) {
      out.status = -WTERMSIG(status);
      break;
    }
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status);
      continue;
    }
    before = !before;
    if (before) ++out.calls;
    stop at(pid);
    if (!hook(at, before, out.calls)) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      out.status = -SIGKILL;
      break;
    }
  }
  return out;
}

/// What `traced` ends with where a save did not succeed.
inline constexpr int status_failed = 10;   ///< an error
inline constexpr int status_unknown = 11;  ///< `outcome_unknown`
inline constexpr int status_thrown = 12;   ///< an exception

/// Runs `call`, which gives a result, and says how it went by an exit status.
template <class F>
int as_status(const F& call) {
  try {
    const auto done = call();
    if (done) return 0;
    return done.failure().code == zarrpoint::errc::outcome_unknown ? status_unknown : status_failed;
  } catch (...) {
    return status_thrown;
  }
}

}  // namespace reliability
