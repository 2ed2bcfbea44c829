// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What a checkpoint of many small tensors costs a tensor, in processor time of one thread: to open
// it, and to load all into memory that is there; against the floor of the system calls alone.
// Usage: small_tensors DIRECTORY [TENSORS [SHAPES [ROUNDS]]]

#include <zarrpoint/zarrpoint.hpp>

#include "harness.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

namespace zp = zarrpoint;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t elements = 512;  // 2 KiB, and one more for each further shape

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct model {
  std::vector<std::string> names;
  std::vector<std::vector<float>> tensors;
  std::vector<zp::load_target> targets;
};

model make_model(std::size_t count, std::size_t shapes) {
  model out;
  for (std::size_t i = 0; i < count; ++i) {
    out.names.push_back("model/layers/" + std::to_string(i / 393) + "/experts/" +
                        std::to_string(i % 393 / 3) + "/w" + std::to_string(i % 3));
    out.tensors.emplace_back(elements + i % shapes, static_cast<float>(i));
  }
  for (std::size_t i = 0; i < count; ++i) out.targets.emplace_back(out.names[i], out.tensors[i]);
  return out;
}

/// Opens, reads and closes the files of all tensors, and nothing else.
void read_files(const std::string& path, model& of) {
  const int root = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (std::size_t i = 0; i < of.names.size(); ++i) {
    const int fd = ::openat(root, (of.names[i] + "/c.0").c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (fd < 0 || fstat(fd, &info) != 0) std::exit(1);
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size != 4 * of.tensors[i].size() ||
        pread(fd, of.tensors[i].data(), size, 0) != info.st_size)
      std::exit(1);
    close(fd);
  }
  close(root);
}

struct costs {
  std::vector<double> open{}, load{}, floor{};
};

void run(const zp::location& where, model& of, costs& out) {
  const double start = processor_seconds();
  const zp::checkpoint opened = zp::open(where, zp::context{}).value();
  const double between = processor_seconds();
  zp::load_into_all(opened, of.targets).value();
  out.open.push_back(between - start);
  out.load.push_back(processor_seconds() - between);
}

void print(const char* what, const std::vector<double>& seconds, std::size_t count) {
  const auto [low, high] = std::minmax_element(seconds.begin(), seconds.end());
  const double each = 1e6 / static_cast<double>(count);
  std::printf("| %-44s | %6.2f us | %.2f-%.2f |\n", what, bench::median(seconds) * each,
              *low * each, *high * each);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [TENSORS [SHAPES [ROUNDS]]]\n", argv[0]);
    return 2;
  }
  const auto number = [&](int i, std::size_t otherwise) {
    return argc > i ? std::max<std::size_t>(std::strtoul(argv[i], nullptr, 10), 1) : otherwise;
  };
  const std::size_t count = number(2, 18867), shapes = number(3, 8), rounds = number(4, 11);
  model made = make_model(count, shapes);
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.emplace_back(made.names[i], made.tensors[i]);
  fs::create_directories(argv[1]);
  const std::string path = std::string(argv[1]) + "/small_tensors.zarr";
  const zp::memory_store memory;
  const zp::location in_memory(memory, zp::store_key::parse("small").value());
  zp::save(path, leaves, {.overwrite = true, .sync = false}).value();
  zp::save(in_memory, leaves, {}).value();

  costs files, kept;
  for (std::size_t round = 0; round <= rounds; ++round) {
    if (round == 1) files = kept = {};  // after a warm-up
    run(path, made, files);
    const double start = processor_seconds();
    read_files(path, made);
    files.floor.push_back(processor_seconds() - start);
    run(in_memory, made, kept);
  }
  std::printf("%zu tensors of %zu shapes from 2 KiB on, one thread, processor time a tensor\n\n",
              count, shapes);
  std::printf("| what | median | range |\n|---|---|---|\n");
  print("open, files", files.open, count);
  print("load_into_all, files, verified", files.load, count);
  print("the floor: openat, fstat, pread, close", files.floor, count);
  print("open, in memory", kept.open, count);
  print("load_into_all, in memory, verified", kept.load, count);
  fs::remove_all(path);
  return 0;
}
