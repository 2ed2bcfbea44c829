// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A checkpoint in a bucket, from training to a running service. run.sh beside it starts a server of
// S3 and this:
//
//   remote save URL DATA STEP [RANK]   under mpirun: all save; RANK, if any, is killed meanwhile
//   remote load URL DATA STEP          under mpirun: all load, cut in another way
//   remote look URL DATA STEP          one process reads and compares all
//   remote listen URL DATA             loads the network and listens to a recording
//
// URL is one of s3, http or https. Keys and endpoint of S3 are those of the environment, as AWS'
// own tools have them. DATA is examples/data/silero-vad.

#include <zarrpoint/curl.hpp>
#include <zarrpoint/distributed.hpp>
#include <zarrpoint/formats.hpp>
#include <zarrpoint/mpi.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/safetensors.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "../parallel/killed_saver.hpp"
#include "../speech_detector/service.hpp"
#include "../speech_detector/wave.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// All that differs from checkpoints on a disk.
zp::context with_stores() {
  return {.stores =
              zp::formats<zp::s3_scheme_by<zp::curl_access>, zp::http_scheme, zp::https_scheme>()};
}

struct request {
  std::string url;
  std::string data;
  int step = 0;
  int killed = -1;
};

/// The network in training, of which each process has a part of every tensor. Its second step is
/// the trained network, its first is half way: so each value of each step is known.
class model {
 public:
  /// Tensors are divided by rows, or those that have columns by columns.
  static zp::result<model> open(const std::string& data, bool by_columns, int ranks) {
    ZARRPOINT_TRY(trained, zp::safetensors::open(data + "/silero_vad_16k.safetensors"));
    ZARRPOINT_TRY(mesh, zp::rank_mesh::make({{"ranks", ranks}}));
    ZARRPOINT_TRY(rows, zp::partition::make(mesh, {{{"ranks"}}}, zp::uneven_parts::ceil));
    ZARRPOINT_TRY(columns, zp::partition::make(mesh, {{{}, {"ranks"}}}, zp::uneven_parts::ceil));
    return model{std::move(trained), std::move(rows), std::move(columns), by_columns};
  }

  /// Calls `f(name, shape of all, part of this process)` for each tensor.
  template <class F>
  zp::result<void> for_each(int rank, F f) const {
    for (const auto& one : trained_.tensors()) {
      std::string name = one.name;  // "conv1.weight" is "conv1/weight" in the checkpoint
      std::replace(name.begin(), name.end(), '.', '/');
      const bool has_columns = one.spec.shape.rank() > 1;
      const zp::partition& by = by_columns_ && has_columns ? columns_ : rows_;
      ZARRPOINT_TRY(mine, by.shard_of(name, one.spec, rank));
      ZARRPOINT_CHECK(f(one.name, mine));
    }
    return {};
  }

  /// The values of a part at a step.
  zp::result<zp::tensor> values(std::string_view name, const zp::box& part, int step) const {
    ZARRPOINT_TRY(all, trained_.view(name));
    ZARRPOINT_TRY(out, zp::tensor::make({zp::dtype_kind::float32, part.shape}));
    zp::copy_elements(out.mutable_view(), zp::subview(all, zp::selection(part)));
    for (float& value : out.data<float>()) value *= static_cast<float>(step) / 2;
    return std::move(out);
  }

 private:
  model(zp::safetensors::file trained, zp::partition rows, zp::partition columns, bool by_columns)
      : trained_(std::move(trained)),
        rows_(std::move(rows)),
        columns_(std::move(columns)),
        by_columns_(by_columns) {}

  zp::safetensors::file trained_;
  zp::partition rows_, columns_;
  bool by_columns_;
};

zp::result<void> same(const std::string& name, const zp::tensor& got, const zp::tensor& wanted) {
  const auto a = got.data<float>(), b = wanted.data<float>();
  if (got.shape() == wanted.shape() && std::equal(a.begin(), a.end(), b.begin())) return {};
  return zp::error{zp::errc::corrupt, name + ": other values than those of that step"};
}

zp::result<void> save(const request& of, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  ZARRPOINT_TRY(trained, model::open(of.data, false, ranks));
  zp::state tree{{"step", of.step}};
  ZARRPOINT_CHECK(trained.for_each(
      rank, [&](const std::string& name, const zp::shard_metadata& mine) -> zp::result<void> {
        ZARRPOINT_TRY(values, trained.values(name, mine.global_box(), of.step));
        ZARRPOINT_TRY(part, zp::sharded<zp::tensor>::make(mine, std::move(values)));
        tree.if_map()->emplace(name, part);
        return {};
      }));

  zp::group_save_options options;
  if (of.killed >= 0) options.sharded = example::killed_saver{rank == of.killed};
  ZARRPOINT_TRY(report, zp::save(of.url, tree, group, options));
  std::printf("rank %d of %d wrote %d bytes in %d objects\n", rank, ranks,
              static_cast<int>(report.bytes), static_cast<int>(report.cells));
  return {};
}

