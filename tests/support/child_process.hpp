// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trying what happens when the system says no: a child process in which system calls fail.

#include <zarrpoint/core/config.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

namespace test {

/// What `work` returned in a child process; "died" and the status if it did not return.
inline std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  std::fflush(nullptr);  // or the child says it again
  const pid_t child = ::fork();
  if (child < 0) return "no fork";
  if (child == 0) {
    ::close(ends[0]);
    std::string text;
#if defined(__cpp_exceptions)
    try {  // or the child goes on with the other tests
      text = work();
    } catch (...) {
      text = "threw";
    }
#else
    text = work();
#endif
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 1000> part{};
  for (ssize_t count; (count = ::read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? text : "died with status " + std::to_string(status);
}

/// Only calls with this argument.
struct with_argument {
  unsigned index;
  std::uint32_t value;
};

/// Whether the library makes this call; those that Linux alone has may be switched off.
constexpr bool makes_call(long number) {
#if ZARRPOINT_LINUX
  return static_cast<void>(number), true;
#else
  for (const long one : {SYS_openat2, SYS_renameat2, SYS_fallocate, SYS_syncfs, SYS_preadv})
    if (number == one) return false;
  return true;
#endif
}

/// From now on the system call `number` fails in this process. False where seccomp is not allowed.
/// A call that the library does not make is as one that the kernel does not know, and fails in no
/// other way.
inline bool deny(long number, int error, std::optional<with_argument> only = {}) {
  if (!makes_call(number)) return error == ENOSYS || error == EINVAL || error == EPERM;
  const auto data = [](std::size_t offset) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
  };
  const auto unless = [](std::uint32_t value, std::uint8_t skipped) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, skipped, value};
  };
  const auto answer = [](std::uint32_t what) { return sock_filter{BPF_RET | BPF_K, 0, 0, what}; };
  const with_argument which = only.value_or(with_argument{0, 0});
  const std::size_t argument = offsetof(seccomp_data, args) + 8 * which.index;
  std::array<sock_filter, 6> steps = {data(offsetof(seccomp_data, nr)),
                                      unless(static_cast<std::uint32_t>(number), 3),
                                      data(argument),
                                      unless(which.value, 1),
                                      answer(SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
                                      answer(SECCOMP_RET_ALLOW)};
  if (!only) steps[3] = {BPF_JMP | BPF_JA, 0, 0, 0};
  sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Whether `openat2` is to be had; qemu-user of Debian 12 has not.
inline bool has_openat2() {
#if ZARRPOINT_LINUX && defined(SYS_openat2)
  return ::syscall(SYS_openat2, -1, nullptr, nullptr, 0) < 0 && errno != ENOSYS;
#else
  return false;
#endif
}

}  // namespace test
