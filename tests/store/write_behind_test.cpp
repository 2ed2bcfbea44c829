// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/write_behind.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace write_behind_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;

namespace {

/// Writes some MiB in pieces that fill no block; 0 or an errno.
int write_some(write_behind& behind, const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const std::vector<std::byte> piece(700'000, std::byte{5});
  direct_writes direct(behind);
  direct.open(fd.get(), unique_fd(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC)));
  constexpr std::size_t count = 20;
  for (std::size_t i = 0; i < count; ++i) {
    if (const int code = direct.write(i * piece.size(), 0, piece); code != 0) return code;
  }
  if (const int code = direct.finish(); code != 0) return code;
  std::vector<std::byte> back(count * piece.size());
  const int code = read_fully(fd.get(), 0, back);
  return code == 0 && back != std::vector(back.size(), std::byte{5}) ? EIO : code;
}

}  // namespace

TEST_CASE("write_behind: a child of fork, which has none of the threads, writes by itself") {
  const test::temp_directory dir;
  write_behind behind;
  REQUIRE(write_some(behind, dir / "f") == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(write_some(behind, dir / "child") == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(write_some(behind, dir / "g") == 0);
}

TEST_CASE("staging_blocks: aligned, and used again") {
  staging_blocks blocks;
  std::byte* const first = blocks.take();
  std::byte* const second = blocks.take();
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first != second);
  for (const std::byte* block : {first, second})
    CHECK(reinterpret_cast<std::uintptr_t>(block) % direct_alignment == 0);
  blocks.give(first);
  CHECK(blocks.take() == first);
  blocks.give(first);
  blocks.give(second);
  CHECK(blocks.take() == second);
  CHECK(blocks.take() == first);
  std::byte* const third = blocks.take();
  CHECK(third != first);
  CHECK(third != second);
  static_assert(noexcept(blocks.give(third)));
  for (std::byte* block : {first, second, third}) blocks.give(block);
}

}  // namespace write_behind_test
