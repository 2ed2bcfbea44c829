// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The floors of loads and saves: the bytes of a checkpoint's files by as many threads, with the
// system's calls alone.

#include "harness.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace fs = std::filesystem;

inline constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct memory {
  char* data;
  std::size_t size;
};

inline memory fresh(std::size_t size) {
  void* at = mmap(nullptr, size + 2 * mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
  require(at != MAP_FAILED, "mmap");
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto* const data = static_cast<char*>(at) + (2 * mebibyte - address % (2 * mebibyte));
  madvise(data, size, MADV_HUGEPAGE);
  return {data, size};
}

/// Touches and frees so much, in huge pages, which the next who wants some is given.
inline void touch(std::size_t size) {
  const memory all = fresh(size);
  for (std::size_t at = 0; at < size; at += 4096) all.data[at] = 1;
  require(munmap(all.data, all.size) == 0, "munmap");
}

inline void read_all(int fd, char* to, std::size_t size, std::size_t offset) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    require(n > 0, "pread");
    done += static_cast<std::size_t>(n);
  }
}

inline void write_all(int fd, const char* from, std::size_t size, std::size_t offset) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = pwrite(fd, from + done, size - done, static_cast<off_t>(offset + done));
    require(n > 0, "pwrite");
    done += static_cast<std::size_t>(n);
  }
}

/// The files of a checkpoint that hold elements.
inline std::vector<std::pair<fs::path, std::size_t>> chunks_of(const std::string& checkpoint) {
  std::vector<std::pair<fs::path, std::size_t>> out;
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    if (entry.is_regular_file() && entry.path().extension() != ".json")
      out.emplace_back(entry.path(), entry.file_size());
  }
  return out;
}

inline memory contents(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "open");
  const memory out = fresh(fs::file_size(path));
  read_all(fd, out.data, out.size, 0);
  close(fd);
  return out;
}

/// Files by two threads, in pieces of 1 MiB, into new memory.
inline double load_floor(const std::vector<std::pair<fs::path, std::size_t>>& files) {
  std::size_t total = 0;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;  // of a file, and where in it
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < files.size(); ++i) {
    begins.push_back(total);
    total += files[i].second;
    for (std::size_t at = 0; at < files[i].second; at += mebibyte) pieces.emplace_back(i, at);
  }
  return seconds_of([&] {
    const memory to = fresh(total);
    std::vector<int> fds;
    for (const auto& [path, size] : files) fds.push_back(::open(path.c_str(), O_RDONLY));
    const auto read = [&](unsigned, std::size_t i) {
      const auto [file, at] = pieces[i];
      read_all(fds[file], to.data + begins[file] + at, std::min(mebibyte, files[file].second - at),
               at);
    };
    run_threads(pieces.size(), read, side_by_side);
    for (const int fd : fds) close(fd);
  });
}

inline double load_floor(const std::string& checkpoint) {
  return load_floor(chunks_of(checkpoint));
}

/// Each file by one thread from its beginning to its end, out of memory of its own, as tensors are;
/// synced ones past the page cache.
inline double save_floor(const std::string& checkpoint, const std::string& out, bool synced) {
  const auto files = chunks_of(checkpoint);
  std::size_t total = 0;
  std::vector<std::size_t> begins;
  for (const auto& [path, size] : files) {
    begins.push_back(total);
    total += (size + 4095) / 4096 * 4096;
  }
  const memory from = fresh(total);
  std::memset(from.data, 7, from.size);
  fs::create_directory(out);
  return seconds_of([&] {
    std::atomic<std::size_t> next = 0;
    run_threads(threads, [&](unsigned, std::size_t) {
      for (std::size_t i; (i = next++) < files.size();) {
        const std::size_t size = files[i].second;
        const bool direct = synced && size >= mebibyte;
        const int fd = ::open((out + "/" + std::to_string(i)).c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | (direct ? O_DIRECT : 0), 0666);
        require(fd >= 0, "open");
        const std::size_t whole = direct ? (size + 4095) / 4096 * 4096 : size;
        if (direct) require(fallocate(fd, 0, 0, static_cast<off_t>(whole)) == 0, "fallocate");
        for (std::size_t at = 0; at < whole; at += mebibyte)
          write_all(fd, from.data + begins[i] + at, std::min(mebibyte, whole - at), at);
        if (whole != size) require(ftruncate(fd, static_cast<off_t>(size)) == 0, "ftruncate");
        if (synced) require(fdatasync(fd) == 0, "fdatasync");
        close(fd);
      }
    });
  });
}

/// So many bytes into one file by one thread, 1 MiB at a time; two would wait for each other.
inline double one_file_floor(std::size_t size, const std::string& out) {
  const memory from = fresh(size);
  std::memset(from.data, 7, from.size);
  return seconds_of([&] {
    const int fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    require(fd >= 0, "open");
    for (std::size_t at = 0; at < size; at += mebibyte)
      write_all(fd, from.data + at, std::min(mebibyte, size - at), at);
    close(fd);
  });
}

}  // namespace bench