zp::result<void> load(const request& of, const zp::process_group& group) {
  const int rank = group.ranks.rank(), ranks = group.ranks.size();
  ZARRPOINT_TRY(trained, model::open(of.data, true, ranks));
  zp::state wanted{zp::state::map{}};
  std::vector<std::pair<std::string, zp::sharded<zp::tensor>>> parts;
  ZARRPOINT_CHECK(trained.for_each(
      rank, [&](const std::string& name, const zp::shard_metadata& mine) -> zp::result<void> {
        ZARRPOINT_TRY(memory, zp::tensor::make(mine.data_spec()));
        ZARRPOINT_TRY(part, zp::sharded<zp::tensor>::make(mine, std::move(memory)));
        wanted.if_map()->emplace(name, part);
        parts.emplace_back(name, part);
        return {};
      }));

  // Each byte comes over the network once: processes that need the same get it by MPI.
  ZARRPOINT_TRY(report, zp::load(of.url, wanted, group, {.read_once = true}));
  ZARRPOINT_TRY(step, report.loaded.get<int>("step"));
  if (step != of.step) return zp::error{zp::errc::corrupt, "it is of step " + std::to_string(step)};
  std::size_t bytes = 0;
  for (const auto& [name, part] : parts) {
    ZARRPOINT_TRY(values, trained.values(name, part.metadata().global_box(), step));
    ZARRPOINT_CHECK(same(name, part.value(), values));
    bytes += values.size() * sizeof(float);
  }
  std::printf("rank %d of %d has %zu bytes of step %d, each value right\n", rank, ranks, bytes,
              step);
  return {};
}

/// What any program sees that knows nothing of processes: a checkpoint as every other.
zp::result<void> look(const request& of) {
  ZARRPOINT_TRY(checkpoint, zp::open(of.url, with_stores()));
  ZARRPOINT_TRY(trained, model::open(of.data, false, 1));
  int tensors = 0;
  ZARRPOINT_CHECK(trained.for_each(
      0, [&](const std::string& name, const zp::shard_metadata& whole) -> zp::result<void> {
        ZARRPOINT_TRY(got, checkpoint.load<zp::tensor>(whole.key));
        ZARRPOINT_TRY(values, trained.values(name, whole.global_box(), of.step));
        ++tensors;
        return same(name, got, values);
      }));
  std::printf("one process read %d tensors of step %d, each value and checksum right\n", tensors,
              of.step);
  return {};
}

/// Gives the network its tensors, and keeps those that it borrows.
struct loader {
  zp::checkpoint checkpoint;
  std::vector<zp::mapped_tensor<float>> views{};

  template <std::size_t Rank>
  xt::xtensor<float, Rank> tensor(const std::string& name) {
    return checkpoint.load<xt::xtensor<float, Rank>>(name).value();
  }
  std::span<const float> mapped(const std::string& name) {
    views.push_back(checkpoint.view<float>(name).value());
    return views.back().elements();
  }
};

zp::result<void> listen(const request& of) {
  ZARRPOINT_TRY(checkpoint, zp::open(of.url, with_stores()));
  loader from{std::move(checkpoint)};
  speech::detector service(speech::load_weights(from));
  const auto heard =
      speech::listen(service, speech::read_wave(of.data + "/speech.wav", speech::sample_rate));
  std::printf("speech at %s\n", speech::spoken(heard).c_str());
  const double difference =
      speech::largest_difference(heard, speech::read_expected(of.data + "/expected.json"));
  if (difference > 1e-4)
    return zp::error{zp::errc::corrupt, "other probabilities than those of expected.json"};
  std::printf("%zu probabilities, all as expected.json has them\n", heard.size());
  return {};
}

int told(const zp::result<void>& outcome, const std::string& who) {
  if (!outcome) std::printf("%s: %s\n", who.c_str(), to_string(outcome.failure()).c_str());
  std::fflush(stdout);
  return outcome ? 0 : 1;
}

int run(int count, char** arguments) {
  const std::string_view what = count > 3 ? arguments[1] : "";
  const bool is_alone = what == "look" || what == "listen";
  if ((!is_alone && what != "save" && what != "load") || (what != "listen" && count < 5)) {
    std::fputs("remote save|load|look URL DATA STEP [RANK to kill]; remote listen URL DATA\n",
               stderr);
    return 2;
  }
  const request of{arguments[2], arguments[3], count > 4 ? std::atoi(arguments[4]) : 0,
                   count > 5 ? std::atoi(arguments[5]) : -1};
  if (is_alone) return told(what == "look" ? look(of) : listen(of), "one process");

  int level = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &level);
  const auto all = [&]() -> zp::result<void> {
    // The deadline of a real program is longer than any process works without a word to the others.
    ZARRPOINT_TRY(ranks, zp::mpi_communicator::create(MPI_COMM_WORLD,
                                                      {.deadline = std::chrono::seconds(20)}));
    const zp::process_group group{.ranks = ranks, .how = with_stores()};
    return what == "save" ? save(of, group) : load(of, group);
  };
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int status = told(all(), "rank " + std::to_string(rank));
  if (status != 0) std::_Exit(status);  // MPI_Finalize would wait for a process that is gone
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "remote: %s\n", failure.what());
    return 1;
  }
}
