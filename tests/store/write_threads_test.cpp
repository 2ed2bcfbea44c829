// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/write_threads.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <vector>

namespace write_threads_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;

namespace {

/// Writes some MiB in pieces that fill no block; 0 or an errno.
int write_some(write_behind& behind, const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::vector<std::byte> piece(700'000, std::byte{5});
  staging_blocks blocks;
  direct_writes direct(blocks, behind);
  direct.open(fd.get(), unique_fd(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC)));
  constexpr std::size_t count = 20;
  for (std::size_t i = 0; i < count; ++i) {
    if (const int code = direct.write_once(i * piece.size(), piece, {}); code != 0) return code;
  }
  if (const int code = direct.finish(); code != 0) return code;
  std::vector<std::byte> back(count * piece.size());
  const int code = read_fully(fd.get(), 0, back);
  return code == 0 && back != std::vector(back.size(), std::byte{5}) ? EIO : code;
}

}  // namespace

TEST_CASE("write_threads: writes by threads once there is enough, and never more than they are") {
  write_threads behind;
  struct job_state {
    std::mutex mutex;
    std::atomic<int> begun{0};
  } state;
  pending_writes pending;
  const write_behind::job job{[](const write_behind::job& one) noexcept {
                                auto& of = *static_cast<job_state*>(one.writer);
                                ++of.begun;
                                const std::lock_guard lock(of.mutex);
                                return one.offset == 3 ? EIO : 0;
                              },
                              &state,
                              0,
                              {}};
  write_behind::job failing = job;
  failing.offset = 3;
  std::unique_lock lock(state.mutex);  // no write ends
  for (int i = 0; i < 4; ++i) CHECK_FALSE(behind.post(job, pending));
  for (unsigned i = 0; i < write_threads::lanes; ++i)
    CHECK(behind.post(i == 2 ? failing : job, pending));
  CHECK_FALSE(behind.post(job, pending));
  lock.unlock();
  behind.settle(pending);
  CHECK(state.begun == static_cast<int>(write_threads::lanes));
  CHECK(pending.code == EIO);
  pending_writes others;
  CHECK(behind.post(job, others));
  behind.settle(others);
  CHECK(others.code == 0);
}

TEST_CASE("write_threads: a child of fork, which has none of the threads, writes by itself") {
  const test::temp_directory dir;
  write_behind behind = write_threads::make();
  REQUIRE(write_some(behind, dir / "f") == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // none of its waits ends without the threads
    const int code = write_some(behind, dir / "child");
    pending_writes lost;
    lost.count = 1;
    behind.settle(lost);
    behind = write_behind();  // what it was is not destroyed
    ::_exit(code == 0 && lost.code == EIO ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(write_some(behind, dir / "g") == 0);
}

}  // namespace write_threads_test
