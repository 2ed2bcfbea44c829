// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the benchmarks of a GPU share: pinned memory, the floors, and rows of a table in which ours
// and the floors took turns.

#include <zarrpoint/cuda/tensor.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include "harness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

namespace zp = zarrpoint;
using device_space = zp::cuda::device_space;

/// Blocks of pinned host memory, one for each thread, which exist before anything is timed.
class pinned_blocks {
 public:
  static constexpr std::size_t block_bytes = std::size_t{16} << 20;

  pinned_blocks(const device_space& space, unsigned count) : space_(space) {
    for (unsigned i = 0; i < count; ++i) {
      blocks_.push_back(zp::buffer::allocate(block_bytes).value());
      std::memset(blocks_.back().data(), 1, block_bytes);
      space_.pin(blocks_.back().bytes()).value();
    }
  }
  pinned_blocks(const pinned_blocks&) = delete;
  pinned_blocks& operator=(const pinned_blocks&) = delete;
  ~pinned_blocks() {
    for (zp::buffer& block : blocks_) space_.unpin(block.bytes());
  }

  const device_space& space() const { return space_; }
  unsigned count() const { return static_cast<unsigned>(blocks_.size()); }
  std::byte* operator[](std::size_t i) { return blocks_[i % blocks_.size()].data(); }

 private:
  device_space space_;
  std::vector<zp::buffer> blocks_;
};

/// Calls `work(thread, offset, bytes)` for the pieces of `bytes`, each a block at most.
inline void in_pieces(std::size_t bytes, unsigned threads,
                      const std::function<void(unsigned, std::size_t, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      for (;;) {
        const std::size_t at = next.fetch_add(pinned_blocks::block_bytes);
        if (at >= bytes) return;
        work(t, at, std::min(pinned_blocks::block_bytes, bytes - at));
      }
    });
  }
  for (std::thread& one : crew) one.join();
}

/// The floor of the link to the device: as many bytes from memory that is pinned already.
inline void copy_to_device(pinned_blocks& from, std::byte* to, std::size_t bytes) {
  for (std::size_t at = 0, i = 0; at < bytes; at += pinned_blocks::block_bytes, ++i) {
    const std::size_t size = std::min(pinned_blocks::block_bytes, bytes - at);
    from.space().copy_from_host(to + at, from[i], {size, 1, 0, 0}).value();
  }
  zp::detail::wait_for_stream(from.space()).value();
}
/// The floor of the link from the device.
inline void copy_to_host(pinned_blocks& to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0, i = 0; at < bytes; at += pinned_blocks::block_bytes, ++i) {
    const std::size_t size = std::min(pinned_blocks::block_bytes, bytes - at);
    to.space().copy_to_host(to[i], from + at, {size, 1, 0, 0}).value();
  }
  zp::detail::wait_for_stream(to.space()).value();
}

/// Ends the program where the device has other bytes than the host: the rows would mean nothing.
inline void require_same(pinned_blocks& by, const std::byte* there, const std::byte* here,
                         std::pair<std::size_t, const char*> bytes_and_what) {
  const auto [bytes, what] = bytes_and_what;
  const std::size_t turn = pinned_blocks::block_bytes * by.count();
  for (std::size_t first = 0; first < bytes; first += turn) {
    const std::size_t part = std::min(turn, bytes - first);
    copy_to_host(by, there + first, part);
    in_pieces(part, by.count(), [&](unsigned, std::size_t at, std::size_t size) {
      const std::byte* const seen = by[at / pinned_blocks::block_bytes];
      require(std::memcmp(seen, here + first + at, size) == 0, what);
    });
  }
}

