// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Saves and loads of several processes, simulated by threads of one: ours against the floor, the
// same bytes by as many threads that each pwrite or pread a file of their own, in the same run.
// Usage: distributed_bench DIRECTORY [MEGABYTES [ROUNDS]]

#include <zarrpoint/distributed.hpp>

#include "harness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace zp = zarrpoint;
namespace fs = std::filesystem;

namespace {

constexpr zp::index_t columns = 4096;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

/// What one process holds: tensors that its state borrows.
struct rank_memory {
  std::vector<zp::tensor> tensors;
  zp::state tree;
  std::size_t bytes = 0;
};

/// How many tensors of [rows, columns] there are, along which axis they are cut among the ranks.
struct workload {
  std::string name;
  int tensors = 1;
  zp::index_t rows = 0;
  std::size_t axis = 0;
  int ranks = 2;

  rank_memory memory_of(int rank) const {
    rank_memory out;
    zp::dims local{rows, columns};
    local[axis] /= ranks;
    zp::state::list shards;
    out.tensors.reserve(static_cast<std::size_t>(tensors));  // they are borrowed
    for (int i = 0; i < tensors; ++i) {
      zp::tensor& one =
          out.tensors.emplace_back(zp::tensor::make({zp::dtype_kind::bfloat16, local}).value());
      const std::size_t size = one.size() * sizeof(std::uint16_t);
      std::memset(one.mutable_view().data, 1 + rank + i % 100, size);
      out.bytes += size;
      shards.emplace_back(zp::shard("t" + std::to_string(i), one,
                                    {.offsets = {{axis, static_cast<zp::index_t>(rank), ranks}}})
                              .value());
    }
    out.tree = zp::state{{"shards", std::move(shards)}};
    return out;
  }

  std::vector<rank_memory> memory() const {
    std::vector<rank_memory> out;
    for (int rank = 0; rank < ranks; ++rank) out.push_back(memory_of(rank));
    return out;
  }
};

/// Each rank works on its own thread.
zp::process_group group_of(const zp::thread_communicator& self) {
  return {.ranks = self, .how = zp::context{}};
}

std::string floor_file(const std::string& folder, std::size_t rank, std::size_t i) {
  return folder + "/" + std::to_string(rank) + "." + std::to_string(i);
}

void write_file(const std::string& path, const zp::tensor& from, bool sync) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  require(fd >= 0, path.c_str());
  const std::size_t size = from.size() * sizeof(std::uint16_t);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = pwrite(fd, from.view().data + at, size - at, static_cast<off_t>(at));
    require(n > 0, "pwrite");
    at += static_cast<std::size_t>(n);
  }
  if (sync) require(fsync(fd) == 0, "fsync");
  close(fd);
}

void read_file(const std::string& path, zp::tensor& to) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(fd >= 0, path.c_str());
  const std::size_t size = to.size() * sizeof(std::uint16_t);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = pread(fd, to.mutable_view().data + at, size - at, static_cast<off_t>(at));
    require(n > 0, "pread");
    at += static_cast<std::size_t>(n);
  }
  close(fd);
}

void run_floor(std::vector<rank_memory>& all,
               const std::function<void(std::size_t, std::size_t, zp::tensor&)>& work) {
  std::vector<std::thread> crew;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    crew.emplace_back([&, rank] {
      for (std::size_t i = 0; i < all[rank].tensors.size(); ++i)
        work(rank, i, all[rank].tensors[i]);
    });
  }
  for (std::thread& one : crew) one.join();
}

template <class F>
void run_ranks(std::vector<rank_memory>& all, const F& collective) {
  const auto done =
      zp::thread_world::run(static_cast<int>(all.size()), [&](const zp::thread_communicator& self) {
        return collective(all[static_cast<std::size_t>(self.rank())].tree, group_of(self));
      });
  for (const auto& one : done) {
    if (one) continue;
    std::fprintf(stderr, "%s\n", to_string(one.failure()).c_str());
    std::exit(1);
  }
}

double bytes_of(const std::vector<rank_memory>& all) {
  double out = 0;
  for (const rank_memory& one : all) out += static_cast<double>(one.bytes);
  return out;
}

