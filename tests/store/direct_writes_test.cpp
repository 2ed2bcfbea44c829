// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/write_threads.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>

#include "support/open_files.hpp"
#include "support/small_disk.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
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

/// A file, written by direct_writes.
struct direct_file {
  explicit direct_file(const std::string& path)
      : fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    direct.open(fd.get(), reopened(path));
  }

  std::vector<std::byte> stored() const {
    struct ::stat info {};
    REQUIRE(::fstat(fd.get(), &info) == 0);
    std::vector<std::byte> out(static_cast<std::size_t>(info.st_size));
    REQUIRE(read_fully(fd.get(), 0, out) == 0);
    return out;
  }

  unique_fd fd;
  staging_blocks blocks;
  write_behind behind = write_threads::make();
  direct_writes direct{blocks, behind};
};

std::vector<std::pair<std::size_t, std::size_t>> random_pieces(std::size_t total, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t at = 0; at < total;) {
    std::size_t size = random() % 1'500'000;
    if (random() % 3 == 0) size = size / 4096 * 4096;
    size = std::min(size, total - at);
    out.emplace_back(at, size);
    at += size;
  }
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

/// Pieces of many sizes and alignments, out of order and by several threads: the file has what
/// was written in the end.
void write_and_compare(const std::string& path) {
  const auto data = random_bytes(6'000'000);
  for (unsigned seed = 0; seed < 8; ++seed) {
    direct_file file(path + std::to_string(seed));
    const auto pieces = random_pieces(data.size(), seed);
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    for (std::size_t one = 0; one < 3; ++one) {
      threads.emplace_back([&, one] {
        for (std::size_t i = one; i < pieces.size(); i += 3) {
          const auto piece = bytes_view(data).subspan(pieces[i].first, pieces[i].second);
          if (file.direct.write_once(pieces[i].first, piece, {}) != 0) ++failed;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failed == 0);
    REQUIRE(file.direct.finish() == 0);
    CHECK(file.stored() == data);
  }
}

}  // namespace

TEST_CASE("direct_writes: pieces of any size and alignment, out of order, by many threads") {
  const test::temp_directory dir;
  write_and_compare(dir / "f");
  const test::small_disk disk("size=64m");
  if (!disk.mounted()) {
    MESSAGE(test::skipped_without_root);
    return;
  }
  write_and_compare(disk / "f");
}

TEST_CASE("direct_writes: neighbours fill the block between them, whichever comes first") {
  const test::temp_directory dir;
  const auto data = random_bytes(1'000'000);
  const std::size_t cut = 500'000;
  for (const bool first : {true, false}) {
    direct_file file(dir / (first ? "a" : "b"));
    const bytes_view left = bytes_view(data).first(cut);
    const bytes_view right = bytes_view(data).subspan(cut);
    REQUIRE((first ? file.direct.write_once(0, left, {})
                   : file.direct.write_once(cut, right, {})) == 0);
    if (first) CHECK(file.stored().size() == cut / 65536 * 65536);
    REQUIRE((first ? file.direct.write_once(cut, right, {})
                   : file.direct.write_once(0, left, {})) == 0);
    CHECK(file.stored().size() == data.size() / 65536 * 65536);
    REQUIRE(file.direct.finish() == 0);
    CHECK(file.stored() == data);
  }
}

TEST_CASE(
    "direct_writes: what is small, and more ends than there is room for, are written at once") {
  const test::temp_directory dir;
  direct_file file(dir / "f");
  const auto data = random_bytes(300'001);
  REQUIRE(file.direct.write_once(7, bytes_view(data).first(direct_minimum - 1), {}) == 0);
  CHECK(file.stored().size() == direct_minimum + 6);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 1; i <= 40; ++i) offsets.push_back(i * 400'000);
  for (const std::uint64_t offset : offsets) REQUIRE(file.direct.write_once(offset, data, {}) == 0);
  CHECK(file.stored().size() == offsets.back() + data.size());
  REQUIRE(file.direct.finish() == 0);
  const auto stored = file.stored();
  for (const std::uint64_t offset : offsets)
    CHECK(
        std::equal(data.begin(), data.end(), stored.begin() + static_cast<std::ptrdiff_t>(offset)));
}

TEST_CASE("direct_writes: a range that is written again has what came last") {
  const test::temp_directory dir;
  const auto old = random_bytes(1'300'001);
  direct_file file(dir / "f");
  REQUIRE(file.direct.write(0, old) == 0);
  CHECK(file.stored() == old);  // at once
  std::vector<std::byte> fresh(old.rbegin(), old.rend());
  for (const std::size_t cut : {1'000'000U, 290'000U}) {
    REQUIRE(file.direct.write(0, bytes_view(fresh).first(cut)) == 0);
    REQUIRE(file.direct.write(cut, bytes_view(fresh).subspan(cut)) == 0);
    CHECK(file.stored() == fresh);
    std::reverse(fresh.begin(), fresh.end());
  }
  REQUIRE(file.direct.finish() == 0);
  CHECK(file.stored() == old);
}

TEST_CASE("direct_writes: without O_DIRECT all goes the usual way; real errors are reported") {
  const auto data = random_bytes(500'000);
  staging_blocks blocks;
  write_behind behind = write_threads::make();
  const test::temp_directory dir;
  const unique_fd fd(::open((dir / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  write_behind nobody;
  direct_writes none(blocks, nobody);
  none.open(fd.get(), unique_fd());
  REQUIRE(none.write_once(0, data, {}) == 0);
  std::vector<std::byte> back(data.size());
  REQUIRE(read_fully(fd.get(), 0, back) == 0);
  CHECK(back == data);
  const auto not_aligned = bytes_view(data).subspan(1);
  direct_writes full(blocks, behind);
  full.open(fd.get(), unique_fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
  CHECK(full.write_once(0, not_aligned, {}) == ENOSPC);
  // A descriptor for reading: EBADF.
  direct_writes wrong(blocks, behind);
  wrong.open(fd.get(), unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  CHECK(wrong.write_once(0, not_aligned, {}) == EBADF);
  CHECK(wrong.write_once(0, not_aligned, {}) == EBADF);
}

TEST_CASE("direct_writes: bytes that stay are written by others from where they are") {
  struct poster {
    std::vector<write_behind::job> jobs;
  } all;
  static constexpr write_behind::operations later{
      [](void* self, const write_behind::job& work, pending_writes&) noexcept {
        static_cast<poster*>(self)->jobs.push_back(work);
        return true;
      },
      [](void* self, pending_writes& in) noexcept {
        for (const auto& job : static_cast<poster*>(self)->jobs) {
          if (const int code = job.write(job); code != 0) in.code = code;
        }
        static_cast<poster*>(self)->jobs.clear();
      },
      [](void*) noexcept {}};
  const test::temp_directory dir;
  const auto data = random_bytes((std::size_t{4} << 20) + 4096);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(data.data()) % direct_alignment;
  const bytes_view aligned = bytes_view(data).subspan(past == 0 ? 0 : direct_alignment - past);
  constexpr std::size_t piece = 4 * direct_boundary;
  const unique_fd fd(::open((dir / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  unique_fd direct = reopened(dir / "f");
  if (!direct) {
    MESSAGE("skipped: no O_DIRECT here");
    return;
  }
  staging_blocks blocks;
  write_behind behind(later, &all);
  direct_writes file(blocks, behind);
  file.open(fd.get(), std::move(direct));
  REQUIRE(file.write_once(0, aligned.first(piece), {}) == 0);  // may be gone then
  CHECK(all.jobs.empty());
  const direct_writes::once stays{.bytes_stay = true};
  REQUIRE(file.write_once(piece, aligned.subspan(piece, piece), stays) == 0);
  REQUIRE(all.jobs.size() == 1);
  CHECK(all.jobs[0].bytes.data() == aligned.data() + piece);
  // So is what lies between the boundaries of a piece that ends elsewhere; the rest is copied.
  const bytes_view odd = aligned.subspan(2 * piece, piece + 1000);
  REQUIRE(file.write_once(2 * piece, odd, stays) == 0);
  REQUIRE(all.jobs.size() == 2);
  CHECK(all.jobs[1].bytes.data() == odd.data());
  CHECK(all.jobs[1].bytes.size() == piece);
  const std::size_t then = 2 * piece + odd.size();
  REQUIRE(file.write_once(then, aligned.subspan(then, piece), stays) == 0);
  REQUIRE(all.jobs.size() == 3);
  CHECK(all.jobs[2].offset == 3 * piece);
  CHECK((all.jobs[2].bytes.data() < data.data() || all.jobs[2].bytes.data() > &data.back()));
  REQUIRE(file.finish() == 0);
  std::vector<std::byte> back(then + piece);
  REQUIRE(read_fully(fd.get(), 0, back) == 0);
  CHECK(std::equal(back.begin(), back.end(), aligned.begin()));
}

TEST_CASE("direct_writes: an error of a write behind is told by the next one, or at the end") {
  const test::temp_directory dir;
  const auto data = random_bytes(900'001);
  staging_blocks blocks;
  write_behind behind = write_threads::make();
  const unique_fd fd(::open((dir / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  // Enough of them that the threads are at work.
  for (int i = 0; i < 6; ++i) {
    direct_writes good(blocks, behind);
    good.open(fd.get(), reopened(dir / "f"));
    REQUIRE(good.write_once(1, data, {}) == 0);
    REQUIRE(good.finish() == 0);
  }
  direct_writes full(blocks, behind);
  full.open(fd.get(), unique_fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
  const int code = full.write_once(1, data, {});
  CHECK((code == 0 || code == ENOSPC));
  CHECK(full.finish() == ENOSPC);
  CHECK(full.write_once(1, data, {}) == ENOSPC);
}

}  // namespace direct_writes_test