/// The floor of the file system: as many bytes of a file into pinned memory, by all threads.
inline void read_file(pinned_blocks& to, const std::string& path, std::size_t bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, path.c_str());
  in_pieces(bytes, to.count(), [&](unsigned t, std::size_t at, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t n = ::pread(fd, to[t] + done, size - done, static_cast<off_t>(at + done));
      require(n > 0, "pread");
      done += static_cast<std::size_t>(n);
    }
  });
  ::close(fd);
}
/// As many bytes into a new file.
inline void write_file(pinned_blocks& from, const std::string& path, std::size_t bytes) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  require(fd >= 0, path.c_str());
  in_pieces(bytes, from.count(), [&](unsigned t, std::size_t at, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t n = ::pwrite(fd, from[t] + done, size - done, static_cast<off_t>(at + done));
      require(n > 0, "pwrite");
      done += static_cast<std::size_t>(n);
    }
  });
  ::close(fd);
}
/// The floor of memory that a program has not had yet: as many bytes copied into it by all threads.
inline void fill_new_memory(pinned_blocks& from, std::size_t bytes) {
  zp::buffer to = zp::buffer::allocate(bytes).value();
  in_pieces(bytes, from.count(), [&](unsigned t, std::size_t at, std::size_t size) {
    std::memcpy(to.data() + at, from[t], size);
  });
}
/// Takes a file out of the page cache.
inline void forget_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, path.c_str());
  require(::fdatasync(fd) == 0 && ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "forget");
  ::close(fd);
}

/// One row: ours against one floor or several. The first of them counts, and what the others say
/// stands below; or the slowest counts.
struct contest {
  std::string name;
  std::size_t bytes;
  std::function<void()> ours;
  std::vector<std::pair<std::string, std::function<void()>>> floors;
  std::string target;              ///< what the ratio ought to be
  std::function<void()> before{};  ///< untimed, before each
  std::function<void()> after{};   ///< untimed, after ours
  std::size_t items = 0;           ///< the cost of each beyond the floor is told
  bool first_counts = false;
};

inline void print_head() {
  std::printf(
      "| what | zarrpoint | floor | ratio | range | target |\n"
      "|---|---|---|---|---|---|\n");
}

/// Runs the rounds and prints the row: medians of the rates, and of the ratio floor / ours in time.
inline void run(const contest& what, int rounds) {
  const std::size_t count = what.floors.size();
  std::vector<double> ours;
  std::vector<std::vector<double>> floors(count);
  const auto timed = [&](const std::function<void()>& work) {
    if (what.before) what.before();
    return seconds_of(work);
  };
  const auto run_ours = [&](bool counts) {
    const double seconds = timed(what.ours);
    if (what.after) what.after();
    if (counts) ours.push_back(seconds);
  };
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    if (round % 2 == 0) run_ours(round >= 0);
    for (std::size_t i = 0; i < count; ++i) {
      const double seconds = timed(what.floors[i].second);
      if (round >= 0) floors[i].push_back(seconds);
    }
    if (round % 2 != 0) run_ours(round >= 0);
  }
  const auto rate = [&](const std::vector<double>& seconds) {
    return static_cast<double>(what.bytes) / median(seconds) / 1e9;
  };
  std::size_t counts = 0;
  for (std::size_t i = 1; i < count && !what.first_counts; ++i) {
    if (median(floors[i]) > median(floors[counts])) counts = i;
  }
  const auto print = [&](std::size_t floor, const std::string& name, const std::string& own,
                         const std::string& target) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(floors[floor][i] / ours[i]);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("| %s | %s | %.2f GB/s (%s) | %.2f | %.2f-%.2f | %s |\n", name.c_str(), own.c_str(),
                rate(floors[floor]), what.floors[floor].first.c_str(), median(ratios), *low, *high,
                target.c_str());
  };
  char own[96];
  int size = std::snprintf(own, sizeof own, "%.2f GB/s", rate(ours));
  if (what.items != 0) {
    std::vector<double> beyond;
    for (std::size_t i = 0; i < ours.size(); ++i)
      beyond.push_back((ours[i] - floors[counts][i]) / static_cast<double>(what.items));
    std::snprintf(own + size, sizeof own - static_cast<std::size_t>(size),
                  "; %.2f us each beyond the floor", median(beyond) * 1e6);
  }
  print(counts, what.name, own, what.target);
  for (std::size_t i = 0; i < count; ++i) {
    if (i != counts) print(i, "(beside another floor)", "", "");
  }
  std::fflush(stdout);
}

/// A row that says why there are no figures in it.
inline void print_note(const std::string& text) {
  std::printf("| %s | | | | | |\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace bench
