// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The floor among the libraries of rows.py: the same bytes by as many threads, with the system's
// calls alone, without checksums, names or metadata.
// Usage: floor_rows TASK PLACE OUT    prints the seconds; exit status 3: this task has no floor

#include "../floor.hpp"

#include <fcntl.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;

using bench::memory;
using bench::read_all;
using bench::require;

namespace {

constexpr std::size_t row_bytes = 8192;

double part(const std::string& which, const memory& all) {
  const std::size_t rows = all.size / row_bytes / 4 * 4;
  return bench::seconds_of([&] {
    const memory to = bench::fresh(rows / 4 * row_bytes);
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
    seconds = bench::load_floor(place + "/zarrpoint.raw");
  } else if (task == "load_small") {
    seconds = bench::load_floor(place + "/zarrpoint.small");
  } else if (task == "save_raw" || task == "save_raw_synced" || task == "save_zip") {
    seconds = bench::save_floor(place + "/zarrpoint.raw", out, task == "save_raw_synced");
  } else if (task == "save_blosc_synced") {
    seconds = bench::save_floor(place + "/blosc", out, true);
  } else if (task == "save_small") {
    seconds = bench::save_floor(place + "/zarrpoint.small", out, false);
  } else if (task == "random_raw") {
    seconds = random_chunks(place + "/random_raw/a/c/0/0");
  } else if (task.ends_with("_raw")) {
    seconds = part(task.substr(0, task.find('_')), bench::contents(place + "/parts_raw/a/c/0/0"));
  } else {
    return 3;
  }
  std::printf("%.9f\n", seconds);
  return 0;
}
