// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Several processes, one checkpoint. run.sh beside it starts it under mpirun:
//
//   parallel save CHECKPOINT STEP [RANK]   all save; RANK, if any, is killed while it writes
//   parallel restore CHECKPOINT STEP       all restore, cut in another way than it was saved
//   parallel look CHECKPOINT STEP          one process, without MPI, reads it all

#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/mpi.hpp>

#include "killed_saver.hpp"
#include "model.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace zp = zarrpoint;

namespace {

struct request {
  std::string checkpoint;
  int step = 0;
  int killed = -1;
};

zp::result<void> save(const request& of, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  ZARRPOINT_TRY(model, example::local_model::make(0, rank, ranks));
  model.train_until(of.step);

  zp::group_save_options options;
  if (of.killed >= 0) options.sharded = example::killed_saver{rank == of.killed};
  ZARRPOINT_TRY(report, zp::save(of.checkpoint, model.state(of.step), group, options));

  std::printf("rank %d of %d wrote %d bytes in %d objects\n", rank, ranks,
              static_cast<int>(report.bytes), static_cast<int>(report.cells));
  return {};
}

zp::result<void> restore(const request& of, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  ZARRPOINT_TRY(model, example::local_model::make(1, rank, ranks));

  ZARRPOINT_TRY(report, zp::load(of.checkpoint, model.state(0), group));  // in place
  ZARRPOINT_TRY(step, report.loaded.get<int>("step"));
  if (step != of.step || !model.is_of(of.step))
    return zp::error{zp::errc::corrupt, "these are not the values of step " + std::to_string(step)};

  const auto print = [&](const char* name, const std::string& part, std::size_t bytes) {
    std::printf("rank %d of %d read %s %s: %zu bytes\n", rank, ranks, name, part.c_str(), bytes);
    return bytes;
  };
  const auto& weights = model.weights;
  const auto& moments = model.moments;
  const std::size_t bytes =
      print("weights", to_string(weights.metadata().global_box()), weights.value().size() * 4) +
      print("moments", to_string(*moments.metadata().range), moments.value().size() * 8);
  if (report.bytes_read != bytes)
    return zp::error{zp::errc::corrupt, "read " + std::to_string(report.bytes_read) + " bytes"};
  return {};
}

/// What any program sees that knows nothing of processes: a checkpoint as every other.
zp::result<void> look(const request& of) {
  ZARRPOINT_TRY(checkpoint, zp::open(of.checkpoint));
  ZARRPOINT_TRY(weights, checkpoint.load<zp::tensor>("weights"));
  ZARRPOINT_TRY(moments, checkpoint.load<zp::tensor>("moments"));
  const zp::tensor_spec matrix{zp::dtype_kind::float32, {example::rows, example::columns}};
  bool same = weights.spec() == matrix && moments.shape() == example::local_model::moments_shape();
  for (std::size_t i = 0; same && i < weights.size(); ++i)
    same = weights.data<float>()[i] == example::weight_at(of.step, 0, static_cast<int>(i));
  for (std::size_t i = 0; same && i < moments.size(); ++i)
    same = moments.data<double>()[i] == example::moment_at(of.step, static_cast<int>(i));
  if (!same) return zp::error{zp::errc::corrupt, "other values than those of that step"};

  std::printf("one process read weights %s and moments %s: step %d, each checksum right\n",
              to_string(weights.shape()).c_str(), to_string(moments.shape()).c_str(), of.step);
  return {};
}

int told(const zp::result<void>& outcome, const std::string& who) {
  if (!outcome) std::printf("%s: %s\n", who.c_str(), to_string(outcome.failure()).c_str());
  std::fflush(stdout);
  return outcome ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 3 ? arguments[1] : "";
  if (what != "save" && what != "restore" && what != "look") {
    std::fputs("parallel save|restore|look CHECKPOINT STEP [RANK to kill]\n", stderr);
    return 2;
  }
  const request of{arguments[2], std::atoi(arguments[3]), count > 4 ? std::atoi(arguments[4]) : -1};
  if (what == "look") return told(look(of), "one process");

  int level = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &level);
  const auto run = [&]() -> zp::result<void> {
    // The deadline of a real program is longer than any process works without a word to the others.
    ZARRPOINT_TRY(ranks, zp::mpi_communicator::create(MPI_COMM_WORLD,
                                                      {.deadline = std::chrono::seconds(10)}));
    const zp::process_group group{.ranks = ranks};
    return what == "save" ? save(of, group) : restore(of, group);
  };
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int status = told(run(), "rank " + std::to_string(rank));
  if (status != 0) std::_Exit(status);  // MPI_Finalize would wait for a process that is gone
  MPI_Finalize();
  return 0;
}
