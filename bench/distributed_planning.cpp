// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// What the leader of many processes does before a save, on one thread: it reads the messages in
// which they tell their shards, checks that these fit together, plans who writes what, and tells
// each its part. Then what a load does: which stored cells meet what is wanted. Processor seconds,
// the least of several rounds; bytes; and how both grow.
// Usage: distributed_planning [ROUNDS [SHARDS]]   (SHARDS: of the largest case, 2^20)

#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/strategies.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace zp = zarrpoint;
using zp::dims;
using zp::index_t;
using zp::shard_metadata;

namespace {

double processor_seconds() {
  std::timespec at{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

/// Seconds that `work` takes.
template <class Work>
double seconds_of(const Work& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

template <class T>
T require(zp::result<T> answer) {
  if (answer) return std::move(*answer);
  std::fprintf(stderr, "failed: %s\n", answer.failure().message.c_str());
  std::exit(1);
}

/// What each process sends.
using messages = std::vector<std::vector<std::byte>>;

/// One process's shards become its message at once: as `shard_metadata` a million take a gigabyte.
template <class Shards>
messages messages_of(int ranks, const Shards& shards_of) {
  messages out;
  for (int rank = 0; rank < ranks; ++rank)
    out.push_back(require(zp::detail::encode_shards(shards_of(rank))));
  return out;
}

/// `rows` x `columns` shards of one tensor, a row to each process.
messages one_tensor(index_t rows, index_t columns) {
  return messages_of(static_cast<int>(rows), [&](int rank) {
    std::vector<shard_metadata> out;
    for (index_t c = 0; c < columns; ++c)
      out.push_back({.key = "model.weight",
                     .type = zp::dtype_kind::bfloat16,
                     .local_shape = {16, 16},
                     .global_shape = {16 * rows, 16 * columns},
                     .global_offset = {16 * rank, 16 * c},
                     .fragmentation = dims{rows, columns},
                     .replica = {0, 0}});
    return out;
  });
}

/// The same, cut unevenly: boundaries at no grid, of which each row and column has its own.
messages uneven_tensor(index_t rows, index_t columns) {
  const auto at = [](index_t i) { return 16 * i + i % 7; };
  return messages_of(static_cast<int>(rows), [&](int rank) {
    std::vector<shard_metadata> out;
    for (index_t c = 0; c < columns; ++c)
      out.push_back({.key = "model.weight",
                     .type = zp::dtype_kind::bfloat16,
                     .local_shape = {at(rank + 1) - at(rank), at(c + 1) - at(c)},
                     .global_shape = {at(rows), at(columns)},
                     .global_offset = {at(rank), at(c)}});
    return out;
  });
}

/// The same, of which each of `rows` processes has a piece of every shard of its row of 64.
messages flat_tensor(index_t rows, index_t columns) {
  return messages_of(static_cast<int>(rows), [&](int rank) {
    std::vector<shard_metadata> out;
    for (index_t c = 0; c < columns; ++c) {
      const index_t piece = rank % 64;
      out.push_back({.key = "optimizer.state.exp_avg",
                     .type = zp::dtype_kind::float32,
                     .local_shape = {16, 16},
                     .global_shape = {16 * (rows / 64), 16 * columns},
                     .global_offset = {16 * (rank / 64), 16 * c},
                     .fragmentation = dims{rows / 64, columns},
                     .range = zp::flat_range{4 * piece, 4 * piece + 4}});
    }
    return out;
  });
}

/// `layers` x `experts` x 3 tensors, halved: tensors of their own, or three with prepended axes.
/// Expert e is on processes 2 (e mod 32) and the next; each has a replica 64 processes on.
messages experts(index_t layers, index_t count, bool prepended) {
  return messages_of(128, [&](int rank) {
    std::vector<shard_metadata> out;
    for (index_t layer = 0; layer < layers; ++layer) {
      for (index_t e = rank / 2 % 32; e < count; e += 32) {
        for (const char* name : {"linear_fc1.weight", "linear_fc2.weight", "linear_fc1.bias"}) {
          const std::string prefix = "decoder.layers.";
          const index_t half = rank % 2;
          shard_metadata one{.key = prefix +
                                    (prepended ? "experts."
                                               : std::to_string(layer) + ".mlp.experts." +
                                                     std::to_string(e) + ".") +
                                    name,
                             .type = zp::dtype_kind::bfloat16,
                             .local_shape = {512, 1024},
                             .global_shape = {1024, 1024},
                             .global_offset = {512 * half, 0},
                             .fragmentation = dims{2, 1},
                             .replica = {0, rank / 64}};
          if (prepended) {
            one.prepended_axes = 2;
            one.global_shape = {layers, count, 1024, 1024};
            one.global_offset = {layer, e, 512 * half, 0};
            one.fragmentation = dims{layers, count, 2, 1};
          }
          out.push_back(std::move(one));
        }
      }
    }
    return out;
  });
}

struct figures {
  std::size_t shards = 0;
  std::size_t gathered = 0;   // bytes
  std::size_t scattered = 0;  // bytes
  double decode = 1e9;
  double validate = 1e9;
  double plan = 1e9;
  double spread = 1e9;    // the fully parallel policy, in place of the main replicas
  double scatter = 1e9;   // to cut the plan and to write the messages
  double meet_all = 1e9;  // all cells of the first tensor with all shards of it
  double meet_one = 1e9;  // all cells of the first tensor with one of the processes' shards
};

void run(figures& out, const messages& gathered) {
  const auto least = [](double& best, double seconds) { best = std::min(best, seconds); };
  zp::detail::shard_table table;
  out.gathered = 0;
  least(out.decode, seconds_of([&] {
          for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
            if (const auto status =
                    zp::detail::decode_shards(gathered[rank], static_cast<int>(rank), table);
                !status)
              std::exit(1);
            out.gathered += gathered[rank].size();
          }
        }));
  out.shards = table.size();
  least(out.validate, seconds_of([&] {
          if (const auto status = zp::detail::validate_sharding(table); !status) {
            std::fprintf(stderr, "failed: %s\n", status.failure().message.c_str());
            std::exit(1);
          }
        }));
  zp::detail::save_plan plan;
  least(out.plan, seconds_of([&] {
          plan = require(zp::detail::plan_save(table, zp::detail::main_shards(table)));
        }));
  least(out.spread, seconds_of([&] { require(zp::detail::distribute(table)); }));
  out.scattered = 0;
  least(out.scatter, seconds_of([&] {
          for (const zp::detail::save_plan& part :
               require(zp::detail::split_plan(plan, static_cast<int>(gathered.size()))))
            out.scattered += zp::detail::encode_plan(part).size();
        }));

  const zp::planned_tensor& first = plan.tensors.front();
  zp::detail::box_list cells(first.grid.shape.rank());
  for (const zp::planned_cell& cell : plan.cells_of(first)) cells.add(first.grid.cell(cell.index));
  zp::detail::box_list all(cells.rank());
  zp::detail::box_list one(cells.rank());
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table.form(i).key != first.key) continue;
    all.add(table.global_box(i));
    if (table.rank(i) == table.rank(0)) one.add(table.global_box(i));
  }
  std::size_t pairs = 0;
  const auto count = [&](std::uint32_t, std::uint32_t) { return ++pairs != 0; };
  least(out.meet_all, seconds_of([&] { zp::detail::for_each_overlap(cells, all, count); }));
  least(out.meet_one, seconds_of([&] { zp::detail::for_each_overlap(cells, one, count); }));
  if (pairs < all.size()) std::exit(1);
}

template <class Make>
void row(const std::string& name, int rounds, const Make& make) {
  const messages gathered = make();
  figures out;
  for (int round = 0; round < rounds; ++round) run(out, gathered);
  std::printf(
      "| %-34s | %8zu | %5.3f | %5.3f | %5.3f | **%5.3f** | %5.3f | %5.3f | %5.3f | %5.3f | %6.2f "
      "| %6.2f |\n",
      name.c_str(), out.shards, out.decode, out.validate, out.plan,
      out.decode + out.validate + out.plan, out.spread, out.scatter, out.meet_all, out.meet_one,
      static_cast<double>(out.gathered) / 1e6, static_cast<double>(out.scattered) / 1e6);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  const index_t shards = argc > 2 ? std::atoll(argv[2]) : index_t{1} << 20;
  std::printf(
      "| state | shards | decode s | validate s | plan s | **sum s** | distribute s | scatter s | "
      "intersect all s | one s | gathered MB | scattered MB |\n|%s\n",
      "---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
  // The shards double, and double again.
  for (const index_t part : {index_t{4}, index_t{2}, index_t{1}}) {
    const index_t side = 1024 / part;
    const index_t other = shards / 1024;
    const std::string size = std::to_string(side) + " x " + std::to_string(other);
    row("regular " + size, rounds, [&] { return one_tensor(side, other); });
  }
  for (const index_t part : {index_t{4}, index_t{2}, index_t{1}}) {
    const index_t side = 1024 / part;
    const index_t other = shards / 1024;
    const std::string size = std::to_string(side) + " x " + std::to_string(other);
    row("uneven " + size, rounds, [&] { return uneven_tensor(side, other); });
  }
  for (const index_t part : {index_t{4}, index_t{2}, index_t{1}}) {
    const index_t side = 1024 / part;
    const index_t other = shards / 1024;
    row("flat, 64 pieces, " + std::to_string(side / 64) + " x " + std::to_string(other), rounds,
        [&] { return flat_tensor(side, other); });
  }
  for (const index_t layers : {12, 24, 48})
    row(std::to_string(layers) + " layers x 128 experts, keys", rounds,
        [&] { return experts(layers, 128, false); });
  for (const index_t layers : {12, 24, 48})
    row(std::to_string(layers) + " layers x 128 experts, axes", rounds,
        [&] { return experts(layers, 128, true); });
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("\nlargest resident set: %ld MB\n", used.ru_maxrss / 1024);
  return 0;
}
