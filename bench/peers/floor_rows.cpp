// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The floor among the libraries of rows.py: the same bytes by as many threads, with the system's
// calls alone, without checksums, names or metadata.
// Usage: floor_rows TASK PLACE OUT    prints the seconds; exit status 3: this task has no floor

#include "../harness.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace fs = std::filesystem;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t row_bytes = 8192;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

struct memory {
  char* data;
  std::size_t size;
};

memory fresh(std::size_t size) {
  void* at = mmap(nullptr, size + 2 * mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
  require(at != MAP_FAILED, "mmap");
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto* const data = static_cast<char*>(at) + (2 * mebibyte - address % (2 * mebibyte));
  madvise(data, size, MADV_HUGEPAGE);
  return {data, size};
}

void read_all(int fd, char* to, std::size_t size, std::size_t offset) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    require(n > 0, "pread");
    done += static_cast<std::size_t>(n);
  }
}

void write_all(int fd, const char* from, std::size_t size, std::size_t offset) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = pwrite(fd, from + done, size - done, static_cast<off_t>(offset + done));
    require(n > 0, "pwrite");
    done += static_cast<std::size_t>(n);
  }
}

/// The files of a checkpoint of zarrpoint's that hold elements.
std::vector<std::pair<fs::path, std::size_t>> chunks_of(const std::string& checkpoint) {
  std::vector<std::pair<fs::path, std::size_t>> out;
  for (const auto& entry : fs::recursive_directory_iterator(checkpoint)) {
    if (entry.is_regular_file() && entry.path().extension() != ".json")
      out.emplace_back(entry.path(), entry.file_size());
  }
  return out;
}

memory contents(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "open");
  const memory out = fresh(fs::file_size(path));
  read_all(fd, out.data, out.size, 0);
  close(fd);
  return out;
}

double load(const std::string& checkpoint) {
  const auto files = chunks_of(checkpoint);
  std::size_t total = 0;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;  // of a file, and where in it
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < files.size(); ++i) {
    begins.push_back(total);
    total += files[i].second;
    for (std::size_t at = 0; at < files[i].second; at += mebibyte) pieces.emplace_back(i, at);
  }
  return bench::seconds_of([&] {
    const memory to = fresh(total);
    std::vector<int> fds;
    for (const auto& [path, size] : files) fds.push_back(::open(path.c_str(), O_RDONLY));
    bench::run_threads(pieces.size(), [&](unsigned, std::size_t i) {
      const auto [file, at] = pieces[i];
      read_all(fds[file], to.data + begins[file] + at, std::min(mebibyte, files[file].second - at),
               at);
    });
    for (const int fd : fds) close(fd);
  });
}

/// Each file by one thread from its beginning to its end; synced ones past the page cache.
double save(const std::string& checkpoint, const std::string& out, bool synced) {
  const auto files = chunks_of(checkpoint);
  std::size_t largest = 0;
  for (const auto& [path, size] : files) largest = std::max(largest, size);
  const memory from = fresh(largest + mebibyte);
  std::memset(from.data, 7, from.size);
  fs::create_directory(out);
  return bench::seconds_of([&] {
    std::atomic<std::size_t> next = 0;
    bench::run_threads(bench::threads, [&](unsigned, std::size_t) {
      for (std::size_t i; (i = next++) < files.size();) {
        const std::size_t size = files[i].second;
        const bool direct = synced && size >= mebibyte;
        const int fd = ::open((out + "/" + std::to_string(i)).c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | (direct ? O_DIRECT : 0), 0666);
        require(fd >= 0, "open");
        const std::size_t whole = direct ? (size + 4095) / 4096 * 4096 : size;
        if (direct) require(fallocate(fd, 0, 0, static_cast<off_t>(whole)) == 0, "fallocate");
        for (std::size_t at = 0; at < whole; at += mebibyte)
          write_all(fd, from.data + at, std::min(mebibyte, whole - at), at);
        if (whole != size) require(ftruncate(fd, static_cast<off_t>(size)) == 0, "ftruncate");
        if (synced) require(fdatasync(fd) == 0, "fdatasync");
        close(fd);
      }
    });
  });
}

double part(const std::string& which, const memory& all) {
  const std::size_t rows = all.size / row_bytes / 4 * 4;
  return bench::seconds_of([&] {
    const memory to = fresh(rows / 4 * row_bytes);
    bench::run_threads(bench::threads, [&](unsigned, std::size_t half) {
      const std::size_t begin = rows * half / 2;
      if (which == "rows") {
        const std::size_t bytes = rows / 8 * row_bytes;
        std::memcpy(to.data + half * bytes, all.data + rows / 4 * row_bytes + half * bytes, bytes);
      }
      for (std::size_t row = begin; which == "columns" && row < rows * (half + 1) / 2; ++row)
        std::memcpy(to.data + row * row_bytes / 4, all.data + row * row_bytes + row_bytes / 4,
                    row_bytes / 4);
      for (std::size_t row = begin; which == "strided" && row < rows * (half + 1) / 2; row += 4)
        std::memcpy(to.data + row / 4 * row_bytes, all.data + row * row_bytes, row_bytes);
    });
  });
}

double random_chunks(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, "open");
  std::vector<char> chunk(8 * row_bytes);
  const std::size_t count = fs::file_size(path) / chunk.size();
  std::uint64_t state = 1;
  return bench::seconds_of([&] {
           for (int i = 0; i < 2000; ++i) {
             state = (state * 1103515245 + 12345) % 2147483648U;
             read_all(fd, chunk.data(), chunk.size(), state % count * chunk.size());
           }
         }) /
         2000;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const std::string task = words[1];
  const std::string place = words[2];
  const std::string out = words[3];
  double seconds = 0;
  if (task == "load_raw") {
    seconds = load(place + "/zarrpoint.raw");
  } else if (task == "load_small") {
    seconds = load(place + "/zarrpoint.small");
  } else if (task == "save_raw" || task == "save_raw_synced" || task == "save_zip") {
    seconds = save(place + "/zarrpoint.raw", out, task == "save_raw_synced");
  } else if (task == "save_blosc_synced") {
    seconds = save(place + "/blosc", out, true);
  } else if (task == "save_small") {
    seconds = save(place + "/zarrpoint.small", out, false);
  } else if (task == "random_raw") {
    seconds = random_chunks(place + "/random_raw/a/c/0/0");
  } else if (task.ends_with("_raw")) {
    seconds = part(task.substr(0, task.find('_')), contents(place + "/parts_raw/a/c/0/0"));
  } else {
    return 3;
  }
  std::printf("%.9f\n", seconds);
  return 0;
}
