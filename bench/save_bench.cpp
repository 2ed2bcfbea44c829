// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A save into a directory and into one zip file, of 69 tensors and of 5,000 small ones, nothing
// synced; the floors are the bare system calls on the same bytes. All take turns in each round.
// Usage: save_bench DIRECTORY [MEGABYTES [ROUNDS [large|small]]]

#include <zarrpoint/zarrpoint.hpp>

#include "harness.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <string_view>

namespace zp = zarrpoint;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// A hypervisor gives memory back slowly: as much as a save takes of the page cache is touched and
/// freed before each.
void warm_memory(std::size_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(at != MAP_FAILED, "mmap");
  std::memset(at, 1, size);
  munmap(at, size);
}

int create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  require(fd >= 0, "open");
  return fd;
}

void write_all(int fd, zp::bytes_view bytes, std::size_t offset) {
  for (std::size_t at = 0; at < bytes.size(); at += mebibyte) {
    const std::size_t size = std::min(mebibyte, bytes.size() - at);
    require(pwrite(fd, bytes.data() + at, size, static_cast<off_t>(offset + at)) ==
                static_cast<ssize_t>(size),
            "pwrite");
  }
}

struct contender {
  const char* name;
  std::function<void()> work;
  std::vector<double> seconds{}, processor{};
};

/// What the contenders take in turns, each after `clean`, and how many times as long as the first.
void race(std::vector<contender> all, const std::function<void()>& clean, int rounds) {
  // In random order: what one leaves of the page cache weighs on the next.
  std::mt19937 random(1);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = -1; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      contender& one = all[i];
      clean();
      const double before = processor_seconds();
      const double took = bench::seconds_of(one.work);
      if (round < 0) continue;  // a warm-up
      one.seconds.push_back(took);
      one.processor.push_back(processor_seconds() - before);
    }
  }
  clean();
  for (const contender& one : all) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < one.seconds.size(); ++i)
      ratios.push_back(all.front().seconds[i] / one.seconds[i]);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    std::printf("| %-44s | %8.1f ms | %8.1f ms | %5.2f | %.2f-%.2f |\n", one.name,
                1e3 * bench::median(one.seconds), 1e3 * bench::median(one.processor),
                bench::median(ratios), *low, *high);
  }
  std::fflush(stdout);
}

struct tensors {
  std::vector<std::string> names{};
  std::vector<std::span<const zp::bfloat16>> values{};
  std::vector<zp::leaf> leaves() const {
    std::vector<zp::leaf> out;
    for (std::size_t i = 0; i < names.size(); ++i) out.emplace_back(names[i], values[i]);
    return out;
  }
};

void compare(const std::string& directory, const tensors& of, int rounds) {
  const std::vector<zp::leaf> leaves = of.leaves();
  const std::string path = directory + "/save.zarr", zip = directory + "/save.zarr.zip";
  const std::string one = directory + "/floor.bin", many = directory + "/floor";
  std::size_t total = 0;
  for (const auto& value : of.values) total += value.size_bytes();
  const auto clean = [&] {
    for (const std::string& name : {path, zip, one, many}) fs::remove_all(name);
    warm_memory(total + total / 8);
  };
  race({{"directory", [&] { zp::save(path, leaves, {.sync = false}).value(); }},
        {"zip", [&] { zp::save(zip, leaves, {.sync = false}).value(); }},
        {"floor: a file each, two threads",
         [&] {
           fs::create_directory(many);
           bench::run_threads(of.names.size(), [&](unsigned, std::size_t i) {
             const int fd = create(many + "/" + std::to_string(i));
             write_all(fd, std::as_bytes(of.values[i]), 0);
             close(fd);
           });
         }},
        {"floor: one file, one thread, reserved",
         [&] {
           const int fd = create(one);
           static_cast<void>(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(total)));
           std::size_t at = 0;
           for (const auto& value : of.values) {
             write_all(fd, std::as_bytes(value), at);
             at += value.size_bytes();
           }
           close(fd);
         }},
        {"floor: one file, one thread",
         [&] {
           const int fd = create(one);
           std::size_t at = 0;
           for (const auto& value : of.values) {
             write_all(fd, std::as_bytes(value), at);
             at += value.size_bytes();
           }
           close(fd);
         }}},
       clean, rounds);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [MEGABYTES [ROUNDS [large|small]]]\n", argv[0]);
    return 2;
  }
  const std::string directory = argv[1];
  const std::size_t megabytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1024;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 11;
  const std::string_view only = argc > 4 ? argv[4] : "";
  fs::create_directories(directory);
  const std::size_t elements = megabytes * mebibyte / 2;
  std::vector<zp::bfloat16> values(elements);
  {
    const std::vector<std::uint16_t> bits = bench::weights(elements / 4096, 4096);
    std::memcpy(static_cast<void*>(values.data()), bits.data(), 2 * bits.size());
  }
  const auto header = [](const char* what) {
    std::printf(
        "\n| %s | by the clock | processors | rate / the directory's | range |\n"
        "|---|---:|---:|---:|---|\n",
        what);
  };
  // As in bench/peers: tensors of three sizes, that take 16, 4 and 1 parts of the whole.
  if (only != "small") {
    tensors model;
    const std::size_t part = elements / (23 * (16 + 4 + 1));
    std::size_t at = 0;
    for (std::size_t i = 0; i < 69; ++i) {
      const std::size_t size = part * (i % 3 == 0 ? 16 : i % 3 == 1 ? 4 : 1);
      model.names.push_back("layers/" + std::to_string(i / 3) + "/w" + std::to_string(i % 3));
      model.values.emplace_back(values.data() + at, size);
      at += size;
    }
    header((std::to_string(megabytes) + " MiB in 69 tensors").c_str());
    compare(directory, model, rounds);
  }
  if (only != "large") {
    tensors small;
    constexpr std::size_t count = 5000, each = 6 * 1024;  // 12 KiB
    if (elements < count * each) return 0;
    for (std::size_t i = 0; i < count; ++i) {
      small.names.push_back("layers/" + std::to_string(i / 10) + "/w" + std::to_string(i % 10));
      small.values.emplace_back(values.data() + i * each, each);
    }
    header("5,000 tensors of 12 KiB");
    compare(directory, small, rounds);
  }
  return 0;
}
