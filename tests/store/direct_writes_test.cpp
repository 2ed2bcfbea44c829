// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/direct_writes.hpp>

#include "support/open_files.hpp"
#include "support/small_disk.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace direct_writes_test {

using namespace zarrpoint;
using namespace zarrpoint::detail;

namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(7);
  std::vector<std::byte> out(size);
  for (std::byte& one : out) one = static_cast<std::byte>(random());
  return out;
}

unique_fd reopened(const std::string& path) {
  return unique_fd(::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
}

/// Writes `bytes` at `offset` as a file writer does; the size of the part that went directly.
std::size_t write(direct_writes& direct, int fd, std::uint64_t offset, bytes_view bytes) {
  staging_blocks blocks;
  bytes_view done;
  REQUIRE(direct.write(offset, bytes, blocks, done) == 0);
  const auto head = static_cast<std::size_t>(done.data() - bytes.data());
  REQUIRE(write_fully(fd, offset, bytes.first(head)) == 0);
  const std::size_t tail = head + done.size();
  REQUIRE(write_fully(fd, offset + tail, bytes.subspan(tail)) == 0);
  return done.size();
}

/// Pieces of many sizes and alignments, out of order: the file is what was written.
void write_and_compare(const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  REQUIRE(fd);
  direct_writes direct(reopened(path));
  const auto data = random_bytes(6'000'000);
  std::mt19937 random(3);
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  for (std::size_t at = 0; at < data.size();) {
    std::size_t size = random() % 1'500'000;
    if (random() % 3 == 0) size = size / 4096 * 4096;
    size = std::min(size, data.size() - at);
    pieces.emplace_back(at, size);
    at += size;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  for (const auto& [at, size] : pieces)
    write(direct, fd.get(), at, bytes_view(data).subspan(at, size));
  std::vector<std::byte> back(data.size());
  REQUIRE(read_fully(fd.get(), 0, back) == 0);
  CHECK(back == data);
}

}  // namespace

TEST_CASE("direct_writes: pieces of any size and alignment, out of order") {
  const test::temp_directory dir;
  write_and_compare(dir / "f");
  const test::small_disk disk("size=32m");
  if (!disk.mounted()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  write_and_compare(disk / "f");
}

TEST_CASE("direct_writes: the aligned middle, never more, and nothing of what is small") {
  const test::temp_directory dir;
  const unique_fd fd(::open((dir / "f").c_str(), O_RDWR | O_CREAT, 0600));
  unique_fd second = reopened(dir / "f");
  if (!second) {
    MESSAGE("skipped: the file system of temporary files has no O_DIRECT");
    return;
  }
  direct_writes direct(std::move(second));
  const auto data = random_bytes(1'000'000);
  CHECK(write(direct, fd.get(), 0, bytes_view(data).first(direct_minimum - 1)) == 0);
  const std::size_t most = data.size() / 65536 * 65536;
  CHECK(write(direct, fd.get(), 0, data) == most);
  CHECK(write(direct, fd.get(), 1, data) == most - 65536);
  CHECK(write(direct, fd.get(), 65535, data) == most);
  CHECK(write(direct, fd.get(), 0, {}) == 0);
}

TEST_CASE("direct_writes: no page of 64 KiB sees a direct and a buffered write") {
  direct_writes direct(unique_fd(::open("/dev/null", O_WRONLY)));
  staging_blocks blocks;
  const auto data = random_bytes(500'000);
  for (const std::uint64_t offset : {0U, 1U, 4096U, 8192U, 65535U, 65536U, 65537U, 200'000U}) {
    bytes_view done;
    REQUIRE(direct.write(offset, data, blocks, done) == 0);
    const auto head = static_cast<std::size_t>(done.data() - data.data());
    CHECK((offset + head) % 65536 == 0);
    CHECK(done.size() % 65536 == 0);
    CHECK(head < 65536);
    CHECK(data.size() - head - done.size() < 65536);
  }
}

TEST_CASE("direct_writes: without O_DIRECT all goes the usual way; real errors are reported") {
  const auto data = random_bytes(500'000);
  staging_blocks blocks;
  bytes_view done = data;
  direct_writes none{unique_fd()};
  CHECK(none.write(0, data, blocks, done) == 0);
  CHECK(done.empty());
  direct_writes full(unique_fd(::open("/dev/full", O_WRONLY)));
  CHECK(full.write(0, data, blocks, done) == ENOSPC);
  // A descriptor for reading: EBADF. Of a pipe: ESPIPE.
  direct_writes wrong(unique_fd(::open("/dev/null", O_RDONLY)));
  CHECK(wrong.write(0, data, blocks, done) == EBADF);
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

}  // namespace direct_writes_test