void save(const workload& what, const std::string& folder, int rounds, bool sync) {
  auto all = what.memory();
  const std::string path = folder + "/model.zarr";
  const std::string files = folder + "/floor";
  bench::compare({what.name + (sync ? ", synced" : ", not synced"), bytes_of(all),
                  [&] {
                    fs::remove_all(path);
                    fs::remove_all(files);
                    fs::create_directory(files);
                  },
                  [&] {
                    run_ranks(all, [&](const zp::state& tree, const zp::process_group& group) {
                      return zp::save(path, tree, group, {.storage = {.sync = sync}});
                    });
                  },
                  [&] {
                    run_floor(all, [&](std::size_t rank, std::size_t i, zp::tensor& one) {
                      write_file(floor_file(files, rank, i), one, sync);
                    });
                  }},
                 rounds);
}

struct bench_place {
  std::string folder;
  int rounds = 7;
};

/// Saved as `from` has it, loaded as `to` does: into memory that is there. Verified.
void load(const workload& from, const workload& to, const bench_place& place,
          const zp::group_load_options& how = {}) {
  const std::string& folder = place.folder;
  const std::string path = folder + "/model.zarr";
  const std::string files = folder + "/floor";
  fs::remove_all(path);
  fs::remove_all(files);
  fs::create_directory(files);
  {
    auto saved = from.memory();
    run_ranks(saved, [&](const zp::state& tree, const zp::process_group& group) {
      return zp::save(path, tree, group, {.storage = {.sync = false}});
    });
  }
  auto all = to.memory();
  run_floor(all, [&](std::size_t rank, std::size_t i, zp::tensor& one) {
    write_file(floor_file(files, rank, i), one, false);
  });
  bench::compare({to.name,
                  bytes_of(all),
                  {},
                  [&] {
                    run_ranks(all, [&](const zp::state& tree, const zp::process_group& group) {
                      return zp::load(path, tree, group, how);
                    });
                  },
                  [&] {
                    run_floor(all, [&](std::size_t rank, std::size_t i, zp::tensor& one) {
                      read_file(floor_file(files, rank, i), one);
                    });
                  }},
                 place.rounds);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: distributed_bench DIRECTORY [MEGABYTES [ROUNDS]]\n");
    return 2;
  }
  const std::string folder = std::string(arguments[1]) + "/zarrpoint_distributed_bench";
  const zp::index_t megabytes = count > 2 ? std::atoi(arguments[2]) : 256;
  const int rounds = count > 3 ? std::atoi(arguments[3]) : 7;
  fs::remove_all(folder);
  fs::create_directories(folder);
  // 8 KiB a row. The small ones are 64 KiB for each of 4 ranks.
  const zp::index_t rows = std::max<zp::index_t>(megabytes / 3, 1) * 384;  // 2, 3 and 4 divide it
  constexpr zp::index_t small_rows = 32;
  constexpr int many = 500;
  std::printf("| %-44s | %-12s | %-12s | ratio | range |\n|---|---|---|---|---|\n", "what",
              "zarrpoint", "floor");
  const bench_place place{folder, rounds};
  for (const int ranks : {2, 4}) {
    const std::string of = std::to_string(ranks) + " ranks, ";
    const workload big{"save, " + of + "a tensor by rows", 1, rows, 0, ranks};
    save(big, folder, rounds, false);
    save(big, folder, rounds, true);
    load(big, {"load, " + of + "a tensor by rows", 1, rows, 0, ranks}, place);
    load(big, {"load, " + of + "the same by columns", 1, rows, 1, ranks}, place);
    load(big, {"load, " + of + "the same by columns, read once", 1, rows, 1, ranks}, place,
         {.read_once = true});
    const int others = ranks == 2 ? 3 : 2;
    load(big,
         {"load, " + std::to_string(others) + " ranks, what " + std::to_string(ranks) + " saved", 1,
          rows, 0, others},
         place);
  }
  const workload small{"save, 4 ranks, 500 tensors of 256 KiB", many, small_rows, 0, 4};
  save(small, folder, rounds, false);
  load(small, {"load, 4 ranks, 500 tensors of 256 KiB", many, small_rows, 0, 4}, place);
  fs::remove_all(folder);
  return 0;
}
